// Package stat is the shared zone: the words that nginx's workers share, and
// beside them a slot of counters for each worker, written by that worker only
// and read by anyone who maps the zone.
package stat

import (
	"fmt"
	"unsafe"

	"herd/nginxref/shmtx"
	"herd/nginxref/sys"
)

// ZoneName is the zone's name in /proc/PID/fd, nginx's own for it.
const ZoneName = "nginx_shared_zone"

// line is nginx's distance between two shared words, in bytes: at least a
// cache line, so that writers of different words do not slow each other.
const line = 128

// Cell is one shared word on a line of its own.
type Cell struct {
	Word sys.Atomic
	_    [line - 8]byte
}

// Zone is the layout of the shared zone, in the order of
// ngx_event_module_init. The workers' slots follow it, see ZoneAt; an array of
// none at its end would not do, Go pads a struct that ends in one.
type Zone struct {
	AcceptMutex shmtx.Shared
	_           [line - unsafe.Sizeof(shmtx.Shared{})]byte

	ConnectionCounter Cell // number of the next connection
	TempNumber        Cell // unused here; kept so that offsets are nginx's

	Accepted Cell // ngx_stat_accepted and so on: totals of all workers
	Handled  Cell
	Requests Cell
	Active   Cell
	Reading  Cell
	Writing  Cell
	Waiting  Cell
}

// Worker is the slot of one worker. A respawned worker goes on counting in
// the slot of the one it replaces. The fields are plain words: only the worker
// writes, once a turn or less, and readers can do with a value a turn old.
type Worker struct {
	Pid   uint64 // process id of the current owner
	Ready uint64 // 1 since the owner first waited for events

	// Returns of epoll_wait by cause.
	ReturnsEvents  uint64
	ReturnsTimeout uint64
	ReturnsSignal  uint64

	// Wakeups are voluntary context switches during epoll_wait: how often
	// the thread had gone to sleep, and so was woken. Those the kernel put
	// back to sleep without returning are among them.
	Wakeups        uint64
	WakeupsTimeout uint64 // of those, by the timeout

	// Wait is the current wait, or the last. A reader who finds k context
	// switches in /proc now, and the thread asleep inside, knows of
	// k - Wait.SleepsBefore - 1 wakeups that have not returned.
	Wait sys.Wait

	// accept4 by result.
	Accepted    uint64
	AcceptAgain uint64 // EAGAIN, the erroneous accept
	AcceptMfile uint64 // EMFILE and ENFILE
	AcceptOther uint64

	// The accept mutex.
	LockTries    uint64
	LockWins     uint64
	LockHoldNsec uint64

	// epoll_ctl by operation.
	CtlAdds uint64
	CtlDels uint64

	Connections uint64 // in use now, listeners and channel included
	CPUBase     uint64 // CPU time of the slot's former owners, nanoseconds

	Lab [4]uint64 // what a lab counts of its own

	_ [2*line - 26*8]byte
}

// CPUNsec returns the CPU time of the loop thread and of those before it in
// the slot, up to the last wait, in nanoseconds.
func (w *Worker) CPUNsec() uint64 { return w.CPUBase + w.Wait.CPUNsec }

// ZoneSize returns the bytes that a zone for n workers takes.
func ZoneSize(n int) int {
	return int(unsafe.Sizeof(Zone{}) + uintptr(n)*unsafe.Sizeof(Worker{}))
}

// ZoneAt returns the zone in mem and the slots of its workers.
func ZoneAt(mem []byte) (*Zone, []Worker, error) {
	if len(mem) < ZoneSize(0) {
		return nil, nil, fmt.Errorf("shared zone of %d bytes is smaller than its header of %d", len(mem), ZoneSize(0))
	}
	zone := (*Zone)(unsafe.Pointer(unsafe.SliceData(mem)))
	slots := mem[ZoneSize(0):]
	first := (*Worker)(unsafe.Pointer(unsafe.SliceData(slots)))
	return zone, unsafe.Slice(first, len(slots)/int(unsafe.Sizeof(Worker{}))), nil
}
