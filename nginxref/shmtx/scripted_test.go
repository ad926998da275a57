package shmtx

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"herd/nginxref/core"
	"herd/nginxref/sys"
)

// scripted is the kernel of one process among several that share a mutex, all
// on one thread. It notes each call, and before a chosen one it runs what
// another process does at that very moment.
type scripted struct {
	sys.Kernel // nil: no other call is expected

	t      *testing.T
	shared *Shared
	pid    int
	calls  []string
	hooks  map[string]func() // key: call and how many of it came before
	errnos []sys.Errno       // results of the next FutexWaits or FcntlLocks
}

// before makes do happen before the nth (from 1) such call.
func (k *scripted) before(call string, nth int, do func()) {
	k.hooks[fmt.Sprint(call, nth)] = do
}

func (k *scripted) count(call string) (n int) {
	for _, c := range k.calls {
		if c == call {
			n++
		}
	}
	return n
}

func (k *scripted) called(call string) {
	k.calls = append(k.calls, call)
	if do := k.hooks[fmt.Sprint(call, k.count(call))]; do != nil {
		do()
	}
}

// nextErrno takes the next scripted result, 0 when there is none.
func (k *scripted) nextErrno() (err sys.Errno) {
	if len(k.errnos) > 0 {
		err, k.errnos = k.errnos[0], k.errnos[1:]
	}
	return err
}

func (k *scripted) word(w *sys.Atomic) string {
	if w == &k.shared.Lock {
		return "lock"
	}
	return "wait"
}

func (k *scripted) AtomicLoad(w *sys.Atomic) uint64 {
	k.called("load " + k.word(w))
	return w.Load()
}

func (k *scripted) AtomicCmpSet(w *sys.Atomic, old, set uint64) bool {
	k.called("cmpset " + k.word(w))
	return w.CompareAndSwap(old, set)
}

func (k *scripted) AtomicFetchAdd(w *sys.Atomic, delta int64) uint64 {
	k.called(fmt.Sprintf("add %s %d", k.word(w), delta))
	return w.Add(uint64(delta)) - uint64(delta)
}

func (k *scripted) FutexLoad(w *sys.Futex) uint32 {
	k.called("load sem")
	return w.Load()
}

func (k *scripted) FutexCmpSet(w *sys.Futex, old, set uint32) bool {
	k.called("cmpset sem")
	return w.CompareAndSwap(old, set)
}

func (k *scripted) FutexWait(w *sys.Futex, value uint32) sys.Errno {
	k.called("futex wait")
	if w.Load() != value {
		return sys.EAGAIN
	}
	err := k.nextErrno()
	if err == 0 {
		k.t.Fatalf("process %d sleeps for ever; its calls: %q", k.pid, k.calls)
	}
	return err
}

func (k *scripted) FutexWake(w *sys.Futex, n int) (int, sys.Errno) {
	k.called("futex wake")
	return n, 0
}

func (k *scripted) FcntlLock(fd int, lock, wait bool) sys.Errno { return k.nextErrno() }

func (k *scripted) Getpid() int                { return k.pid }
func (k *scripted) CPUPause()                  { k.called("pause") }
func (k *scripted) SchedYield()                { k.called("yield") }
func (k *scripted) MonotonicNsec() uint64      { return 0 }
func (k *scripted) Gettimeofday() (int64, int) { return 0, 0 }

func newLog(kernel sys.Kernel, w io.Writer, level uint) *core.Log {
	file := core.NewOpenFile("test", w, core.NewTimes(kernel), kernel.Getpid())
	return &core.Log{Level: level, File: file}
}

// process is one process's handle on a mutex, with its kernel and its log.
type process struct {
	Atomic
	k   *scripted
	log bytes.Buffer
}

// processes returns handles on shared of processes 1, 2, ... n, on a machine
// with one processor.
func processes(t *testing.T, shared *Shared, n int) []*process {
	all := make([]*process, n)
	for i := range all {
		k := &scripted{t: t, shared: shared, pid: i + 1, hooks: map[string]func(){}}
		p := &process{k: k}
		p.Atomic = Atomic{Kernel: k, Log: newLog(k, &p.log, core.LogDebugCore|core.LogErr), Ncpu: 1}
		p.Create(shared)
		all[i] = p
	}
	return all
}

// messages returns the log's lines without time, level and pid.
func (p *process) messages() []string {
	var all []string
	for line := range strings.Lines(p.log.String()) {
		_, message, _ := strings.Cut(line, ": ")
		all = append(all, strings.TrimSuffix(message, "\n"))
	}
	return all
}

func wantShared(t *testing.T, s *Shared, lock uint64, wait int64, sem uint32) {
	t.Helper()
	if l, w, v := s.Lock.Load(), int64(s.Wait.Load()), s.Sem.Value.Load(); l != lock || w != wait || v != sem {
		t.Errorf("lock %d, wait %d, semaphore %d; want %d, %d, %d", l, w, v, lock, wait, sem)
	}
}

func wantEqual(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n got %q\nwant %q", what, got, want)
	}
}
