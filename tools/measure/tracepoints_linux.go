package measure

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Tracefs is where the kernel describes its tracepoints.
const Tracefs = "/sys/kernel/tracing"

// probe is a tracepoint counted in one thread, if its fields pass the filter.
type probe struct {
	event  string
	filter string
	count  func(*counts) *uint64 // where it belongs
}

// counts are what the kernel has counted in one thread.
type counts struct {
	Sample         // Wakeups: all sleeps
	futex   uint64 // waits on a futex
	noSleep uint64 // of those, the value had changed already
}

// probes are what the kernel is asked to count. Both names of epoll_wait are
// probed: nginx calls the old one, Go the new.
var probes = []probe{
	{"syscalls/sys_exit_epoll_wait", "ret > 0", func(c *counts) *uint64 { return &c.ReturnsEvents }},
	{"syscalls/sys_exit_epoll_pwait", "ret > 0", func(c *counts) *uint64 { return &c.ReturnsEvents }},
	{"syscalls/sys_exit_epoll_wait", "ret == 0", func(c *counts) *uint64 { return &c.ReturnsTimeout }},
	{"syscalls/sys_exit_epoll_pwait", "ret == 0", func(c *counts) *uint64 { return &c.ReturnsTimeout }},
	{"syscalls/sys_exit_accept4", "ret >= 0", func(c *counts) *uint64 { return &c.Accepted }},
	{"syscalls/sys_exit_accept4", "ret == -11", func(c *counts) *uint64 { return &c.Again }},
	// prev_state 1 is interruptible sleep: the thread waits for something.
	{"sched/sched_switch", "prev_state == 1", func(c *counts) *uint64 { return &c.Wakeups }},
	// Among them are the sleeps of Go's scheduler, which waits on futexes, and
	// is not what is measured: FUTEX_WAIT and FUTEX_WAIT_PRIVATE.
	{"syscalls/sys_enter_futex", "op == 0 || op == 128", func(c *counts) *uint64 { return &c.futex }},
	{"syscalls/sys_exit_futex", "ret == -11", func(c *counts) *uint64 { return &c.noSleep }},
}

// Tracepoints counts in the kernel what some threads do: a witness that does
// not depend on what they say of themselves.
type Tracepoints struct {
	fds [][]int // by thread and probe
}

// OpenTracepoints begins to count for the threads with the given ids. The
// error says what is missing and how to mend it.
func OpenTracepoints(tids []int) (*Tracepoints, error) {
	t := &Tracepoints{}
	for _, tid := range tids {
		var fds []int
		for _, p := range probes {
			fd, err := p.open(tid)
			if errors.Is(err, os.ErrNotExist) && strings.Contains(p.event, "epoll_wait") {
				fd, err = -1, nil // arm64 has epoll_pwait only
			}
			if err != nil {
				closeAll(fds)
				t.Close()
				return nil, err
			}
			fds = append(fds, fd)
		}
		t.fds = append(t.fds, fds)
	}
	return t, nil
}

// open begins to count p in the thread tid.
func (p *probe) open(tid int) (int, error) {
	id, err := tracepointID(p.event)
	if err != nil {
		return -1, err
	}
	fd, err := unix.PerfEventOpen(&unix.PerfEventAttr{
		Type:   unix.PERF_TYPE_TRACEPOINT,
		Size:   uint32(unsafe.Sizeof(unix.PerfEventAttr{})),
		Config: id,
	}, tid, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return -1, fmt.Errorf("perf_event_open: %w (tracepoints need root or CAP_PERFMON)", err)
	}
	filter, err := unix.BytePtrFromString(p.filter)
	if err == nil {
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.PERF_EVENT_IOC_SET_FILTER,
			uintptr(unsafe.Pointer(filter)))
		if errno != 0 {
			err = fmt.Errorf("filter %q of %s: %w", p.filter, p.event, errno)
		}
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// tracepointID reads the kernel's number of an event.
func tracepointID(event string) (uint64, error) {
	if _, err := os.ReadDir(Tracefs + "/events"); errors.Is(err, os.ErrNotExist) {
		return 0, fmt.Errorf("no tracepoints in %s: mount -t tracefs tracefs %s", Tracefs, Tracefs)
	} else if err != nil {
		return 0, fmt.Errorf("%w (tracepoints need root)", err)
	}
	text, err := os.ReadFile(Tracefs + "/events/" + event + "/id")
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
}

// Samples returns the counts so far of each thread, in the order they were
// given.
func (t *Tracepoints) Samples() ([]Sample, error) {
	samples := make([]Sample, len(t.fds))
	for i, fds := range t.fds {
		var c counts
		for j, fd := range fds {
			if fd == -1 {
				continue
			}
			var buf [8]byte
			if _, err := unix.Read(fd, buf[:]); err != nil {
				return nil, fmt.Errorf("reading the count of %s: %w", probes[j].event, err)
			}
			*probes[j].count(&c) += binary.NativeEndian.Uint64(buf[:])
		}
		samples[i] = c.Sample
		samples[i].Wakeups -= c.futex - c.noSleep
		samples[i].WakeupsTimeout = c.ReturnsTimeout
	}
	return samples, nil
}

// Close ends the counting.
func (t *Tracepoints) Close() {
	for _, fds := range t.fds {
		closeAll(fds)
	}
}
