package lab09

import "herd/nginxref/shmtx"

// Host is what a master asks of the system: a small part of it, so that the
// lab is about the order of things.
type Host interface {
	// Wait takes one child that has ended, without waiting for any. pid is 0
	// if none has; ok is false if there are no children at all (ECHILD).
	Wait() (pid int, code int, ok bool)
	// Spawn starts a worker for a slot and returns its process id.
	Spawn(slot int) (pid int)
	// Terminate and Kill send SIGTERM and SIGKILL.
	Terminate(pid int)
	Kill(pid int)
	// Alarm has a timer go off in msec milliseconds. It replaces the one
	// before.
	Alarm(msec int)
}

// Slot is the master's knowledge of one worker.
type Slot struct {
	Pid     int // 0: the slot is free
	Exited  bool
	Code    int // exit code; of one that was killed, 0
	Respawn bool
}

// Master is the state of a master.
type Master struct {
	Host  Host
	Mutex shmtx.Mutex // the accept mutex
	Slots []Slot

	Stopping bool // told to stop: nobody is started again
	Delay    int  // of the terminate timer, milliseconds; 0: not begun
}

// FatalCode is the exit code of a worker that cannot work, now or later.
const FatalCode = 2

// The terminate timer: its first delay, and the delay beyond which patience
// is at an end, in milliseconds.
const (
	FirstDelay = 50
	LastDelay  = 1000
)
