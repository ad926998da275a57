package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// fairly is one worker that logs what its loop does; EVENTS and LISTEN are more
// parameters.
const fairly = `
worker_processes 1;
error_log error.log debug_event;
events { worker_connections 512; EVENTS }
http {
    access_log off;
    server {
        listen 127.0.0.1:PORT LISTEN;
        return 200 "one\n";
    }
}
`

const getOne = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"

// persistent is a client that keeps its connection.
type persistent struct {
	net.Conn
	r      *bufio.Reader
	number string // "*N", as the log calls the connection
}

// persistent opens a connection and has its first request answered.
func (s *server) persistent(request string) *persistent {
	s.t.Helper()
	conn := s.connect(request)
	c := &persistent{Conn: conn, r: bufio.NewReader(conn)}
	readAnswer(s.t, c.r)
	m := regexp.MustCompile(`(\*[0-9]+) accept: ` + conn.LocalAddr().String() + ` `).FindStringSubmatch(s.read("error.log"))
	if m == nil {
		s.t.Fatalf("the log does not tell of %s", conn.LocalAddr())
	}
	c.number = m[1]
	return c
}

// before counts the lines of a log that match what, up to the first line on
// which a connection is read from; -1 if it is not.
func before(log string, c *persistent, what *regexp.Regexp) (n int) {
	for line := range strings.Lines(log) {
		if strings.Contains(line, ": "+c.number+" recv: fd:") {
			return n
		}
		if what.MatchString(line) {
			n++
		}
	}
	return -1
}

// CASES E07 with processes: a client sends a body as fast as the server takes
// it, another one asks. Its request waits for as many reads as fit into the
// socket of the first, twice if the worker was at that, and not for the rest of
// the body.
func TestE07RequestWaitsForOneSocketfulOfABody(t *testing.T) {
	const (
		rcvbuf = 32 << 10                    // of which the kernel makes twice as much
		most   = 2 * (1 + 2*rcvbuf/4096 + 1) // reads, the first and the last of which may be short
		chunk  = 4 << 20                     // 1024 reads
	)
	onBoth(t, func(t *testing.T, binary string) {
		s := start(t, binary, strings.NewReplacer("EVENTS", "", "LISTEN", fmt.Sprint("rcvbuf=", rcvbuf)).Replace(fairly))
		worker := s.waitForWorkers(s.pid, 1)[0]
		fast := s.persistent("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nffffffff\r\n")
		other := s.persistent(getOne)
		read := regexp.MustCompile(regexp.QuoteMeta(": "+fast.number) + ` recv: fd:`)

		for range 10 {
			thaw := s.freeze(worker)
			sent := make(chan error)
			go func() {
				_, err := fast.Write(make([]byte, chunk))
				sent <- err
			}()
			s.wait("full socket", func() bool {
				queued, unsent := s.outgoing(fast.Conn)
				return unsent > 0 && unsent == queued
			})
			begin := len(s.read("error.log"))
			s.deliver(other.Conn, getOne)
			thaw()
			readAnswer(t, other.r)
			if err := <-sent; err != nil {
				t.Fatal(err)
			}
			if n := before(s.read("error.log")[begin:], other, read); n < 1 || n > most {
				t.Errorf("the request waited for %d reads of the body, want 1 to %d", n, most)
			}
		}
	})
}

// CASES E08 with processes: many connect at once while others have sent
// requests. Each of these waits for one accept, or with multi_accept for all
// of them, if the storm came first, and for none if it did not. The rest of the
// storm is accepted behind the requests, one a turn, so that nobody is starved
// either way.
func TestE08RequestsWaitForOneBatchOfAccepts(t *testing.T) {
	const (
		there = 20
		storm = 200
	)
	onBoth(t, func(t *testing.T, binary string) {
		for _, test := range []struct {
			multi      string
			stormFirst bool
			want       int // accepts in front of each request
		}{
			{"off", true, 1},
			{"off", false, 0},
			{"on", true, storm},
			{"on", false, 0},
		} {
			t.Run(fmt.Sprintf("multi_accept %s, storm first %v", test.multi, test.stormFirst), func(t *testing.T) {
				s := start(t, binary, strings.NewReplacer("EVENTS", "multi_accept "+test.multi+";", "LISTEN", "").Replace(fairly))
				worker := s.waitForWorkers(s.pid, 1)[0]
				var clients []*persistent
				for range there {
					clients = append(clients, s.persistent(getOne))
				}

				thaw := s.freeze(worker)
				begin := len(s.read("error.log"))
				if test.stormFirst {
					s.storm(storm)
				}
				for _, c := range clients {
					io.WriteString(c, getOne)
				}
				for _, c := range clients {
					s.arrived(c.Conn)
				}
				if !test.stormFirst {
					s.storm(storm)
				}
				thaw()
				for _, c := range clients {
					readAnswer(t, c.r)
				}
				s.waitForLog(" accept: ", there+storm)

				log := s.read("error.log")[begin:]
				var waited []int
				for _, c := range clients {
					waited = append(waited, before(log, c, acceptLine))
				}
				if want := slices.Repeat([]int{test.want}, there); !slices.Equal(waited, want) {
					t.Errorf("the requests waited for %v accepts, want %v", waited, want)
				}
			})
		}
	})
}

var acceptLine = regexp.MustCompile(` \*[0-9]+ accept: `)

// storm makes n connections, for the time of the test; they are in the accept
// queue when it returns.
func (s *server) storm(n int) {
	s.t.Helper()
	for range n {
		s.connect("")
	}
	s.wait("full accept queue", func() bool {
		return strings.HasSuffix(s.listeners()[0][4], fmt.Sprintf(":%08X", n))
	})
}
