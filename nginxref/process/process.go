// Package process is nginx's processes: the master that starts, watches,
// signals and replaces its workers (ngx_process_cycle.c), how it starts one
// and reads its signals (ngx_process.c), and the channel between the two
// (ngx_channel.c).
//
// Go cannot fork. A worker is the same program started again, with a birth
// certificate (see birth) that holds what a forked child would have found in
// its memory, and with the descriptors that it names. A program that has
// workers therefore calls [Main] first thing in main.
//
// DIVERGES: there are no cache manager and cache loader processes, because
// there is no cache.
package process

import (
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"herd/nginxref/core"
	"herd/nginxref/event"
)

// MaxProcesses is how many processes one master can have
// (NGX_MAX_PROCESSES).
const MaxProcesses = 1024

// InvalidPid is what a function returns instead of a process id when it could
// not start one.
const InvalidPid = -1

// How a process is started: what the master does when it ends, and whether the
// signal that follows at once (the QUIT of a reload) passes it by.
//
//	               started again  passed by once
//	Norespawn      no             no
//	JustSpawn      no             yes
//	Respawn        yes            no
//	JustRespawn    yes            yes
//	Detached       no             always: it has no channel and no signals
const (
	Norespawn   = -1
	JustSpawn   = -2
	Respawn     = -3
	JustRespawn = -4
	Detached    = -5
)

// SpawnProc starts the program of a new process and returns its id.
//
// DIVERGES: nginx's runs in the forked child and does not return.
type SpawnProc func(cycle *event.Cycle, data any, name string) (pid int, err error)

// Entry is the master's knowledge of one process (ngx_process_t). A worker has
// the table too: of the others it knows Pid and Channel[0].
type Entry struct {
	Pid     int                // -1 once the slot is free again
	Status  syscall.WaitStatus // valid once it was waited for
	Channel [2]int             // [0] is the master's end, [1] the process's; -1: none

	proc SpawnProc
	data any
	name string

	respawn   bool // start it again when it ends
	justSpawn bool // too new for the next signal
	detached  bool
	exiting   bool // told to leave
	exited    bool // and waited for

	// Of a worker that crashes again and again, see backoff.go.
	started core.Msec // when
	young   int       // how many in a row crashed young
	pause   core.Msec // before it is replaced; 0: at once
	after   core.Msec // the end of the pause
}

// Process is the state of one process, master or worker: the globals of
// ngx_process.c and ngx_process_cycle.c. Only the loop thread touches it, but
// for the fields that say otherwise. Some of nginx's globals are fields of
// Cycle, because the event core reads them: Process, Worker, Exiting,
// NewBinary and Parent.
type Process struct {
	App   App
	Conf  []byte       // what App.Configure has made Cycle from
	Name  string       // before the colon in ps
	Argv  []string     // the command line, for the master's title
	Cycle *event.Cycle // the configuration at work (ngx_cycle)

	// Pdeathsig, if not 0, is sent by the kernel to a worker whose master
	// has died. nginx's workers go on serving. A worker that changes its
	// user loses it.
	Pdeathsig syscall.Signal

	// The functions of ngx_cycle.c and nginx.c that the master calls. New
	// sets them to ones for a program that does not have the feature.
	InitCycle     func(old *event.Cycle) *event.Cycle // nil: the configuration is bad
	ExecNewBinary func(cycle *event.Cycle) int        // process id, or InvalidPid
	ReopenFiles   func(cycle *event.Cycle, user int)  // user: of the files, or -1
	DeletePidfile func(cycle *event.Cycle)

	// ngx_process.c
	Slot        int // this process's own; in the master, that of the latest
	Channel     int // the worker's end of its channel
	LastProcess int // slots in use, free ones among them
	Processes   [MaxProcesses]Entry

	// ngx_process_cycle.c
	Pid        int
	Daemonized bool // no terminal: WINCH is not a resized window

	reap         bool
	sigio        bool
	sigalrm      bool
	terminate    bool
	quit         bool
	debugQuit    bool
	reconfigure  bool
	reopen       bool
	changeBinary bool
	noaccept     bool
	noaccepting  bool
	restart      bool

	pauseEnds core.Msec // when SIGALRM comes for a worker to replace, see backoff.go

	signals    *notified
	collectors sync.WaitGroup
	pending    [len(signals)]atomic.Bool // any thread: came and is not yet handled
	awake      chan struct{}             // any thread: something is pending
	onNotify   event.Handler
	loop       atomic.Pointer[event.Cycle] // any thread: whose loop to wake

	shutdownEvent event.Event // ngx_cycle.c
}

// New returns the state of a master that runs cycle, which app.Configure has
// made from conf.
func New(app App, cycle *event.Cycle, conf []byte) *Process {
	p := &Process{
		App:   app,
		Conf:  conf,
		Name:  "nginxref",
		Cycle: cycle,
		Pid:   cycle.Kernel.Getpid(),
		awake: make(chan struct{}, 1),

		ReopenFiles:   func(*event.Cycle, int) {},
		DeletePidfile: func(*event.Cycle) {},
	}
	for _, arg := range os.Args {
		p.Argv = append(p.Argv, strings.Clone(arg)) // setproctitle overwrites it
	}
	p.InitCycle = func(old *event.Cycle) *event.Cycle {
		old.Log.Error(core.LogErr, 0, "this program cannot reload its configuration")
		return nil
	}
	p.ExecNewBinary = func(cycle *event.Cycle) int {
		cycle.Log.Error(core.LogErr, 0, "this program cannot change its binary")
		return InvalidPid
	}
	return p
}
