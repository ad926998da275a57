package event

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"herd/nginxref/core"
)

func TestConnectionsAreTakenFromTheFrontAndReusedLastInFirstOut(t *testing.T) {
	w := newWorker(t)
	w.ConnectionN = 4
	w.start()
	take := func() *Connection {
		c := w.connection(100)
		c.Fd = -1 // not open: nothing to close
		return c
	}
	var cs []*Connection
	for i := range 4 {
		c := take()
		if c != &w.Connections[i] {
			t.Errorf("connection %d is not the table's next", i)
		}
		cs = append(cs, c)
	}
	w.FreeConnection(cs[2])
	w.FreeConnection(cs[0])
	w.FreeConnection(cs[3])
	for i, want := range []*Connection{cs[3], cs[0], cs[2]} {
		if got := take(); got != want {
			t.Errorf("the %d. to be reused is number %d, want %d", i+1, got.index, want.index)
		}
	}
}

// The instance bit flips each time a connection is taken, in both events.
func TestInstanceBitFlipsWhenAConnectionIsTaken(t *testing.T) {
	w := newWorker(t)
	w.start()
	var last bool
	for i := range 6 {
		c := w.connection(100)
		if c.Read.instance != c.Write.instance {
			t.Fatal("the two events differ")
		}
		if i == 0 && c.Read.instance { // the table is made with 1
			t.Error("the first instance is 1, want 0")
		}
		if i > 0 && c.Read.instance == last {
			t.Errorf("use %d has the instance of the one before", i)
		}
		last = c.Read.instance
		if data := eventData(c, last); data != uint64(c.index)<<1|map[bool]uint64{true: 1}[last] {
			t.Errorf("the kernel is given %#x", data)
		}
		c.Fd = -1
		w.FreeConnection(c)
	}
}

func TestTakenConnectionHasNothingOfItsFormerUser(t *testing.T) {
	w := newWorker(t)
	w.start()
	c := w.connection(100)
	c.Data, c.Sent, c.Number, c.Requests = w, 5, 6, 7
	c.Idle, c.Close, c.Error, c.Timedout, c.Destroyed = true, true, true, true, true
	c.LogError, c.TCPNodelay, c.AddrText = ErrorInfo, TCPNodelaySet, []byte("x")
	for _, ev := range []*Event{c.Read, c.Write} {
		ev.Active, ev.Ready, ev.EOF, ev.Error, ev.Timedout, ev.PendingEOF = true, true, true, true, true, true
		ev.Available, ev.Cancelable, ev.Delayed = 9, true, true
	}
	c.Fd = -1
	w.FreeConnection(c)

	log := &core.Log{}
	got := w.GetConnection(101, log)
	defer func() { got.Fd = -1 }()
	if got != c {
		t.Fatal("another connection was taken")
	}
	want := Connection{Cycle: w.Cycle, Read: c.Read, Write: c.Write, index: c.index, Fd: 101, Log: log}
	if fmt.Sprintf("%+v", *got) != fmt.Sprintf("%+v", want) {
		t.Errorf("%+v\nwant %+v", *got, want)
	}
	for _, ev := range []*Event{got.Read, got.Write} {
		want := Event{Data: got, instance: ev.instance, Write: ev == got.Write}
		if fmt.Sprintf("%+v", *ev) != fmt.Sprintf("%+v", want) {
			t.Errorf("%+v\nwant %+v", *ev, want)
		}
	}
}

func TestExhaustedTableIsLogged(t *testing.T) {
	w := newWorker(t)
	w.ConnectionN = 2
	w.start()
	w.fill(2)
	if c := w.GetConnection(102, w.Log); c != nil {
		t.Errorf("a third connection: %+v", c)
	}
	if w.FreeConnectionN != 0 || w.logged("[alert] 2 worker_connections are not enough") != 1 {
		t.Errorf("%d free, log %q", w.FreeConnectionN, w.lines)
	}
}

// The count and the list agree after any sequence.
func TestFreeCountAgreesWithTheList(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	w := newWorker(t)
	w.start()
	var taken []*Connection
	for range 2000 {
		if len(taken) < w.ConnectionN && rnd.IntN(2) == 0 {
			c := w.connection(100)
			c.Fd = -1
			taken = append(taken, c)
		} else if len(taken) > 0 {
			i := rnd.IntN(len(taken))
			w.FreeConnection(taken[i])
			taken = slices.Delete(taken, i, i+1)
		}
		n := 0
		for c := w.freeConnections; c != nil; c = c.next {
			if n++; slices.Contains(taken, c) {
				t.Fatal("a taken connection is on the free list")
			}
		}
		if n != w.FreeConnectionN || n != w.ConnectionN-len(taken) {
			t.Fatalf("%d on the list, counted %d, %d of %d taken", n, w.FreeConnectionN, len(taken), w.ConnectionN)
		}
	}
}

// fill takes n connections that are not reusable.
func (w *worker) fill(n int) {
	w.t.Helper()
	for range n {
		w.connection(100).Fd = -1 // not open: nothing to close
	}
}

// reusable takes n connections and then makes them reusable in that order.
// Their handler closes them, as a keepalive connection's does, and notes it.
func (w *worker) reusable(n int) (closed *[]int) {
	w.t.Helper()
	closed = new([]int)
	var cs []*Connection
	for range n {
		c, _ := w.pair()
		cs = append(cs, c)
	}
	for i, c := range cs {
		c.Read.Handler = func(*Event) {
			if !c.Close {
				w.t.Errorf("connection %d was not told to close", i)
			}
			*closed = append(*closed, i)
			w.CloseConnection(c)
		}
		w.ReusableConnection(c, true)
	}
	return closed
}

