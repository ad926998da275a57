package measure

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"
)

// A server that turns every second connection away: those are refused, and the
// others stay open until the last was made.
func TestHoldKeepsConnectionsAndCountsTheRefused(t *testing.T) {
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()

	const conns = 10
	var left atomic.Int64 // clients that were served and have gone
	early := make(chan int64, 1)
	go func() {
		for i := range conns {
			conn, err := server.Accept()
			if err != nil {
				return
			}
			if i == conns-1 {
				early <- left.Load()
			}
			if i%2 == 1 {
				conn.Close()
				continue
			}
			conn.Write(greeting)
			go func() {
				conn.Read(make([]byte, 1))
				left.Add(1)
				conn.Close()
			}()
		}
	}()

	load := Load{Rate: 1000, Conns: conns, Hold: true, addr: server.Addr().String()}
	lat := load.run(context.Background(), func(int) {})
	if lat.Failed != conns/2 || lat.TotalCount() != conns/2 {
		t.Errorf("%d refused, %d served, want half of %d each", lat.Failed, lat.TotalCount(), conns)
	}
	if n := <-early; n != 0 {
		t.Errorf("%d connections were closed before the last was made", n)
	}
}

func TestRepliesOverALimitAreCounted(t *testing.T) {
	lat := newLatencies()
	for _, d := range []time.Duration{time.Millisecond, 40 * time.Millisecond, 60 * time.Millisecond, 2 * time.Second} {
		lat.add(d, nil)
	}
	if n := lat.over(50 * time.Millisecond); n != 2 {
		t.Errorf("%d of 1, 40, 60 and 2000 ms are over 50 ms", n)
	}
}

// Where a connection is made when another has ended, the first that fails is the
// last: with a server that hangs each would take as long as one may.
func TestFailedConnectionEndsTheLoad(t *testing.T) {
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	go func() {
		for conn, err := server.Accept(); err == nil; conn, err = server.Accept() {
			conn.Close()
		}
	}()
	for want, load := range map[int]Load{1: {Conns: 100}, 4: {Clients: 4, Conns: 100}} {
		load.addr = server.Addr().String()
		load.asleep = func() bool { return true }
		if lat := load.run(context.Background(), func(int) {}); lat.Failed != want {
			t.Errorf("%s: %d connections failed, want %d", load.kind(), lat.Failed, want)
		}
	}
}

// An interruption does not wait for a server that hangs.
func TestInterruptionEndsAConnection(t *testing.T) {
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	ctx, interrupt := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- exchange(ctx, server.Addr().String()) }()
	conn, err := server.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	interrupt()
	select {
	case err := <-ended:
		if err == nil {
			t.Error("it was served")
		}
	case <-time.After(replyTimeout / 2):
		t.Error("it still waits for a reply")
	}
}
