package process

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"herd/nginxref/event"
)

// CASES G07.
func TestQuitLetsAnActiveConnectionFinish(t *testing.T) {
	s := start(t, conf{Workers: 2})
	pids := s.pids(0, 1)
	c := s.greeted()

	syscall.Kill(c.pid, syscall.SIGQUIT)
	s.logged(1, by(c.pid)+"gracefully shutting down")
	for range 10 {
		other := s.greeted()
		if other.pid == c.pid {
			t.Error("the worker that is shutting down accepts a connection")
		}
		s.bye(other)
	}
	s.bye(c)

	s.pids(0, 1, c.pid)
	s.logged(1, `worker process `+fmt.Sprint(c.pid)+` exited with code 0`)
	if !slices.Contains(pids, c.pid) {
		t.Errorf("greeted by %d, which is not one of %v", c.pid, pids)
	}
	s.quiet()
}

// CASES G07: what is idle is closed at once, what is active is not.
func TestQuitClosesIdleConnections(t *testing.T) {
	s := start(t, conf{Workers: 1})
	s.pids(0, 0)
	active, idle := s.greeted(), s.greeted()
	s.ask(idle, "idle", "idle")

	s.signal(syscall.SIGQUIT)
	s.closed(idle)
	s.bye(active)
	s.gone()
	s.quiet()
}

// CASES D25: the shutdown timeout spares no connection.
func TestShutdownTimeoutClosesActiveConnections(t *testing.T) {
	s := start(t, conf{Workers: 1, Core: event.CoreConf{ShutdownTimeout: 50}})
	s.pids(0, 0)
	clients := []*client{s.greeted(), s.greeted(), s.greeted()}

	s.signal(syscall.SIGQUIT)
	for _, c := range clients {
		s.closed(c)
	}
	s.gone()
	s.logged(3, `\*\d+ shutdown timeout`)
	s.quiet()
}

// CASES D01: SIGKILL comes when the delay has passed 1000 ms, and only the
// timer doubles it, though the other workers' ends wake the master too. The
// delays are real nginx's; it kills 3.15 s after TERM.
func TestStubbornWorkerIsKilledWhenTheDelayHasDoubledPastASecond(t *testing.T) {
	const n = 8
	s := start(t, conf{Workers: n})
	s.pids(0, n-1)
	c := s.greeted()
	s.ask(c, "hang", "hanging")

	s.signal(syscall.SIGTERM)
	s.gone()

	var steps []string
	for _, line := range s.lines(`signal 14 |termination cycle|kill \(`) {
		step := strings.TrimSpace(line[strings.LastIndex(line, "#"):])
		step = step[strings.Index(step, " ")+1:]
		if last(steps) != step { // a worker's end repeats the delay
			steps = append(steps, step)
		}
	}
	alarm := "signal 14 (SIGALRM) received"
	want := []string{
		"termination cycle: 50", alarm, "termination cycle: 100", alarm, "termination cycle: 200", alarm,
		"termination cycle: 400", alarm, "termination cycle: 800", alarm, "termination cycle: 1600", alarm,
		fmt.Sprintf("kill (%d, 9)", c.pid), "termination cycle: 3200",
	}
	if diff := cmp.Diff(want, steps); diff != "" {
		t.Errorf("steps to the worker's end (-want +got):\n%s", diff)
	}
	s.logged(n-1, `worker process \d+ exited with code 0`)
	s.logged(1, fmt.Sprintf(`worker process %d exited on signal 9`, c.pid))
}

