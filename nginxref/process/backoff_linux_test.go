package process

import (
	"syscall"
	"testing"
	"time"

	"herd/nginxref/core"
	"herd/nginxref/sys"
)

// A worker that crashes when it starts is replaced at once, then after 50,
// 100, 200, 400, 800 and 1000 ms: at the most eight times in three seconds.
// nginx, and this master without its pauses, would do it hundreds of times.
func TestCrashLoopDoesNotEatTheCPU(t *testing.T) {
	s := start(t, conf{Workers: 2, CrashInit: []int{1}})
	other := s.pids(0, 0)[0]
	s.seen(1, `worker process \d+ exited on signal 6`)
	time.Sleep(3 * time.Second)
	n := len(s.lines(`exited on signal 6`))
	if n < 2 || n > 9 {
		t.Errorf("%d crashes in 3 s, want 2 to 9", n)
	}
	if now := s.pids(0, 0)[0]; now != other {
		t.Errorf("the other worker was %d and is %d", other, now)
	}

	s.signal(syscall.SIGTERM)
	s.gone()
}

// A signal to all passes a worker by that waits to be replaced.
func TestQuitDuringThePause(t *testing.T) {
	s := start(t, conf{Workers: 1, CrashInit: []int{0}})
	s.seen(6, `worker process \d+ exited on signal 6`)
	s.signal(syscall.SIGQUIT)
	s.gone()
}

func TestPauses(t *testing.T) {
	kernel := must(sys.New())
	const abort, kill = syscall.WaitStatus(syscall.SIGABRT), syscall.WaitStatus(syscall.SIGKILL)
	for _, c := range []struct {
		name   string
		status syscall.WaitStatus
		lived  core.Msec
		want   []core.Msec
	}{
		{"crashes young", abort, 10, []core.Msec{0, 50, 100, 200, 400, 800, 1000, 1000}},
		{"crashes later", abort, 1000, []core.Msec{0, 0, 0}},
		{"killed", kill, 10, []core.Msec{0, 0, 0}},
		{"exits", 1 << 8, 10, []core.Msec{0, 0, 0}},
	} {
		p, _ := newProcess(kernel)
		e := &Entry{Status: c.status}
		for i, want := range c.want {
			e.started = p.Cycle.Time.CurrentMsec - c.lived
			p.crashed(e)
			if e.pause != want {
				t.Errorf("%s: pause %d before start %d, want %d ms", c.name, e.pause, i+2, want)
			}
		}
	}
}
