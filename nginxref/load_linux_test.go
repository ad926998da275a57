package main

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// load is clients at work.
type load struct {
	s       *server
	stop    atomic.Bool
	clients sync.WaitGroup

	requests atomic.Int64 // answered
	retries  atomic.Int64 // on a connection that was closed as the request came
	failures atomic.Int64
	failure  atomic.Value // the first one
}

// load starts clients that ask for "/" again and again: some on one
// connection each, some on a new one each time.
func (s *server) load(keepalive, short int) *load {
	l := &load{s: s}
	for range keepalive {
		l.clients.Go(l.keepalive)
	}
	for range short {
		l.clients.Go(l.short)
	}
	s.wait("answer", func() bool { return l.requests.Load() > 0 })
	return l
}

// end stops the clients and checks that nothing failed.
func (l *load) end() {
	l.s.t.Helper()
	l.stop.Store(true)
	l.clients.Wait()
	l.s.t.Logf("%d requests, %d sent again", l.requests.Load(), l.retries.Load())
	if n := l.failures.Load(); n != 0 {
		l.s.t.Errorf("%d of %d requests failed, the first with %v", n, n+l.requests.Load(), l.failure.Load())
	}
}

func (l *load) fail(err error) {
	if l.failures.Add(1) == 1 {
		l.failure.Store(err)
	}
}

// progress waits until n more requests have been answered.
func (l *load) progress(n int64) {
	l.s.t.Helper()
	until := l.requests.Load() + n
	l.s.wait("progress", func() bool { return l.requests.Load() >= until || l.failures.Load() != 0 })
}

func (l *load) short() {
	for !l.stop.Load() {
		conn, err := l.s.dial()
		if err != nil {
			l.fail(err)
			return
		}
		if _, err = exchange(conn, bufio.NewReader(conn), "close"); err != nil {
			l.fail(err)
		} else {
			l.requests.Add(1)
		}
		conn.Close()
	}
}

// errStale is returned when the server closed a connection without a byte of
// an answer.
var errStale = errors.New("closed before the answer")

// keepalive keeps its connection for as long as the server lets it. A server
// may close one that is idle, and a request that is on its way at that moment
// is to be sent again (RFC 9112, 9.3.1).
func (l *load) keepalive() {
	for !l.stop.Load() {
		conn, err := l.s.dial()
		if err != nil {
			l.fail(err)
			return
		}
		r := bufio.NewReader(conn)
		for first := true; !l.stop.Load(); first = false {
			more, err := exchange(conn, r, "keep-alive")
			if errors.Is(err, errStale) && !first {
				l.retries.Add(1)
				break
			}
			if err != nil {
				l.fail(err)
				break
			}
			l.requests.Add(1)
			if !more {
				break
			}
		}
		conn.Close()
	}
}

// exchange sends a request and reads the answer, and reports whether the
// connection may be used again.
func exchange(conn net.Conn, r *bufio.Reader, connection string) (more bool, err error) {
	_, err = fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: a\r\nConnection: %s\r\n\r\n", connection)
	status := ""
	if err == nil {
		status, err = r.ReadString('\n')
	}
	if err != nil && status == "" {
		return false, fmt.Errorf("%w: %v", errStale, err)
	}
	if err != nil || !strings.HasPrefix(status, "HTTP/1.1 200 ") {
		return false, fmt.Errorf("answer %q: %v", status, err)
	}

	length := 0
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return false, fmt.Errorf("in the header: %v", err)
		}
		if line == "\r\n" {
			break
		}
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch name {
		case "Content-Length":
			length, _ = strconv.Atoi(value)
		case "Connection":
			more = value == "keep-alive"
		}
	}
	if _, err := r.Discard(length); err != nil {
		return false, fmt.Errorf("in the body: %v", err)
	}
	return more, nil
}