// CASES D17. While the master is in the configuration code every kind of
// signal comes, some of them more than once.
func TestBusyMasterLosesNoSignal(t *testing.T) {
	s := start(t, conf{Workers: 3, Hold: true, Daemonized: true})
	old := s.pids(0, 2)

	s.signal(syscall.SIGHUP)
	s.logged(1, `: reconfiguring$`)
	for range 3 {
		s.signal(syscall.SIGUSR1)
	}
	syscall.Kill(old[1], syscall.SIGKILL)
	s.until("the worker is dead", func() bool { return dead(old[1]) })
	s.signal(syscall.SIGWINCH)
	s.hold.Write([]byte{0})

	s.seen(1, by(s.pid())+`reopening logs$`)
	s.logged(1, fmt.Sprintf(`worker process %d exited on signal 9`, old[1]))
	s.logged(1, `signal 28 \(SIGWINCH\) received, stop accepting connections`)
	s.logged(1, by(old[0])+`gracefully shutting down`)
	s.logged(1, by(old[2])+`gracefully shutting down`)
}

// CASES D03 with real processes: the worker is stopped while both commands
// come.
func TestWorkerObeysCommandsThatCameTogether(t *testing.T) {
	s := start(t, conf{Workers: 1, Daemonized: true})
	pid := s.pids(0, 0)[0]

	syscall.Kill(pid, syscall.SIGSTOP)
	s.until("the worker has stopped", func() bool { return state(pid) == 'T' })
	s.signal(syscall.SIGUSR1)
	s.logged(1, by(s.pid())+`reopening logs$`)
	s.signal(syscall.SIGWINCH)
	s.logged(1, `stop accepting connections`)
	s.idle()
	syscall.Kill(pid, syscall.SIGCONT)

	s.logged(1, by(pid)+`reopening logs$`)
	s.logged(1, by(pid)+`gracefully shutting down`)
	s.logged(1, by(pid)+`channel handler`)
}

// idle waits until the master has done what it was asked for.
func (s *server) idle() {
	s.t.Helper()
	s.until("the master sleeps", s.sleeps)
}

// sleeps reports whether the last that the master has logged is that it goes
// to sleep.
func (s *server) sleeps() bool {
	return strings.HasSuffix(last(s.lines(by(s.pid()))), ": sigsuspend")
}

func last(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return lines[len(lines)-1]
}

// CASES D24, G07: new workers first, then the old are told to quit, and one
// that still has a connection stays for it.
func TestReload(t *testing.T) {
	s := start(t, conf{Workers: 2, Reload: true})
	old := s.pids(0, 1)
	c := s.greeted()

	s.signal(syscall.SIGHUP)
	s.pids(2, 3)
	s.logged(2, `gracefully shutting down`)
	s.logged(1, `worker process \d+ exited with code 0`)
	if got := titleOf(t, c.pid); got != "nginxref: worker process is shutting down" {
		t.Errorf("the worker with the connection is %q", got)
	}
	if log := s.lines(`start worker process \d|gracefully`); len(log) != 6 ||
		!strings.Contains(log[3], "start") || !strings.Contains(log[4], "gracefully") {
		t.Errorf("the new workers are not started before the old are told to quit:\n%s", strings.Join(log, "\n"))
	}
	s.bye(c)
	s.logged(2, `worker process \d+ exited with code 0`)
	for _, pid := range old {
		s.until("the old worker is gone", func() bool { return state(pid) == 0 })
	}
	s.bye(s.greeted())

	// The freed slots are used again.
	s.signal(syscall.SIGHUP)
	s.pids(0, 1, old...)
	s.signal(syscall.SIGTERM)
	s.gone()
	s.quiet()
}

// CASES D24: of all the generations before the last, only the worker with a
// connection stays, and it is told to quit once.
func TestOldWorkersWithoutConnectionsLeaveAtOnce(t *testing.T) {
	s := start(t, conf{Workers: 2, Reload: true})
	s.pids(0, 1)
	c := s.greeted()

	for reload := 1; reload <= 3; reload++ {
		s.signal(syscall.SIGHUP)
		s.logged(2+2*reload, `start worker process \d`)
		s.logged(2*reload, `gracefully shutting down`)
		s.logged(2*reload-1, `worker process \d+ exited with code 0`)
		s.idle()
	}
	s.logged(1, by(c.pid)+`gracefully shutting down`)
	s.bye(c)
	s.logged(6, `worker process \d+ exited with code 0`)
	s.quiet()
}

