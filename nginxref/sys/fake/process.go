package fake

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"herd/nginxref/sys"
)

// Process is one process of a World. To its own code it is the kernel; to the
// scenario, or to its parent, it is something to start, stop, kill and count.
//
//	state    it                           leaves it for
//	idle     is alive and runs no code    ready: Begin
//	ready    waits for the processor      running: the scheduler
//	running  has the processor            ready, asleep, idle, dead
//	asleep   sleeps in a kernel call      ready: what it sleeps for, a timeout, a signal
//	dead     is a zombie until Wait       -
//
// Kill makes any of them dead.
type Process struct {
	Pid    int
	Name   string
	Nofile int // RLIMIT_NOFILE: descriptors are numbers below it
	Counts Counts
	Status Status // how it ended

	w        *World
	parent   *Process
	state    state
	stopped  bool
	fds      []*description // by number; nil is free
	faults   []fault
	children int // alive, or dead and not waited for
	zombies  []*Process
	childEnd waitQueue

	// The goroutine that runs its code, while it runs any.
	baton     chan struct{}
	gone      chan struct{}             // closed at its end; nil before the first
	exits     bool                      // the process exits at the end of its code
	doomed    atomic.Bool               // the goroutine is to end at the next kernel call
	goroutine atomic.Pointer[Goroutine] // if there is a trace
	stuck     bool
	fresh     bool // its code has made no call yet
	used      int  // calls since it got the processor
	notes     int  // lines since its last call

	// While asleep.
	queue  *waitQueue // what it is in, or nil
	waiter *waiter
	why    reason // it woke
	wants  *inode // waits for the lock, or was woken for it and has yet to try

	itimer int // timers set by Setitimer so far
}

var _ sys.Kernel = (*Process)(nil)

type state int

const (
	idle state = iota
	ready
	running
	asleep
	dead
)

// reason is why a sleep ended.
type reason int

const (
	happened reason = iota // what it slept for, perhaps: look again
	timedOut
	interrupted // by a signal
	continued   // by SIGSTOP and SIGCONT
)

// Status is how a process ended.
type Status struct {
	Code   int
	Killed bool // by SIGKILL
}

// firstFd is the first descriptor that a process gives away; those below are
// standard input, output and error.
const firstFd = 3

// Process makes a process that runs no code yet: the scenario has it do things
// by Do. It inherits files as descriptors 3, 4, and so on.
func (w *World) Process(name string, files ...File) *Process {
	p := w.newProcess(name)
	for _, f := range files {
		p.install(f.open())
	}
	return p
}

// Start makes a process that runs main and then exits. It inherits files as
// descriptors 3, 4, and so on. It first runs when the scenario next waits.
func (w *World) Start(name string, main func(p *Process), files ...File) *Process {
	p := w.Process(name, files...)
	p.exits = true
	p.Begin(func() { main(p) })
	return p
}

func (w *World) newProcess(name string) *Process {
	p := &Process{
		Pid:    101 + len(w.processes),
		Name:   name,
		Nofile: 1024,
		w:      w,
		fds:    make([]*description, firstFd),
		baton:  make(chan struct{}, 1),
	}
	w.processes = append(w.processes, p)
	return p
}

// Fork starts a child that runs main. It inherits the descriptors fds under
// their own numbers, sharing the open files, but no record locks.
func (p *Process) Fork(name string, main func(p *Process), fds ...int) *Process {
	child := p.w.newProcess(name)
	child.parent = p
	child.Nofile = p.Nofile
	p.children++
	for _, fd := range fds {
		d := p.description(fd)
		if d == nil {
			panic(fmt.Sprintf("fake: %s forks %s with descriptor %d, which is not open", p.Name, name, fd))
		}
		child.installAt(fd, d)
	}
	child.exits = true
	child.Begin(func() { main(child) })
	return child
}

// Begin has the process run code from when the scenario next waits.
func (p *Process) Begin(code func()) {
	if p.state != idle {
		panic("fake: " + p.Name + " is dead, or busy with the last Begin or Do")
	}
	p.gone = make(chan struct{})
	p.fresh = true
	go p.run(code)
	p.makeReady()
}

// Do has the process run code, together with all others that can run, until
// all of them sleep. It reports whether code came to its end.
func (p *Process) Do(code func()) bool {
	p.Begin(code)
	p.w.Settle()
	return p.state == idle
}

// idleTurns is after how many turns of a loop without a kernel call there will
// be no other: nobody else runs meanwhile, so nothing changes.
const idleTurns = 1000

// Loop does turn again and again, for as long as the process lives.
func (p *Process) Loop(turn func()) {
	for idle := 0; idle < idleTurns; {
		calls := p.Counts.Calls
		turn()
		if idle++; p.Counts.Calls != calls {
			idle = 0
		}
	}
	p.w.Broken("every turn of the loop calls the kernel", fmt.Sprintf(
		"%s has turned %d times without a call: does a turn return before it waits?", p.Name, idleTurns))
}

// Sleep sleeps for d, which is what being busy for d looks like to others.
func (p *Process) Sleep(d time.Duration) {
	p.begin(Nanosleep, false)
	p.note(func() string { return fmt.Sprintf("nanosleep(%v)", d) })
	end := p.w.now + uint64(d)
	for p.w.now < end && p.sleep(end) != timedOut {
	}
}

