// Package eventtest puts a master and its workers, which run the event core,
// on the deterministic kernel of sys/fake.
package eventtest

import (
	"fmt"
	"slices"
	"unsafe"

	"herd/nginxref/core"
	"herd/nginxref/event"
	"herd/nginxref/shmtx"
	"herd/nginxref/stat"
	"herd/nginxref/sys/fake"
)

// Conf is the configuration of a fleet.
type Conf struct {
	Workers     int
	Connections int  // worker_connections; 0 is 16
	Reuseport   bool // a listener for each worker
	Event       event.EventConf
	Files       []fake.File // that every process has open, beside the listener
	// Change, if set, changes a worker before it starts, and its successors:
	// the Actions of its cycle, say, or the Handler of its listener, which
	// closes each connection at once.
	Change func(w *Worker)
}

// Fleet is a master and its workers.
type Fleet struct {
	World     *fake.World
	Listener  *fake.Listener   // that clients connect to
	Listeners []*fake.Listener // that one, or with Reuseport each worker's
	Master    *fake.Process    // runs no code of its own: the scenario plays it
	Mutex     *shmtx.Atomic    // its handle on the accept mutex
	Workers   []*Worker
	Zone      *stat.Zone // what the workers share

	conf  Conf
	slots []stat.Worker
}

// Worker is a worker process and its cycle.
type Worker struct {
	*fake.Process
	Cycle  *event.Cycle
	Slot   *stat.Worker // what stat counts of it, and of those before it
	Alerts []string     // what it logged at level alert or worse
}

// New starts a fleet. The workers first run when the scenario waits.
func New(w *fake.World, conf Conf) *Fleet {
	if conf.Connections == 0 {
		conf.Connections = 16
	}
	if conf.Event.AcceptMutexDelay == 0 {
		conf.Event.AcceptMutexDelay = 500
	}
	if conf.Event.EpollEvents == 0 {
		conf.Event.EpollEvents = 512
	}
	f := &Fleet{World: w, Workers: make([]*Worker, conf.Workers), conf: conf}
	f.listen()
	f.Master = w.Process("master", f.files()...)
	f.makeZone()
	f.Mutex = f.mutex(f.Master, newLog(f.Master, nil))
	for i := range f.Workers {
		f.Start(i)
	}
	return f
}

func (f *Fleet) listen() {
	if f.conf.Reuseport {
		f.Listeners = f.World.ListenReuseport(len(f.Workers))
	} else {
		f.Listeners = []*fake.Listener{f.World.Listen()}
	}
	f.Listener = f.Listeners[0]
}

// makeZone lays out the shared zone. All processes of a World share memory
// anyway.
func (f *Fleet) makeZone() {
	words := make([]uint64, stat.ZoneSize(len(f.Workers))/8) // aligned for atomic operations
	mem := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), 8*len(words))
	f.Zone, f.slots, _ = stat.ZoneAt(mem)
	f.Zone.ConnectionCounter.Word.Store(1)

	f.World.Name(&f.Zone.AcceptMutex.Lock, "accept mutex")
	f.World.Name(&f.Zone.ConnectionCounter.Word, "connection counter")
	f.World.Name(&f.Zone.Accepted.Word, "accepted")
	f.World.Name(&f.Zone.Handled.Word, "handled")
	f.World.Name(&f.Zone.Active.Word, "active")
	f.World.Name(&f.Zone.Waiting.Word, "waiting")
}

func (f *Fleet) mutex(p *fake.Process, log *core.Log) *shmtx.Atomic {
	mtx := &shmtx.Atomic{Kernel: p, Log: log, Spin: shmtx.NoSpin}
	mtx.Create(&f.Zone.AcceptMutex)
	return mtx
}

// files returns what every process has open.
func (f *Fleet) files() []fake.File {
	var files []fake.File
	for _, l := range f.Listeners {
		files = append(files, l)
	}
	return append(files, f.conf.Files...)
}

// Start has the master fork worker i, or its successor.
func (f *Fleet) Start(i int) *Worker {
	var fds []int
	for _, file := range f.files() {
		fds = append(fds, f.Master.Fd(file))
	}
	w := &Worker{Slot: &f.slots[i]}
	w.Process = f.Master.Fork(fmt.Sprintf("worker %d", i+1), func(*fake.Process) { w.run() }, fds...)
	w.Cycle = f.cycle(w, i)
	if f.conf.Change != nil {
		f.conf.Change(w)
	}
	f.Workers[i] = w
	return w
}

// cycle makes the cycle of worker i as the master's configuration and
// AttachZone would.
func (f *Fleet) cycle(w *Worker, i int) *event.Cycle {
	times := core.NewTimes(w.Process)
	log := newLog(w.Process, w)
	cycle := event.NewCycle(w.Process, log, times)
	cycle.Process = event.ProcessWorker
	cycle.Worker = i
	cycle.Conf.Master = true
	cycle.Conf.WorkerProcesses = len(f.Workers)
	cycle.Event = f.conf.Event
	cycle.ConnectionN = f.conf.Connections
	cycle.Zone = f.Zone
	cycle.Counters = w.Slot
	cycle.AcceptMutex = &stat.Mutex{Mutex: f.mutex(w.Process, log), Slot: w.Slot, Kernel: w.Process}
	cycle.Kernel = stat.NewKernel(w.Process, w.Slot, event.NotifyData, func() int {
		return cycle.ConnectionN - cycle.FreeConnectionN
	})
	for j, l := range f.Listeners {
		cycle.Listening = append(cycle.Listening, &event.Listening{
			Fd:        w.Fd(l),
			AddrText:  l.Addr.String(),
			Log:       *log,
			Handler:   cycle.CloseConnection,
			Reuseport: f.conf.Reuseport,
			Worker:    j,
		})
	}
	return cycle
}

// run is the code of a worker: nginx's without its signals.
func (w *Worker) run() {
	for _, module := range w.Cycle.Modules {
		if module.InitProcess(w.Cycle) == core.Error {
			w.Exit(2)
		}
	}
	w.Loop(func() { w.Cycle.Actions.ProcessEventsAndTimers(w.Cycle) })
}

// Registered reports whether a listener is in the worker's epoll set.
func (w *Worker) Registered() bool {
	return slices.ContainsFunc(w.Cycle.Listening, func(ls *event.Listening) bool {
		return ls.Connection != nil && ls.Connection.Read.Active
	})
}

// Reap has the master wait for a child that died, force the mutex out of its
// hands, and start its successor.
func (f *Fleet) Reap() *Worker {
	var successor *Worker
	f.Master.Do(func() {
		child, err := f.Master.Wait(true)
		if err != 0 {
			return
		}
		f.Mutex.ForceUnlock(child.Pid)
		for i, w := range f.Workers {
			if w.Process == child {
				successor = f.Start(i)
			}
		}
	})
	return successor
}

// Shares returns how many connections each worker has accepted.
func (f *Fleet) Shares() []int {
	shares := make([]int, len(f.Workers))
	for i := range f.slots {
		shares[i] = int(f.slots[i].Accepted)
	}
	return shares
}