// Less than a sixteenth of the table free: an eighth of the reusable
// connections is closed, at most 32 and at least one, the longest unused
// first.
func TestReusableConnectionsAreDrainedLongestUnusedFirst(t *testing.T) {
	for _, c := range []struct {
		name            string
		table, reusable int
		other           int // connections that are not reusable
		want            int // closed by taking one more
	}{
		{"a sixteenth and one free", 64, 48, 11, 0}, // 5 free
		{"a sixteenth free", 64, 48, 12, 6},         // 4 free
		{"none free", 64, 48, 16, 6},
		{"fewer than 8 reusable", 64, 7, 57, 1},
		{"one reusable", 16, 1, 15, 1},
		{"15 reusable", 64, 15, 49, 1},
		{"16 reusable", 64, 16, 48, 2},
		{"more than 256 reusable", 320, 300, 20, 32},
		{"none reusable", 64, 0, 63, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorker(t)
			w.ConnectionN = c.table
			w.start()
			w.fill(c.other)
			closed := w.reusable(c.reusable)
			free := w.FreeConnectionN
			if got := w.connection(101); got != nil {
				got.Fd = -1
			}
			if want := ascending(c.want); !slices.Equal(*closed, want) {
				t.Errorf("closed %v, want %v", *closed, want)
			}
			if got, want := w.FreeConnectionN, free+c.want-1; got != want {
				t.Errorf("%d free afterwards, want %d", got, want)
			}
			if got, want := w.ReusableConnectionsN, c.reusable-c.want; got != want {
				t.Errorf("%d reusable afterwards, want %d", got, want)
			}
			warning := fmt.Sprintf("[warn] %d worker_connections are not enough, reusing connections", c.table)
			if got := w.logged(warning); got != min(1, c.want) {
				t.Errorf("warned %d times", got)
			}
		})
	}
}

func ascending(n int) (is []int) {
	for i := range n {
		is = append(is, i)
	}
	return is
}

// The warning comes once a second.
func TestReuseIsWarnedOfOnceASecond(t *testing.T) {
	w := newWorker(t)
	w.start()
	w.fill(24)
	w.reusable(8)
	for second := range int64(2) {
		w.Time.Sec = 1000 + second
		w.fill(2)
		if got := w.logged("reusing connections"); got != int(second)+1 {
			t.Errorf("%d warnings in second %d", got, second)
		}
	}
}

// A connection that was used again goes to the front.
func TestReusedConnectionIsTheLastToBeDrained(t *testing.T) {
	w := newWorker(t)
	w.ConnectionN = 16
	w.start()
	w.fill(13)
	closed := w.reusable(3)
	first := connectionOfQueue(w.reusableConnectionsQueue.Last())
	w.ReusableConnection(first, false) // a request
	w.ReusableConnection(first, true)  // and idle again
	w.fill(3)
	if !slices.Equal(*closed, []int{1, 2, 0}) {
		t.Errorf("closed %v, want 1, 2, 0", *closed)
	}
}

// The first call may only move the last connection to a lingering close; with
// nothing free it is called once more.
func TestLastConnectionIsAskedAgainIfNothingGotFree(t *testing.T) {
	for _, c := range []struct {
		name  string
		spare int // free connections
		want  int
	}{{"nothing free", 0, 2}, {"something free", 1, 1}} {
		w := newWorker(t)
		w.ConnectionN = 16
		w.start()
		w.fill(15 - c.spare)
		lingering, _ := w.pair()
		calls := 0
		lingering.Read.Handler = func(*Event) {
			if calls++; calls == 2 {
				w.CloseConnection(lingering)
				return
			}
			w.ReusableConnection(lingering, false)
			w.ReusableConnection(lingering, true)
		}
		w.ReusableConnection(lingering, true)
		got := w.GetConnection(101, w.Log)
		if got == nil || calls != c.want {
			t.Errorf("%s: called %d times, want %d; taken %v", c.name, calls, c.want, got != nil)
			continue
		}
		got.Fd = -1
		if n := w.logged("reusing connection again"); n != c.want-1 {
			t.Errorf("%s: asked again %d times", c.name, n)
		}
	}
}

func TestWaitingCountsReusableConnections(t *testing.T) {
	w := newWorker(t)
	w.start()
	c, _ := w.pair()
	for _, step := range []struct {
		reusable bool
		want     uint64
	}{{false, 0}, {true, 1}, {true, 1}, {false, 0}, {true, 1}} {
		w.ReusableConnection(c, step.reusable)
		if got := w.Zone.Waiting.Word.Load(); got != step.want || w.ReusableConnectionsN != int(step.want) {
			t.Errorf("reusable %v: %d waiting, %d in the queue; want %d", step.reusable, got, w.ReusableConnectionsN, step.want)
		}
	}
	w.CloseConnection(c)
	if got := w.Zone.Waiting.Word.Load(); got != 0 || !w.reusableConnectionsQueue.Empty() {
		t.Errorf("closed: %d waiting, queue empty %v", got, w.reusableConnectionsQueue.Empty())
	}
}
