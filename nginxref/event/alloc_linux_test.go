package event

import (
	"io"
	"testing"

	"herd/nginxref/core"
	"herd/nginxref/stat"
	"herd/nginxref/sys"
)

// bare takes the test's kernel and log out of w's way: nothing between the
// loop and the machine allocates.
func (w *worker) bare() {
	w.Log.Level = core.LogNotice
	w.Log.File.W = io.Discard
	if k, ok := w.Kernel.(*stat.Kernel); ok {
		k.Kernel = w.kernel.Kernel
	} else {
		w.Kernel = w.kernel.Kernel
	}
}

// serving is what a listener's handler does in these tests: answer and close.
func (w *worker) serving(served *int) func(*Connection) {
	reply := []byte("HTTP/1.0 200 OK\r\n\r\n")
	return func(c *Connection) {
		if c.Send(reply) == len(reply) {
			*served++
		}
		w.CloseConnection(c)
	}
}

// A turn that accepts, answers and closes a connection allocates nothing. The
// clients are there before the measurement starts.
func TestServingAConnectionDoesNotAllocate(t *testing.T) {
	const runs = 200

	for _, c := range []struct {
		name      string
		configure func(*worker)
	}{
		{"one worker", func(w *worker) {}},
		{"exclusive, with re-add", func(w *worker) { w.Conf.WorkerProcesses = 4 }},
		{"accept mutex", func(w *worker) { w.Conf.WorkerProcesses = 4; w.Event.AcceptMutex = true }},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := workers(t, 1)[0]
			w.bare()
			c.configure(w)
			served := 0
			ls := w.listen()
			ls.AddrNtop = true
			ls.Handler = w.serving(&served)
			w.start()
			dial(t, ls, runs+1) // AllocsPerRun makes one more
			n := testing.AllocsPerRun(runs, w.ProcessEventsAndTimers)
			if n != 0 {
				t.Errorf("%v allocations a connection", n)
			}
			// The runtime's preemption signals may have ended a few turns
			// early.
			if served < runs*9/10 {
				t.Errorf("%d connections served in %d turns", served, runs+1)
			}
			if got := w.Counters.Accepted; got != uint64(served) {
				t.Errorf("%d counted, %d served", got, served)
			}
		})
	}
}

func TestCoreDoesNotAllocate(t *testing.T) {
	w := workers(t, 1)[0]
	w.bare()
	ls := w.listen()
	w.start()
	c, _ := w.pair()
	c.Read.Handler = func(*Event) {}
	ev := c.Read
	list := make([]sys.EpollEvent, 8)
	buf := make([]byte, 16)
	for name, f := range map[string]func(){
		"accept with nothing to accept": func() { EventAccept(ls.Connection.Read) },
		"add and delete a timer":        func() { w.AddTimer(ev, 1000); w.DelTimer(ev) },
		"a lazy timer":                  func() { w.AddTimer(ev, 1000); w.AddTimer(ev, 1001); w.DelTimer(ev) },
		"expire a timer":                func() { w.AddTimer(ev, 0); w.ExpireTimers() },
		"post an event and process it":  func() { PostEvent(ev, &w.PostedEvents); w.ProcessPosted(&w.PostedEvents) },
		"post one to the next turn":     func() { PostEvent(ev, &w.PostedNextEvents); w.ProcessEventsAndTimers() },
		"wait, counted":                 func() { w.Kernel.EpollWait(w.epoll.fd, list, 0) },
		"read with nothing to read":     func() { ev.Available = -1; c.Recv(buf) },
		"register and unregister":       func() { w.AddConn(c); w.DelConn(c, 0) },
		"reusable and not":              func() { w.ReusableConnection(c, true); w.ReusableConnection(c, false) },
		"take and free a connection":    func() { w.FreeConnection(w.GetConnection(-1, w.Log)) },
		"a debug line switched off": func() {
			w.Log.Debug(core.LogDebugEvent, sys.EAGAIN, "%d %s %p", w.ConnectionN, ls.AddrText, w.Time.CurrentMsec)
		},
		"trylock and unlock": func() { w.AcceptMutex.Trylock(); w.AcceptMutex.Unlock() },
	} {
		if n := testing.AllocsPerRun(100, f); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
