package event

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"herd/nginxref/core"
	"herd/nginxref/stat"
)

// A registration is made only if nothing is known to be there.
func TestHandleReadAndWriteEvent(t *testing.T) {
	for _, c := range []struct {
		active, ready bool
		calls         int
	}{{false, false, 1}, {false, true, 0}, {true, false, 0}, {true, true, 0}} {
		w := newWorker(t)
		w.start()
		r, _ := w.pair()
		s, _ := w.pair()
		r.Read.Active, r.Read.Ready = c.active, c.ready
		s.Write.Active, s.Write.Ready = c.active, c.ready
		w.kernel.ctls = nil
		w.mustBe(core.OK, w.HandleReadEvent(r.Read))
		w.mustBe(core.OK, w.HandleWriteEvent(s.Write))
		if got := len(w.kernel.ctls); got != 2*c.calls {
			t.Errorf("active %v, ready %v: calls %v", c.active, c.ready, w.kernel.ctls)
		}
		if c.calls == 1 && (w.interest(r.Fd) != "IN|RDHUP|ET" || w.interest(s.Fd) != "OUT|ET") {
			t.Errorf("the kernel has %s and %s", w.interest(r.Fd), w.interest(s.Fd))
		}
	}
	w := newWorker(t)
	w.start()
	c := w.connection(9999)
	defer func() { c.Fd = -1 }()
	w.mustBe(core.Error, w.HandleReadEvent(c.Read))
	w.mustBe(core.Error, w.HandleWriteEvent(c.Write))
}

// How listeners are registered at the start of a worker.
func TestListenersAtTheStartOfAWorker(t *testing.T) {
	for _, c := range []struct {
		name      string
		configure func(w *worker, ls *Listening)
		want      string
		exclusive bool
	}{
		{"one worker", func(w *worker, ls *Listening) {}, "IN|RDHUP", false},
		{"several", func(w *worker, ls *Listening) { w.Conf.WorkerProcesses = 4 }, "IN|EXCLUSIVE", true},
		{"several, the classic herd", func(w *worker, ls *Listening) {
			w.Conf.WorkerProcesses = 4
			w.Event.ExclusiveAccept = false
		}, "IN|RDHUP", false},
		{"accept mutex", func(w *worker, ls *Listening) {
			w.Conf.WorkerProcesses = 4
			w.Event.AcceptMutex = true
		}, "-", false},
		{"accept mutex, one worker", func(w *worker, ls *Listening) { w.Event.AcceptMutex = true }, "IN|RDHUP", false},
		{"accept mutex, no master", func(w *worker, ls *Listening) {
			w.Conf.WorkerProcesses = 4
			w.Conf.Master = false
			w.Event.AcceptMutex = true
		}, "IN|EXCLUSIVE", true},
		{"reuseport", func(w *worker, ls *Listening) {
			w.Conf.WorkerProcesses = 4
			ls.Reuseport = true
		}, "IN|RDHUP", false},
		// CASES B06: a private socket needs no mutex.
		{"reuseport, accept mutex", func(w *worker, ls *Listening) {
			w.Conf.WorkerProcesses = 4
			w.Event.AcceptMutex = true
			ls.Reuseport = true
		}, "IN|RDHUP", false},
		{"another worker's reuseport", func(w *worker, ls *Listening) {
			w.Conf.WorkerProcesses = 4
			ls.Reuseport = true
			ls.Worker = 1
		}, "none", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorker(t)
			ls := w.listen()
			c.configure(w, ls)
			w.start()
			got := w.interest(ls.Fd)
			if ls.Connection == nil {
				got = "none"
			}
			if got != c.want {
				t.Errorf("the kernel has %s, want %s", got, c.want)
			}
			if w.UseExclusiveAccept != c.exclusive {
				t.Errorf("UseExclusiveAccept %v, want %v", w.UseExclusiveAccept, c.exclusive)
			}
			if c.want == "none" {
				if w.FreeConnectionN != w.ConnectionN {
					t.Errorf("%d of %d connections free", w.FreeConnectionN, w.ConnectionN)
				}
				return
			}
			lc := ls.Connection
			if lc.Fd != ls.Fd || lc.Listening != ls || !lc.Read.Accept || lc.Read.Active != (c.want != "-") {
				t.Errorf("connection %+v, event %+v", lc, lc.Read)
			}
			if w.FreeConnectionN != w.ConnectionN-1 {
				t.Errorf("%d of %d connections free, want all but one", w.FreeConnectionN, w.ConnectionN)
			}
		})
	}
}

