package measure

import (
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"herd/nginxref/stat"
)

// zone is what nginxref's workers say of themselves, in shared memory.
type zone struct {
	mem     []byte
	workers []stat.Worker
}

// ready reports whether all n workers of the master wait for connections. It
// maps the zone once the master has made it.
func (z *zone) ready(master, n int) (bool, error) {
	if z.mem == nil && !z.find(master, n) {
		return false, nil
	}
	for i := range z.workers {
		if atomic.LoadUint64(&z.workers[i].Ready) == 0 {
			return false, nil
		}
	}
	return true, nil
}

// find looks for the shared zone among the master's descriptors and maps it;
// it reports whether it was there.
func (z *zone) find(master, n int) bool {
	dir := fmt.Sprintf("/proc/%d/fd/", master)
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		target, _ := os.Readlink(dir + e.Name())
		if strings.HasPrefix(target, "/memfd:"+stat.ZoneName) {
			return z.mapFile(dir+e.Name(), n)
		}
	}
	return false
}

// mapFile maps the zone in the file path; it reports whether it is complete.
func (z *zone) mapFile(path string, n int) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.Size() < int64(stat.ZoneSize(n)) {
		return false
	}
	mem, err := unix.Mmap(int(f.Fd()), 0, int(info.Size()), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return false
	}
	_, workers, err := stat.ZoneAt(mem)
	if err != nil {
		return false
	}
	z.mem, z.workers = mem, workers[:n]
	return true
}

// pids returns the process ids of the workers, by number.
func (z *zone) pids() []int {
	var pids []int
	for i := range z.workers {
		pids = append(pids, int(z.workers[i].Pid))
	}
	return pids
}

// asleep reports whether the loop thread of every worker sleeps in its wait.
func (z *zone) asleep() bool {
	for i := range z.workers {
		w := &z.workers[i]
		if t := loopThread(int(w.Pid)); !t.asleep || atomic.LoadUint64(&w.Wait.Inside) == 0 {
			return false
		}
	}
	return true
}

// samples returns the workers' counters, as soon as each worker sleeps, and
// adds the wakeups of the waits they are in: of those that the kernel put back
// to sleep, the workers themselves learn only when they return.
func (z *zone) samples() ([]Sample, error) {
	samples := make([]Sample, len(z.workers))
	deadline := time.Now().Add(replyTimeout)
	for i := range samples {
		for !z.sample(i, &samples[i]) {
			if time.Now().After(deadline) {
				return nil, fmt.Errorf("worker %d still does not sleep after %v", i, replyTimeout)
			}
			time.Sleep(100 * time.Microsecond)
		}
	}
	return samples, nil
}

// sample takes the counters of worker i and reports whether it slept in its
// wait all the while, or is gone.
func (z *zone) sample(i int, s *Sample) bool {
	w := z.workers[i]
	*s = sampleOf(&w)
	t := loopThread(int(w.Pid))
	if !t.asleep {
		return t == thread{}
	}
	s.Wakeups += t.sleeps - w.Wait.SleepsBefore - 1
	return w.Wait.Inside == 1 && w.Wait == z.workers[i].Wait
}

func (z *zone) close() {
	if z.mem != nil {
		unix.Munmap(z.mem)
	}
}
