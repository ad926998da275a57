package event

import (
	"fmt"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"herd/nginxref/core"
)

// CASES E07. A peer sends as fast as its bytes are read, so the socket never
// gets empty; another pings. Once a read has filled the buffer, Recv asks how
// much there is and reads no more than that: whoever waits does so for as many
// reads as fit into one socket (the case's bound on time, as a count). Without
// asking, as before nginx 1.17.5, it is for as long as the peer goes on.
//
//	   t0
//	   |
//	   e0
//	  /  \ (et)
//	s0    s2
func TestE07FastPeerIsReadNoFurtherThanWasThere(t *testing.T) {
	const (
		size   = 4096
		queued = 16   // reads' worth of bytes in the socket, always
		long   = 5000 // reads, which stand for no end
	)
	for _, test := range []struct {
		name   string
		forget bool // how much there is
		want   int  // reads in a turn
	}{
		// One that fills the buffer, after which the rest is known.
		{"nginx", false, 1 + (queued - 1)},
		{"without asking", true, long},
	} {
		t.Run(test.name, func(t *testing.T) {
			w, c, peer := reader(t)
			w.Log.Level = core.LogErr
			buf := make([]byte, size)
			c.Read.Handler = func(rev *Event) {
				for i := 0; rev.Ready && i < long; i++ {
					if n := c.Recv(buf); n != size {
						break // Again
					}
					send(t, peer, string(buf))
					if test.forget {
						rev.Available = -1
					}
				}
				w.mustBe(core.OK, w.HandleReadEvent(rev))
			}
			ping, pinger := w.pair()
			w.mustBe(core.OK, w.AddEvent(ping.Read, ReadEvent, ClearEvent))
			var waited []int // reads, for each ping
			ping.Read.Handler = func(*Event) {
				waited = append(waited, w.kernel.recvs)
				ping.Recv(buf)
			}
			for range queued {
				send(t, peer, string(buf))
			}
			for range 10 {
				send(t, pinger, "x") // behind the fast peer's event
				w.kernel.recvs = 0
				w.ProcessEventsAndTimers()
			}
			if want := slices.Repeat([]int{test.want}, 10); !slices.Equal(waited, want) {
				t.Errorf("in turn the pings waited for %v reads, want %v", waited, want)
			}
		})
	}
}

// CASES E08. Connections come as fast as they are accepted, and 10 clients
// that are there already have sent something. One accept a turn, or with
// multi_accept as many as there are places; the case's batch of 10 nginx does
// not know. Either way every client is served in the turn in which its event
// came: what a batch costs is the accepts in front of that, none if the
// clients were first, and with the accept mutex the order does not matter.
// Where an accept costs little that is no effect, as PgBouncer found.
func TestE08AcceptStormAndThoseWhoAreThere(t *testing.T) {
	const (
		there  = 10
		places = 32
		all    = places - 1 - there + 1 // the listener has one; the last accept finds none left
	)
	for _, test := range []struct {
		mutex, multi, stormFirst bool
		before, accepts          int // those in front of the clients, and in the turn
	}{
		{false, false, true, 1, 1},
		{false, false, false, 0, 1},
		{false, true, true, all, all},
		{false, true, false, 0, all},
		{true, false, true, 1, 1},
		{true, false, false, 1, 1},
		{true, true, true, all, all},
		{true, true, false, all, all},
	} {
		t.Run(fmt.Sprintf("mutex %v, multi_accept %v, storm first %v", test.mutex, test.multi, test.stormFirst), func(t *testing.T) {
			w, ls := stormy(t, test.mutex, test.multi, places)
			var waited []int
			var peers []int
			for range there {
				c, peer := w.pair()
				w.mustBe(core.OK, w.AddEvent(c.Read, ReadEvent, ClearEvent))
				c.Read.Handler = func(*Event) { waited = append(waited, len(w.kernel.accepts)) }
				peers = append(peers, peer)
			}
			storm := func() { dial(t, ls, 1) }
			if test.stormFirst {
				storm()
			}
			for _, peer := range peers {
				send(t, peer, "x")
			}
			if !test.stormFirst {
				storm()
			}
			w.kernel.accepts = nil
			w.ProcessEventsAndTimers()
			if want := slices.Repeat([]int{test.before}, there); !slices.Equal(waited, want) {
				t.Errorf("the clients waited for %v accepts, want %v", waited, want)
			}
			if n := len(w.kernel.accepts); n != test.accepts {
				t.Errorf("%d accepts in the turn, want %d", n, test.accepts)
			}
		})
	}
}

// stormy returns a worker whose listener is registered; for each connection
// that it accepts another one comes.
func stormy(t *testing.T, mutex, multi bool, places int) (w *worker, ls *Listening) {
	configure := func(w *worker) {
		w.Event.MultiAccept = multi
		w.Event.ExclusiveAccept = false
		w.ConnectionN = places
	}
	if mutex {
		w, _, _ = rivals(t, configure)
		w.wake()
		w.ProcessEventsAndTimers() // in which it wins
	} else {
		w, _ = accepting(t, configure)
	}
	ls = w.Listening[0]
	ls.Handler = func(*Connection) {
		fd := client(t, ls)
		t.Cleanup(func() { unix.Close(fd) })
	}
	if w.interest(ls.Fd) != "IN|RDHUP" {
		t.Fatalf("the kernel has %s for the listener", w.interest(ls.Fd))
	}
	return w, ls
}
