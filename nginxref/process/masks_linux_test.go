package process

import (
	"fmt"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"herd/nginxref/core"
	"herd/nginxref/event"
)

// count returns how many of lines contain text.
func count(lines []string, text string) (n int) {
	for _, line := range lines {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

// A signal interrupts one wait of nginx's, with one line about it. Were
// the loop's thread to take it, the wait would end once more when the signal
// has gone its way through Go.
func TestSignalCostsOneTurn(t *testing.T) {
	const n = 50
	for _, single := range []bool{false, true} {
		t.Run(fmt.Sprintf("single %v", single), func(t *testing.T) {
			s := start(t, conf{Workers: 1, Single: single})
			pid, sig, received := s.pid(), syscall.SIGUSR1, "signal 10 (SIGUSR1) received, reopening logs"
			if !single {
				pid, sig, received = s.pids(0, 0)[0], syscall.SIGHUP, "signal 1 (SIGHUP) received, ignoring"
			}
			s.seen(1, by(pid)+"epoll timer: ")

			before := count(s.lines(by(pid)), "worker cycle")
			for i := range n {
				syscall.Kill(pid, sig)
				s.seen(i+1, regexp.QuoteMeta(received))
			}
			s.seen(before+n, by(pid)+"epoll timer: ")

			lines := s.lines(by(pid))
			turns := count(lines, "worker cycle") - before
			interrupted := count(lines, "[info] "+strconv.Itoa(pid)+"#"+strconv.Itoa(pid)+": epoll_wait() failed (4: ")
			if turns < n || turns > n+2 || interrupted < n || interrupted > n+2 {
				t.Errorf("%d signals cost %d turns, %d of them interrupted; want one each", n, turns, interrupted)
			}
			i := slices.IndexFunc(lines, func(line string) bool { return strings.Contains(line, received) })
			if !strings.Contains(lines[i+1], "epoll_wait() failed (4: Interrupted system call)") {
				t.Errorf("behind the first signal: %s", lines[i+1])
			}
		})
	}
}

// The same for timer_resolution, whose ticks nginx does not call a failure.
func TestTickOfTimerResolutionCostsOneTurn(t *testing.T) {
	const n = 100
	c := conf{Workers: 1}
	c.Core.TimerResolution = 10
	s := start(t, c)
	pid := s.pids(0, 0)[0]
	s.seen(n, by(pid)+"timer signal")

	lines := s.lines(by(pid))
	ticks, turns := count(lines, "timer signal"), count(lines, "worker cycle")
	if turns < ticks || turns > ticks+3 {
		t.Errorf("%d ticks cost %d turns, want one each", ticks, turns)
	}
	if failed := count(lines, "epoll_wait() failed"); failed != 0 {
		t.Errorf("%d ticks are logged as a failure", failed)
	}
}

// mask returns the signals that a process has blocked, by its main thread.
func mask(t *testing.T, pid int) (list []syscall.Signal) {
	t.Helper()
	text := must(os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)))
	_, rest, _ := strings.Cut(string(text), "SigBlk:\t")
	bits := must(strconv.ParseUint(rest[:16], 16, 64))
	for i := range 64 {
		if bits>>i&1 == 1 {
			list = append(list, syscall.Signal(i+1))
		}
	}
	return list
}

// What the master starts is born with its mask, as by nginx: the new binary
// would otherwise die of what it cannot handle yet.
func TestNewBinaryIsBornWithTheMastersMask(t *testing.T) {
	s := start(t, conf{Workers: 1, Daemonized: true})
	s.pids(0, 0)
	pid := s.changeBinary()

	want := []syscall.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2,
		syscall.SIGALRM, syscall.SIGTERM, syscall.SIGCHLD, syscall.SIGWINCH, syscall.SIGIO}
	if got := mask(t, pid); !slices.Equal(got, want) {
		t.Errorf("it has %v blocked, want %v", got, want)
	}
}

// newborn is a process that waits for its first signal. USR1 makes it exit with
// the code newbornReopens.
const (
	newborn        = "newborn process"
	newbornReopens = 7
)

func beNewborn(p *Process, cycle *event.Cycle, data int) {
	time.AfterFunc(patience, func() { os.Exit(1) })
	p.startSignals(p.wake)
	p.sigsuspend()
	if p.reopen {
		os.Exit(newbornReopens)
	}
}

// nginx's worker has handlers from the moment it is forked. Here it is a new
// program, for about a millisecond without any: USR1, which reopens the logs,
// would end it.
func TestSignalToANewbornIsNotLost(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	restore, err := blockSignals() // as the master does
	if err != nil {
		t.Fatal(err)
	}
	defer restore()

	for range 20 {
		p, _ := newProcess(clock{})
		p.Cycle.Log.Level = core.LogWarn
		p.Conf = []byte("{}")
		pid, err := p.reexec(p.Cycle, 0, newborn)
		if err != nil {
			t.Fatal(err)
		}
		syscall.Kill(pid, syscall.SIGUSR1)

		var status unix.WaitStatus
		must(unix.Wait4(pid, &status, 0, nil))
		if status.ExitStatus() != newbornReopens {
			t.Fatalf("the newborn process ended with status %#x, want exit code %d", status, newbornReopens)
		}
	}
}