// A reload that fails keeps everything as it was.
func TestBadConfigurationKeepsTheWorkers(t *testing.T) {
	s := start(t, conf{Workers: 2})
	old := s.pids(0, 1)
	s.signal(syscall.SIGHUP)
	s.logged(1, `: reconfiguring$`)
	s.signal(syscall.SIGUSR1)
	s.logged(3, `: reopening logs$`)
	if now := s.pids(0, 1); !slices.Equal(now, old) {
		t.Errorf("workers %v, were %v", now, old)
	}
	s.logged(2, `start worker process \d`)
}

// CASES D11, the old master's half: WINCH sends the workers away, HUP brings
// them back without a new configuration, and when the new binary ends the pid
// file is this master's again.
func TestChangeOfBinaryAndBack(t *testing.T) {
	s := start(t, conf{Workers: 2, Daemonized: true, Reload: true})
	old := s.pids(0, 1)

	newBinary := s.changeBinary()
	s.signal(syscall.SIGWINCH)
	s.logged(2, `worker process \d+ exited with code 0`)

	s.signal(syscall.SIGHUP)
	now := s.pids(0, 1, old...) // the slots are free: the binary has the third
	s.logged(0, `: reconfiguring$`)
	for range 5 {
		s.bye(s.greeted())
	}

	syscall.Kill(newBinary, syscall.SIGKILL)
	s.pidFileBack()
	s.idle()
	if again := s.pids(0, 1); !slices.Equal(again, now) {
		t.Errorf("workers %v, were %v", again, now)
	}
	s.logged(4, `start worker process \d`)
}

func TestWorkersReturnWhenTheNewBinaryEndsAfterWinch(t *testing.T) {
	s := start(t, conf{Workers: 2, Daemonized: true})
	old := s.pids(0, 1)

	newBinary := s.changeBinary()
	s.signal(syscall.SIGWINCH)
	s.logged(2, `worker process \d+ exited with code 0`)

	syscall.Kill(newBinary, syscall.SIGKILL)
	s.pids(0, 1, old...)
	s.pidFileBack()
	s.bye(s.greeted())
}

// changeBinary sends USR2 and returns the new process, which owns the pid
// file's place. It is born with all that nginx handles blocked, and leaves it
// so: only KILL ends it.
func (s *server) changeBinary() (pid int) {
	s.t.Helper()
	s.signal(syscall.SIGUSR2)
	s.logged(1, `start new binary process \d+`)
	fmt.Sscan(strings.SplitAfter(s.lines(`start new binary process`)[0], "process ")[1], &pid)
	if _, err := os.Stat(s.conf.Pid + ".oldbin"); err != nil {
		s.t.Error(err)
	}
	if err := os.WriteFile(s.conf.Pid, []byte("new binary"), 0o644); err != nil {
		s.t.Fatal(err)
	}
	return pid
}

// pidFileBack waits until the pid file is the old master's.
func (s *server) pidFileBack() {
	s.t.Helper()
	s.until("the pid file is the old master's", func() bool {
		text, _ := os.ReadFile(s.conf.Pid)
		return string(text) == "this master"
	})
	if _, err := os.Stat(s.conf.Pid + ".oldbin"); !os.IsNotExist(err) {
		s.t.Errorf("the old pid file is still there: %v", err)
	}
}

func TestSingleProcess(t *testing.T) {
	s := start(t, conf{Workers: 1, Single: true})
	if c := s.greeted(); c.pid != s.pid() {
		t.Errorf("greeted by %d, not by %d", c.pid, s.pid())
	}
	s.signal(syscall.SIGUSR1)
	s.logged(1, `: reopening logs$`)
	s.signal(syscall.SIGHUP)
	s.logged(1, `: reconfiguring$`)
	s.bye(s.greeted())
	s.signal(syscall.SIGQUIT)
	s.gone()
	s.quiet()
}
