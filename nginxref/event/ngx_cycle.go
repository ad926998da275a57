package event

import (
	"herd/nginxref/core"
	"herd/nginxref/queue"
	"herd/nginxref/rbtree"
	"herd/nginxref/shmtx"
	"herd/nginxref/stat"
	"herd/nginxref/sys"
)

// ProcessKind says what this process is (ngx_process).
type ProcessKind int

// The kinds of process, in nginx's order: everything up to ProcessMaster owns
// the listening sockets' files.
const (
	ProcessSingle ProcessKind = iota
	ProcessMaster
	ProcessSignaller
	ProcessWorker
	ProcessHelper
)

// CPUSet is a set of processors, up to number 1023 (ngx_cpuset_t).
type CPUSet [1024 / 64]uint64

// Set adds a processor.
func (set *CPUSet) Set(cpu int) { set[cpu/64] |= 1 << (cpu % 64) }

// IsSet reports whether cpu is in the set.
func (set *CPUSet) IsSet(cpu int) bool { return set[cpu/64]&(1<<(cpu%64)) != 0 }

// CoreConf is ngx_core_conf_t: what is configured outside of any block.
type CoreConf struct {
	Master          bool
	WorkerProcesses int
	TimerResolution core.Msec // 0: timers set the wait
	ShutdownTimeout core.Msec // 0: a worker waits for its last connection

	DebugPoints int // what an exiting worker with sockets left does: DebugPointsStop, DebugPointsAbort or 0

	RlimitNofile int   // descriptors; -1 when not configured
	RlimitCore   int64 // bytes; -1 when not configured
	Priority     int   // nice value of the workers

	// CPUAffinity holds the processors of worker 0, 1, ...; the last set
	// serves the workers beyond it. With CPUAffinityAuto each worker gets
	// one processor out of the last set, in turn.
	CPUAffinity     []CPUSet
	CPUAffinityAuto bool

	Username string // of the workers, if the master is root; "" leaves root
	User     int
	Group    int

	WorkingDirectory string
	Pid              string // path of the master's pid file
	Oldpid           string // and of the one an upgrade leaves behind
}

// The values of CoreConf.DebugPoints.
const (
	DebugPointsStop  = 1
	DebugPointsAbort = 2
)

// EventConf is ngx_event_conf_t and ngx_epoll_conf_t: the events{} block.
type EventConf struct {
	Connections      int // worker_connections
	MultiAccept      bool
	AcceptMutex      bool
	AcceptMutexDelay core.Msec
	EpollEvents      int // most events one wait returns

	// ExclusiveAccept lets listeners be registered with EPOLLEXCLUSIVE, as
	// nginx does when it was built on a system that has it. Off gives the
	// classic herd. nginx has no such switch.
	ExclusiveAccept bool
	// DebugAccepted, if set, may raise the log level of a connection that was
	// just accepted (debug_connection).
	DebugAccepted func(c *Connection)
	// LockFile, if not empty, makes the accept mutex a file lock on that
	// path, as nginx built without atomic operations does.
	LockFile string
}

// Module is a set of hooks that the process calls in order (ngx_module_t).
// Any of them may be nil.
type Module struct {
	Name        string
	InitModule  func(*Cycle) core.Status // in the master, once a configuration
	InitProcess func(*Cycle) core.Status // in each worker, before its loop
	ExitProcess func(*Cycle)
	ExitMaster  func(*Cycle)
}

// Actions are the functions of the event core that are called through a
// field, so that a lab can put its own in their place. NewCycle fills in
// nginx's.
type Actions struct {
	ProcessEventsAndTimers func(*Cycle) // one turn
	Accept                 Handler
	TrylockAcceptMutex     func(*Cycle) core.Status
	EnableAcceptEvents     func(*Cycle) core.Status
	DisableAcceptEvents    func(cycle *Cycle, all bool) core.Status
	ReorderAcceptEvents    func(*Cycle, *Listening)
}

// Cycle is one configuration at work in one process: ngx_cycle_t, and the
// globals of the event core's C files, grouped by the file that owns them.
// Only the loop thread touches it, but for the fields that say otherwise.
type Cycle struct {
	Kernel  sys.Kernel
	Log     *core.Log
	Time    *core.Times
	Conf    CoreConf
	Event   EventConf
	Modules []Module
	Actions Actions

	// ngx_cycle.h
	Listening       []*Listening
	Connections     []Connection // ConnectionN of them
	readEvents      []Event
	writeEvents     []Event
	ConnectionN     int
	freeConnections *Connection
	FreeConnectionN int

	reusableConnectionsQueue queue.Queue // most recently used first
	ReusableConnectionsN     int
	connectionsReuseTime     int64 // second of the last warning

	// ngx_process_cycle.c
	Process   ProcessKind
	Worker    int  // this worker's number, 0 .. WorkerProcesses-1
	Exiting   bool // no new connections, leave when the last is done
	NewBinary int  // process id of the binary being upgraded to, or 0
	Parent    int  // process id of whoever started this master

	// ngx_event.c
	EventTimerAlarm    bool // set by the timer signal, cleared by the wait it interrupts
	UseAcceptMutex     bool
	AcceptEvents       bool // nginx's rtsig only: set, the holder re-enables
	AcceptMutexHeld    bool // see TrylockAcceptMutex for its states
	AcceptMutexDelay   core.Msec
	AcceptDisabled     int // > 0: turns in which the lock is not tried
	UseExclusiveAccept bool
	AcceptMutex        shmtx.Mutex
	LockFile           *shmtx.File  // AcceptMutex, if it is a file lock
	Shm                *shmtx.Shm   // the shared zone's memory; nil: none
	Zone               *stat.Zone   // in Shm, or private without a master
	Counters           *stat.Worker // this worker's slot in Shm; nil: none
	workers            []stat.Worker

	// ngx_event_posted.c
	PostedAcceptEvents queue.Queue
	PostedNextEvents   queue.Queue
	PostedEvents       queue.Queue

	// ngx_event_timer.c
	timerRbtree   rbtree.Tree
	timerSentinel rbtree.Node

	// ngx_epoll_module.c
	epoll epollModule

	// ngx_event_accept.c, its local variables that must not be allocated anew
	acceptSockaddr sys.Sockaddr
	addrBuf        [sys.SockaddrStrlen]byte
}

// NewCycle returns a cycle of kernel that logs to log, with nginx's actions
// and the event module in place.
func NewCycle(kernel sys.Kernel, log *core.Log, times *core.Times) *Cycle {
	cycle := &Cycle{Kernel: kernel, Log: log, Time: times, Zone: &stat.Zone{}}
	cycle.Zone.ConnectionCounter.Word.Store(1) // 0 is no connection to the log
	cycle.Conf = CoreConf{RlimitNofile: -1, RlimitCore: -1}
	cycle.Actions = Actions{
		ProcessEventsAndTimers: (*Cycle).ProcessEventsAndTimers,
		Accept:                 EventAccept,
		TrylockAcceptMutex:     TrylockAcceptMutex,
		EnableAcceptEvents:     EnableAcceptEvents,
		DisableAcceptEvents:    DisableAcceptEvents,
		ReorderAcceptEvents:    ReorderAcceptEvents,
	}
	cycle.Modules = []Module{CoreModule}
	cycle.epoll.fd = -1
	cycle.epoll.notifyFd = -1
	cycle.reusableConnectionsQueue.Init()
	return cycle
}
