package sys_test

import (
	"os"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"herd/nginxref/sys"
)

// Workers compare times with each other, so the clock must be the kernel's
// and not start at zero in every process.
func TestMonotonicNsecIsTheKernelsMonotonicClock(t *testing.T) {
	k := kernel(t)
	clock := func() uint64 {
		var ts unix.Timespec
		unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts)
		return uint64(ts.Nano())
	}
	// processStart and its reading are two calls: allow for what a busy
	// machine puts between them.
	const apart = uint64(time.Second)
	before, now, after := clock(), k.MonotonicNsec(), clock()
	if now+apart < before || now > after+apart {
		t.Errorf("%d, want between %d and %d", now, before, after)
	}
	for last := now; last < now+1e6; {
		next := k.MonotonicNsec()
		if next < last {
			t.Fatalf("%d after %d", next, last)
		}
		last = next
	}
}

func TestGettimeofdayIsTheWallClock(t *testing.T) {
	k := kernel(t)
	before := time.Now().UnixMilli()
	sec, msec := k.Gettimeofday()
	after := time.Now().UnixMilli()
	if now := sec*1000 + int64(msec); now < before || now > after || msec > 999 {
		t.Errorf("%d s %d ms, want between %d and %d ms", sec, msec, before, after)
	}
}

// A wait with a timeout of 0 never sleeps; one that times out slept once. That
// is exact: the readings leave Go's scheduler out.
func TestCountedWaitCountsSleepsAndCPU(t *testing.T) {
	const waits = 100

	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	k := kernel(t)
	ep := epoll(t, k)
	list := make([]sys.EpollEvent, 1)
	sleeps := func(msec int) (n uint64) {
		for range waits {
			var w sys.Wait
			if _, err := k.EpollWaitCounted(ep, list, msec, &w); err == sys.EINTR {
				continue // and slept or not
			}
			n += w.SleepsAfter - w.SleepsBefore
		}
		return n
	}

	if got := sleeps(0); got != 0 {
		t.Errorf("%d waits that do not sleep: %d sleeps", waits, got)
	}
	if got := sleeps(1); got > waits || got < waits*9/10 {
		t.Errorf("%d waits of 1 ms: %d sleeps", waits, got)
	}

	var w sys.Wait
	k.EpollWaitCounted(ep, list, 0, &w)
	// Reading the clock for 20 ms of CPU time must show.
	cpu := w.CPUNsec
	for start := time.Now(); w.CPUNsec < cpu+20e6; k.EpollWaitCounted(ep, list, 0, &w) {
		if time.Since(start) > patience*time.Millisecond {
			t.Fatal("the thread's CPU time stands still")
		}
	}
}

func TestGetpidIsThisProcess(t *testing.T) {
	if got := kernel(t).Getpid(); got != os.Getpid() {
		t.Errorf("%d, want %d", got, os.Getpid())
	}
}
