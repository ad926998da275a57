package http

import (
	"bufio"
	"bytes"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// talk asks one request after another on a connection, waiting for each
// answer, and ends with one that is answered by a lingering close.
func (p *pair) talk(to netip.AddrPort) {
	p.t.Helper()
	conn, err := net.Dial("tcp", to.String())
	if err != nil {
		p.t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(patience))
	answers := bufio.NewReader(conn)
	for _, request := range []string{
		request("GET", "/exact?a=b"),
		request("GET", "/files/x.html"),
		request("GET", "/files/"),
		request("PUT", "/status"),
		request("GET", "/302"),
		request("GET", "//./%65xact", "Referer: r", "X_Y: invalid"),
		request("GET", "/exact", filler(250)+strings.TrimSpace(filler(300))),
		request("POST", "/gone", "Content-Length: 3") + "abc",
		request("POST", "/gone", "Transfer-Encoding: chunked") + "3\r\nabc\r\n0\r\n\r\n",
		request("GET", "/gone/text"),
		"BAD\x00\r\n" + filler(300), // more than is read at once
	} {
		if _, err := conn.Write([]byte(request)); err != nil {
			p.t.Fatal(err)
		}
		answer, err := http.ReadResponse(answers, nil)
		if err != nil {
			p.t.Fatalf("%q: %v", request, err)
		}
		if err := answer.Body.Close(); err != nil {
			p.t.Fatalf("%q: %v", request, err)
		}
	}
}

var (
	pointers = regexp.MustCompile(`\b[0-9A-F]{16}\b`)
	numbers  = regexp.MustCompile(`\d+`)

	// What nginx logs of its pools, of phases and filters in which nothing is
	// done, and of looking for files. Locations are found in another way.
	leftOut = regexp.MustCompile(`^(malloc|posix_memalign|free|add cleanup|generic phase|access phase|` +
		`post access phase|post rewrite phase|http copy filter|http postpone filter|write new buf|write old buf|test location|` +
		`stat\(\)|http index check dir)`)
)

// debugLines returns what a log says about connection 2, without numbers.
func debugLines(b []byte) (all []string) {
	for line := range strings.Lines(string(b)) {
		_, line, ok := strings.Cut(line, ": *2 ")
		if !ok || leftOut.MatchString(line) {
			continue
		}
		line = numbers.ReplaceAllString(pointers.ReplaceAllString(line, "P"), "N")
		line = strings.TrimSuffix(strings.Replace(line, "rewrite phase: N", "rewrite phase", 1), "\n")
		if strings.HasPrefix(line, "content phase") && len(all) > 0 && all[len(all)-1] == line {
			continue // one for each module
		}
		all = append(all, line)
	}
	return all
}

// The debug logs are to be read side by side: the same phrases at the same
// points.
func TestDebugLogReadsAsNginxs(t *testing.T) {
	p := startPair(t, "debug")
	p.talk(p.real)
	p.talk(p.ours)

	var real []byte
	for deadline := time.Now().Add(patience); !bytes.Contains(real, []byte(": *2 close http connection")); {
		var err error
		if real, err = os.ReadFile(filepath.Join(p.dir, "error.log")); err != nil {
			t.Fatal(err)
		}
		if time.Now().After(deadline) {
			t.Fatal("nginx has not closed the connection")
		}
		time.Sleep(time.Millisecond)
	}
	p.stop()

	if diff := cmp.Diff(debugLines(real), debugLines(p.log.Bytes())); diff != "" {
		t.Errorf("the debug logs differ (- nginx, + ours):\n%s", diff)
	}
}