// Exit ends the process.
func (p *Process) Exit(code int) {
	p.begin(Exit, false)
	p.die(Status{Code: code})
	p.note(func() string { return fmt.Sprintf("exit(%d)", code) })
	p.leave()
}

// Kill is SIGKILL: the process makes no further call. A call that it is about
// to make does not happen.
func (p *Process) Kill() {
	if p.state == dead {
		return
	}
	p.die(Status{Killed: true})
	p.w.trace(p.Name, "is killed")
	p.w.check()
	if p.w.running.Load() == p {
		p.leave()
	}
}

// Stop is SIGSTOP. A sleep in epoll_wait or a futex ends with EINTR when the
// process is continued, and until then nothing wakes it: it is in no queue.
func (p *Process) Stop() {
	p.w.trace(p.Name, "is stopped")
	p.stopped = true
	if p.state == asleep && p.queue != nil {
		p.wake(continued)
	}
	p.w.unready(p)
}

// Continue is SIGCONT.
func (p *Process) Continue() {
	p.w.trace(p.Name, "is continued")
	if p.stopped && p.state == ready {
		p.w.ready = append(p.w.ready, p)
	}
	p.stopped = false
}

// Interrupt delivers a signal that has a handler, without SA_RESTART: a call
// that sleeps returns EINTR. A process that does not sleep takes no notice.
func (p *Process) Interrupt() {
	p.w.trace(p.Name, "gets a signal")
	if p.state == asleep {
		p.wake(interrupted)
	}
}

// Wait waits for a child to die, or does not if block is not set, and returns
// it; nil if there is none yet, and ECHILD if there are no children.
func (p *Process) Wait(block bool) (*Process, sys.Errno) {
	if err := p.begin(Wait4, false); err != 0 {
		return nil, err
	}
	child, err := p.wait(block)
	p.end(func() string { return fmt.Sprintf("wait4() = %s", ret(child, err)) })
	return child, err
}

func (p *Process) wait(block bool) (*Process, sys.Errno) {
	for {
		if len(p.zombies) > 0 {
			child := p.zombies[0]
			p.zombies = p.zombies[1:]
			p.children--
			return child, 0
		}
		if p.children == 0 {
			return nil, echild
		}
		if !block {
			return nil, 0
		}
		if p.sleepOn(&p.childEnd, &waiter{}) == interrupted {
			return nil, sys.EINTR
		}
	}
}

// Dead reports whether the process has ended.
func (p *Process) Dead() bool { return p.state == dead }

// Asleep reports whether the process sleeps in a kernel call.
func (p *Process) Asleep() bool { return p.state == asleep }

// String returns the process's name.
func (p *Process) String() string { return p.Name }

// die frees all that the process has. Its goroutine stays where it is until
// the world ends: SIGKILL runs no deferred functions.
func (p *Process) die(st Status) {
	p.state = dead
	p.Status = st
	p.w.unready(p)
	p.w.cancelTimer(p)
	if p.queue != nil {
		p.queue.remove(p.waiter)
		p.queue = nil
	}
	for fd := range p.fds {
		p.closeFd(fd)
	}
	if f := p.wants; f != nil && f.holder == nil {
		f.waiting.wake(0)
	}
	for _, child := range p.w.processes {
		if child.parent == p {
			child.parent = nil
		}
	}
	if p.parent != nil {
		p.parent.zombies = append(p.parent.zombies, p)
		p.parent.childEnd.wake(0)
	}
}

// run is the process's goroutine.
func (p *Process) run(code func()) {
	defer close(p.gone)
	<-p.baton
	if p.doomed.Load() {
		return
	}
	if p.w.tracing {
		g := CurrentGoroutine()
		p.goroutine.Store(&g)
	}
	finished := false
	defer func() {
		r := recover()
		if p.doomed.Load() {
			return
		}
		p.ended(finished, r)
	}()
	code()
	finished = true
}

// ended deals with the end of the process's code. A panic, or a Goexit as of
// t.Fatal, is the process's death and ends the scenario.
func (p *Process) ended(finished bool, panicked any) {
	w := p.w
	switch {
	case panicked != nil:
		w.failure = &Failure{
			Rule:   "the code does not panic",
			Detail: fmt.Sprintf("%s dies: panic: %v", p.Name, panicked),
			Stack:  string(debug.Stack()),
		}
	case !finished:
		w.failure = &Failure{
			Rule:   "the code of a process returns or exits",
			Detail: p.Name + " ended its goroutine (t.Fatal is for the scenario)",
		}
	case p.exits:
		p.die(Status{})
		w.trace(p.Name, "exits")
		w.hand(w.next(nil, false))
		return
	default:
		p.state = idle
		w.hand(w.next(nil, false))
		return
	}
	w.trace(p.Name, w.failure.Detail)
	w.failure.Step = len(w.steps)
	p.state = dead
	w.hand(nil)
}

// leave gives the processor away for good.
func (p *Process) leave() {
	p.w.hand(p.w.next(nil, false))
	p.park()
}

// park blocks the goroutine until the world ends, and ends it then.
func (p *Process) park() {
	<-p.baton
	runtime.Goexit()
}

// makeReady puts the process at the end of those that wait for the processor.
func (p *Process) makeReady() {
	p.state = ready
	if !p.stopped {
		p.w.ready = append(p.w.ready, p)
	}
}

func (w *World) unready(p *Process) {
	if i := slices.Index(w.ready, p); i >= 0 {
		w.ready = slices.Delete(w.ready, i, i+1)
	}
}
