package measure

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Recorder has the kernel write down, with the time, when some threads sleep
// and run and what their waits and accepts return. Each thread has a buffer.
type Recorder struct {
	begun uint64 // CLOCK_MONOTONIC, nanoseconds
	calls map[uint16]call
	fds   []int
	rings [][]byte // by thread
}

// call is a tracepoint of a system call: what it tells, and where in the
// record its value stands.
type call struct {
	event  string
	what   happening
	offset int
}

// The fields of a system call's tracepoint: common ones and the number, then
// the arguments or the result, 8 bytes each.
const (
	resultOffset  = 16
	timeoutOffset = 16 + 3*8
)

var calls = []call{
	{"syscalls/sys_enter_epoll_wait", entersWait, timeoutOffset},
	{"syscalls/sys_enter_epoll_pwait", entersWait, timeoutOffset},
	{"syscalls/sys_exit_epoll_wait", leavesWait, resultOffset},
	{"syscalls/sys_exit_epoll_pwait", leavesWait, resultOffset},
	{"syscalls/sys_enter_accept4", entersAccept, resultOffset},
	{"syscalls/sys_exit_accept4", leavesAccept, resultOffset},
}

// ringSize is the buffer of a thread in bytes, a power of two pages: some
// thousand turns of the loop.
const ringSize = 1 << 20

// Record begins to record the threads with the given ids. The error says what
// is missing and how to mend it.
func Record(tids []int) (*Recorder, error) {
	r := &Recorder{calls: map[uint16]call{}}
	for _, c := range calls {
		id, err := tracepointID(c.event)
		if errors.Is(err, os.ErrNotExist) {
			continue // arm64 has epoll_pwait only
		}
		if err != nil {
			return nil, err
		}
		r.calls[uint16(id)] = c
	}
	if len(r.calls) == 0 {
		return nil, errors.New("the kernel has no tracepoints of system calls (CONFIG_FTRACE_SYSCALLS)")
	}
	var now unix.Timespec
	unix.ClockGettime(unix.CLOCK_MONOTONIC, &now)
	r.begun = uint64(now.Nano())
	for _, tid := range tids {
		if err := r.thread(tid); err != nil {
			r.Close()
			return nil, err
		}
	}
	return r, nil
}

// thread begins to record one thread.
func (r *Recorder) thread(tid int) error {
	switches, err := r.open(tid, unix.PerfEventAttr{
		Type:   unix.PERF_TYPE_SOFTWARE,
		Config: unix.PERF_COUNT_SW_DUMMY,
		Bits:   unix.PerfBitContextSwitch,
	})
	if err != nil {
		return err
	}
	page := os.Getpagesize()
	// Writable, so that the kernel stops at the end instead of writing over
	// the beginning.
	ring, err := unix.Mmap(switches, 0, page+ringSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return fmt.Errorf("a buffer of %d kB for the kernel's records: %w", ringSize>>10, err)
	}
	r.rings = append(r.rings, ring)
	for id := range r.calls {
		fd, err := r.open(tid, unix.PerfEventAttr{Type: unix.PERF_TYPE_TRACEPOINT, Config: uint64(id), Sample: 1})
		if err != nil {
			return err
		}
		if err := unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_SET_OUTPUT, switches); err != nil {
			return fmt.Errorf("PERF_EVENT_IOC_SET_OUTPUT: %w", err)
		}
	}
	return nil
}

// open opens one event of a thread, whose records begin with the time.
func (r *Recorder) open(tid int, attr unix.PerfEventAttr) (int, error) {
	attr.Size = uint32(unsafe.Sizeof(attr))
	attr.Sample_type = unix.PERF_SAMPLE_TIME | unix.PERF_SAMPLE_RAW
	attr.Bits |= unix.PerfBitSampleIDAll | unix.PerfBitUseClockID
	attr.Clockid = unix.CLOCK_MONOTONIC
	fd, err := unix.PerfEventOpen(&attr, tid, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return -1, fmt.Errorf("perf_event_open: %w (tracepoints need root or CAP_PERFMON)", err)
	}
	r.fds = append(r.fds, fd)
	return fd, nil
}

// dataHead is where a buffer's first page says how much is written.
const dataHead = unsafe.Offsetof(unix.PerfEventMmapPage{}.Data_head)

// moments returns what thread i did, in order. If its buffer was full before
// the end, full is the time of the last record, else -1.
func (r *Recorder) moments(i int) (moments []moment, full int64) {
	ring := r.rings[i]
	head := atomic.LoadUint64((*uint64)(unsafe.Pointer(&ring[dataHead])))
	data := ring[os.Getpagesize():][:head]
	last := int64(0)
	for len(data) >= recordHeader {
		rec := data[:binary.NativeEndian.Uint16(data[6:])]
		data = data[len(rec):]
		m, ok, lost := r.moment(rec)
		if lost {
			return moments, last
		}
		if ok {
			last = m.at
			moments = append(moments, m)
		}
	}
	if ringSize-head < largestRecord {
		return moments, last
	}
	return moments, -1
}

// Records begin with their type (4 bytes), flags (2) and size (2).
const (
	recordHeader  = 8
	largestRecord = 128

	recordLost   = 2  // PERF_RECORD_LOST
	recordSample = 9  // PERF_RECORD_SAMPLE: time, length of the rest, the rest
	recordSwitch = 14 // PERF_RECORD_SWITCH: time

	switchOut        = 1 << 13 // PERF_RECORD_MISC_SWITCH_OUT
	switchOutPreempt = 1 << 14 // ..., although it could run on
)

// moment reads one record of the kernel's.
func (r *Recorder) moment(rec []byte) (m moment, ok, lost bool) {
	u64 := func(b []byte, offset int) uint64 { return binary.NativeEndian.Uint64(b[offset:]) }
	flags := binary.NativeEndian.Uint16(rec[4:])
	switch binary.NativeEndian.Uint32(rec) {
	case recordLost:
		return m, false, true
	case recordSwitch:
		m.what = ran
		if flags&switchOut != 0 {
			m.what = slept
		}
		ok = flags&switchOutPreempt == 0
	case recordSample:
		raw := rec[recordHeader+8+4:]
		c := r.calls[binary.NativeEndian.Uint16(raw)]
		m.what = c.what
		m.value = int64(u64(raw, c.offset))
		if c.offset == timeoutOffset {
			m.value = int64(int32(m.value)) // an int
		}
		ok = true
	default:
		return m, false, false
	}
	m.at = int64(u64(rec, recordHeader) - r.begun)
	return m, ok, false
}

// Close ends the recording.
func (r *Recorder) Close() {
	for _, ring := range r.rings {
		unix.Munmap(ring)
	}
	closeAll(r.fds)
}