func TestWorkerWithoutAConnectionForItsListenerDoesNotStart(t *testing.T) {
	w := newWorker(t)
	w.ConnectionN = 1
	w.listen()
	w.listen()
	if CoreModule.InitProcess(w.Cycle) != core.Error {
		t.Error("it started")
	}
	if w.logged("[alert] 1 worker_connections are not enough") != 1 {
		t.Errorf("log %q", w.lines)
	}
}

func TestModuleInitMakesTheZoneOnce(t *testing.T) {
	w := newWorker(t)
	w.Process = ProcessMaster
	w.mustBe(core.OK, CoreModule.InitModule(w.Cycle))
	shm := w.Shm
	if shm == nil {
		t.Fatal("no zone")
	}
	t.Cleanup(func() { shm.Free() })
	if n := w.Zone.ConnectionCounter.Word.Load(); n != 1 {
		t.Errorf("the first connection has number %d, want 1", n)
	}
	w.Zone.ConnectionCounter.Word.Store(77) // connections were made; then a reload
	w.mustBe(core.OK, CoreModule.InitModule(w.Cycle))
	if w.Shm != shm || w.Zone.ConnectionCounter.Word.Load() != 77 {
		t.Error("a second configuration has a zone of its own")
	}
	if w.logged(`[notice] using the "epoll" event method`) != 2 {
		t.Errorf("log %q", w.lines)
	}

	single := newWorker(t)
	single.Conf.Master = false
	single.mustBe(core.OK, CoreModule.InitModule(single.Cycle))
	if single.Shm != nil || single.Zone == nil {
		t.Error("without a master the zone must be private")
	}
}

func TestTableLargerThanTheDescriptorLimitIsWarnedOf(t *testing.T) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	cur := int(limit.Cur)
	for _, c := range []struct {
		name                string
		connections, nofile int
		want                string
	}{
		{"fits", cur, -1, ""},
		{"does not", cur + 1, -1, fmt.Sprintf("[warn] %d worker_connections exceed open file resource limit: %d", cur+1, cur)},
		{"raised by worker_rlimit_nofile", cur + 1, cur + 1, ""},
		{"not raised enough", cur + 2, cur + 1, fmt.Sprintf("[warn] %d worker_connections exceed open file resource limit: %d", cur+2, cur+1)},
		{"lowered, but the limit is enough", cur, 10, ""},
	} {
		w := newWorker(t)
		w.Conf.Master = false
		w.ConnectionN, w.Conf.RlimitNofile = c.connections, c.nofile
		w.mustBe(core.OK, CoreModule.InitModule(w.Cycle))
		warnings := slices.DeleteFunc(w.lines, func(l string) bool { return !strings.HasPrefix(l, "[warn]") })
		if got := strings.Join(warnings, "\n"); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// A worker finds in the master's zone its slot and the lock word.
func TestAttachedWorkersShareTheZone(t *testing.T) {
	ws := workers(t, 2)
	for i, w := range ws {
		if w.Counters != &w.workers[i] || w.Counters.Pid != uint64(w.kernel.pid) {
			t.Errorf("worker %d counts as %d", i, w.Counters.Pid)
		}
	}
	ws[0].Zone.Accepted.Word.Store(5)
	if got := ws[1].Zone.Accepted.Word.Load(); got != 5 {
		t.Errorf("worker 1 sees %d accepted, want 5", got)
	}
	if _, ok := ws[0].AcceptMutex.(*stat.Mutex); !ok || !ws[0].AcceptMutex.Trylock() {
		t.Error("worker 0 has no counted mutex")
	}
	if ws[1].AcceptMutex.Trylock() {
		t.Error("both have the lock")
	}
	if ws[1].Counters.LockTries != 1 || ws[1].Counters.LockWins != 0 || ws[0].Counters.LockWins != 1 {
		t.Errorf("tries and wins: %d %d, %d %d", ws[0].Counters.LockTries, ws[0].Counters.LockWins,
			ws[1].Counters.LockTries, ws[1].Counters.LockWins)
	}
}
