package http

import (
	"bytes"
	"io"
	"regexp"
	"strings"
	"testing"

	"herd/nginxref/core"
)

// replay sends chunks on a new connection, ends it, and returns all that the
// server sent.
func (s *server) replay(chunks ...string) string {
	s.t.Helper()
	c := s.dial()
	for _, chunk := range chunks {
		if chunk != "" {
			c.send(chunk)
		}
	}
	c.shutdown()
	c.close()
	s.run()
	s.advance(lingeringTime) // where nginx waits for a body that has ended
	if n := s.open(); n != 0 {
		s.t.Fatalf("%q: %d connections are left open", chunks, n)
	}
	return normal(c.got)
}

// lingeringTime is more than lingering_timeout of the test servers.
const lingeringTime = 6e9

// newReplayServer is a server with the configuration of the differential
// tests.
func newReplayServer(t testing.TB) *server {
	log := &AccessLog{File: core.NewOpenFile("", io.Discard, nil, 0)}
	return newServer(t, differentialServers(log)...)
}

func TestAnswersDoNotDependOnHowTheRequestIsSplit(t *testing.T) {
	s := newReplayServer(t)
	for _, tt := range rawRequests {
		text := strings.Join(tt.chunks, "")
		if len(text) > 400 || strings.HasPrefix(text, "HEAD") {
			continue
		}
		want := s.replay(text)
		for i := 1; i < splittable(strings.TrimSuffix(text, sentinel)); i++ {
			if got := s.replay(text[:i], text[i:]); got != want {
				t.Fatalf("%s: %q is answered by\n%q, but split at %d by\n%q", tt.name, text, want, i, got)
			}
		}
		s.log.Reset()
	}
}

// splittable returns how far text may be split without a change in the answer.
// A body in chunks is answered before it is seen to be wrong, unless it comes
// with its header.
func splittable(text string) int {
	if at := chunkedLine.FindStringIndex(text); at != nil {
		return at[0]
	}
	return len(text)
}

var chunkedLine = regexp.MustCompile(`(?i)transfer-encoding: *chunked`)

func TestLongRequestsDoNotDependOnHowTheyAreSplit(t *testing.T) {
	s := newReplayServer(t)
	for _, tt := range oddRequests {
		text := strings.Join(tt.chunks, "")
		if len(text) <= 400 || len(text) > 20000 {
			continue
		}
		want := s.replay(text)
		step := max(len(text)/100, 1)
		for i := 1; i < len(text); i += step {
			if got := s.replay(text[:i], text[i:]); got != want {
				t.Fatalf("%s: %.200q is answered by\n%q, but split at %d by\n%q", tt.name, text, want, i, got)
			}
		}
		s.log.Reset()
	}
}

// sound is what a request must be, at the very least, to be answered by a
// status of 2xx: a whole line and, but for HTTP/0.9, whole header lines, an
// empty one, and no control characters where they do harm.
var sound = regexp.MustCompile(`^[\r\n]*[A-Z_-]+ +(/|[a-zA-Z][-+.a-zA-Z0-9]*://)[^\x00-\x20\x7f]*` +
	`( *\r?\n| +HTTP/1\.\d+ *\r?\n([^\x00-\x20\x7f:][^\x00-\x20\x7f:]*(:[^\x00\n]*)?\r*\n)*\r?\n)`)

func FuzzRequest(f *testing.F) {
	for _, tt := range oddRequests {
		f.Add([]byte(strings.Join(tt.chunks, "")), uint16(20))
	}
	for _, line := range eachStart {
		f.Add([]byte(line+"\r\nHost: first.example\r\n\r\n"), uint16(8))
	}
	for _, line := range eachHeader {
		f.Add([]byte(request("POST", "/exact", line)), uint16(30))
	}
	for _, body := range eachChunked {
		f.Add([]byte(request("POST", "/exact", "Transfer-Encoding: chunked")+body), uint16(70))
	}

	s := newReplayServer(f)
	f.Fuzz(func(t *testing.T, data []byte, cut uint16) {
		s.t = t
		defer func() { s.t = f }()
		defer s.log.Reset()

		text := string(data)
		whole := s.replay(text)
		if strings.HasPrefix(whole, "HTTP/1.1 2") && !sound.MatchString(text) {
			t.Errorf("%q is answered by %q", text, whole)
		}

		i := min(int(cut), splittable(text))
		if split := s.replay(text[:i], text[i:]); split != whole {
			t.Errorf("%q is answered by\n%q, but split at %d by\n%q", text, whole, i, split)
		}

		if bytes.Contains(s.log.Bytes(), []byte("[alert]")) {
			t.Errorf("%q: %s", text, &s.log)
		}
	})
}
