package http

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var (
	dateLine    = regexp.MustCompile(`(?m)^Date: .*\r$`)
	pageLength  = regexp.MustCompile(`(Content-Type: text/html\r\nContent-Length: )(\d\d\d)\r`)
	stubStatus  = regexp.MustCompile(`Active connections: \d+ \nserver accepts handled requests\n( \d+){3} \nReading: \d+ Writing: \d+ Waiting: \d+ \n`)
	plainLength = regexp.MustCompile(`Content-Type: text/plain\r\nContent-Length: \d+\r`)
)

// normal takes out of what a server sent what may differ.
func normal(b []byte) string {
	s := dateLine.ReplaceAllString(string(b), "Date: -\r")
	s = stubStatus.ReplaceAllString(s, "STUB STATUS\n")
	return plainLength.ReplaceAllString(s, "Content-Type: text/plain\r\nContent-Length: -\r")
}

// asReal turns what ours sent into what nginx would send, as far as that
// differs in the name and so in the length of pages.
func asReal(s string) string {
	s = pageLength.ReplaceAllStringFunc(s, func(m string) string {
		part := pageLength.FindStringSubmatch(m)
		n, _ := strconv.Atoi(part[2])
		return part[1] + strconv.Itoa(n-len(Name)+len("nginx")) + "\r"
	})
	s = strings.ReplaceAll(s, Version, "nginx/1.22.1")
	s = strings.ReplaceAll(s, "Server: "+Name+"\r", "Server: nginx\r")
	s = strings.ReplaceAll(s, "<center>"+Name+"</center>", "<center>nginx</center>")
	return strings.ReplaceAll(s, oursIP, realIP)
}

// same sends chunks to both and holds that the answers are the same.
func (p *pair) same(name string, chunks ...string) bool {
	p.t.Helper()
	real := normal(p.exchange(p.real, chunks))
	ours := asReal(normal(p.exchange(p.ours, chunks)))
	if real != ours {
		p.t.Errorf("%s: sent %.2000q\n nginx: %.3000q\n  ours: %.3000q", name, chunks, real, ours)
		return false
	}
	return true
}

var (
	logTime     = regexp.MustCompile(`\[\d\d/.../\d{4}:\d\d:\d\d:\d\d [+-]\d{4}\]`)
	logBytes    = regexp.MustCompile(`" ([345]\d\d) (\d\d\d) "`)
	logPreamble = regexp.MustCompile(`^\d{4}/\d\d/\d\d \d\d:\d\d:\d\d (\[\w+\]) \d+#\d+: (\*\d+ )?`)
)

// accessLine takes out of a line of the access log what may differ.
func accessLine(line string) string {
	return strings.ReplaceAll(logTime.ReplaceAllString(line, "[-]"), oursIP, realIP)
}

// asRealAccessLine does so with ours, which sends longer pages.
func asRealAccessLine(line string) string {
	return logBytes.ReplaceAllStringFunc(accessLine(line), func(m string) string {
		part := logBytes.FindStringSubmatch(m)
		n, _ := strconv.Atoi(part[2])
		return fmt.Sprintf("\" %s %d \"", part[1], n-len(Name)+len("nginx"))
	})
}

// errorLine takes out of a line of the error log what may differ. nginx ends
// names and values in the buffer by zeros, which a message may show.
func errorLine(line string) string {
	line = strings.NewReplacer("F\x00 ", "F: ", "f\x00\n", "f\r\n").Replace(line)
	return strings.ReplaceAll(logPreamble.ReplaceAllString(line, "$1 "), oursIP, realIP)
}

// lines splits a log, dropping the lines that start a process and those about
// signals, which Go's runtime sends to itself.
func lines(b []byte, normal func(string) string) (all []string) {
	for line := range strings.Lines(string(b)) {
		if !strings.Contains(line, "[notice]") && !strings.Contains(line, "epoll_wait() failed (4:") &&
			strings.TrimSpace(line) != "" {
			all = append(all, normal(line))
		}
	}
	slices.Sort(all)
	return all
}

