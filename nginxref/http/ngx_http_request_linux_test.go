package http

import (
	"strings"
	"testing"
	"time"
)

func TestKeepaliveServesRequestAfterRequest(t *testing.T) {
	s := newServer(t, hello())
	c := s.connect()
	for range 3 {
		c.send(get)
		a := c.expect("200 OK", "hello")
		if got := a.value("Connection"); got != "keep-alive" {
			t.Fatalf("Connection: %q, expected keep-alive", got)
		}
		c.expectNothing()
	}
	c.send(getClose)
	if a := c.expect("200 OK", "hello"); a.value("Connection") != "close" {
		t.Fatalf("Connection: %q, expected close", a.value("Connection"))
	}
	c.expectEnd()
}

func TestPipelinedRequestsAreAnsweredInOrder(t *testing.T) {
	cscf := hello()
	cscf.Locations = append(cscf.Locations, NewLocation("/b"))
	cscf.Locations[1].Return = &Return{Status: 200, Text: []byte("b")}
	s := newServer(t, cscf)
	c := s.connect()

	c.send(strings.Repeat(get+"GET /b HTTP/1.1\r\nHost: a\r\n\r\n", 50))
	for range 50 {
		c.expect("200 OK", "hello")
		c.expect("200 OK", "b")
	}
	c.expectNothing()
}

func TestHeaderTimeoutClosesWithoutAnAnswer(t *testing.T) {
	for _, sent := range []string{"", "GET / HT", "GET / HTTP/1.1\r\nHo"} {
		s := newServer(t, hello())
		c := s.connect()
		c.send(sent)
		s.advance(59 * time.Second)
		c.recv()
		c.expectNothing()
		s.advance(time.Second)
		c.recv()
		c.expectEnd()
	}
}