// sameLogs holds that both logged the same. The order is not compared: a
// lingering close ends, and is logged, after the client has gone on.
func (p *pair) sameLogs() {
	p.t.Helper()
	p.stop()
	for _, log := range []struct {
		name         string
		ours         *bytes.Buffer
		normal, real func(string) string
	}{
		{"access.log", &p.accessLog, asRealAccessLine, accessLine},
		{"error.log", &p.log, errorLine, errorLine},
	} {
		ours := lines(log.ours.Bytes(), log.normal)
		var diff string
		for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
			b, err := os.ReadFile(filepath.Join(p.dir, log.name))
			if err != nil {
				p.t.Fatal(err)
			}
			if diff = cmp.Diff(lines(b, log.real), ours); diff == "" || time.Now().After(deadline) {
				break
			}
		}
		if diff != "" {
			p.t.Errorf("%s differs (- nginx, + ours):\n%s", log.name, diff)
		}
	}
}

func TestAnswersAndLogsAsNginxDoes(t *testing.T) {
	p := startPair(t, "info")
	for _, tt := range rawRequests {
		p.same(tt.name, tt.chunks...)
	}
	p.sameLogs()
}

// The large buffers of a request to one server are used again for the next
// one, to a server with larger ones. nginx calls that an alert.
func TestRecycledBufferMayBeTooSmallForALine(t *testing.T) {
	p := startPair(t, "info")
	p.same("lines that fill a buffer each",
		"GET / HTTP/1.1\r\nHost: small.example\r\n"+filler(256-37)+ // 256
			filler(300)+ // 300, then free
			"\r\nGET / HTTP/1.1\r\nHost: wide.example\r\n"+filler(300-2-36)+ // 300, then free
			filler(300)+ // the first of 300 again
			"\r\nGET / HTTP/1.1\r\nHost: wide.example\r\n"+filler(600)+ // 512, and back to the second of 300
			"\r\n")
	p.sameLogs()
	if !strings.Contains(p.log.String(), "too large header to copy") {
		t.Errorf("the error log has %q", &p.log)
	}
}

// mutants is how many requests TestMutantsAreAnsweredAsNginxDoes makes up.
const mutants = 400

// TestMutantsAreAnsweredAsNginxDoes sends requests with something changed,
// always the same ones, in one or two chunks.
func TestMutantsAreAnsweredAsNginxDoes(t *testing.T) {
	p := startPair(t, "info")
	rnd := rand.New(rand.NewPCG(1, 2))
	for n := range mutants {
		b := mutate(rnd, strings.Join(rawRequests[rnd.IntN(len(rawRequests))].chunks, ""))
		chunks := []string{b + sentinel}
		if rnd.IntN(4) == 0 && len(b) > 0 {
			i := rnd.IntN(len(b))
			chunks = []string{b[:i], b[i:] + sentinel}
		}
		p.same(fmt.Sprint("mutant ", n), chunks...)
	}
}

// morsels are what mutate puts in.
var morsels = []string{
	"\r", "\n", "\r\n", "\r\n\r\n", " ", "\t", "\x00", "\x7f", "\x80", ":", "/", "//", "/./", "/../", "%2e", "%00", "%", "?", "#", ".", "*", "[", "]", "\"",
	"0", "9", "GET ", "HEAD ", "http://second.example", " HTTP/1.0\r\n", " HTTP/1.1\r\n", "Host: second.example\r\n", "Connection: close\r\n", "Connection: keep-alive\r\n",
	"Content-Length: 7\r\n", "Transfer-Encoding: chunked\r\n", "Expect: 100-continue\r\n", "3\r\nabc\r\n", "0\r\n\r\n", strings.Repeat("x", 200), strings.Repeat("x", 500),
}

// mutate changes s in one to four places.
func mutate(rnd *rand.Rand, s string) string {
	for range 1 + rnd.IntN(4) {
		i := rnd.IntN(len(s) + 1)
		j := min(i+1+rnd.IntN(8), len(s))
		switch rnd.IntN(5) {
		case 0:
			s = s[:i] + s[j:]
		case 1:
			s = s[:j] + s[i:]
		case 2:
			s = s[:i] + string(byte(rnd.IntN(256))) + s[j:]
		default:
			s = s[:i] + morsels[rnd.IntN(len(morsels))] + s[i:]
		}
	}
	return s
}
