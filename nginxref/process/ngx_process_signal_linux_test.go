package process

import (
	"bytes"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"herd/nginxref/core"
	"herd/nginxref/event"
	"herd/nginxref/sys"
)

// clock is a kernel that can only tell the time.
type clock struct{ sys.Kernel }

func (clock) Getpid() int                { return os.Getpid() }
func (clock) MonotonicNsec() uint64      { return 1 }
func (clock) Gettimeofday() (int64, int) { return time.Now().Unix(), 0 }

// newProcess returns a process that logs to a buffer.
func newProcess(kernel sys.Kernel) (*Process, *bytes.Buffer) {
	buf := &bytes.Buffer{}
	times := core.NewTimes(kernel)
	log := &core.Log{Level: core.LogInfo, File: core.NewOpenFile("test", buf, times, 1)}
	return New(App{}, event.NewCycle(kernel, log, times), nil), buf
}

// flags returns the names of what p has been asked to do.
func (p *Process) flags() string {
	var set []string
	for _, f := range []struct {
		name string
		on   bool
	}{
		{"reap", p.reap}, {"sigio", p.sigio}, {"sigalrm", p.sigalrm}, {"terminate", p.terminate},
		{"quit", p.quit}, {"debugQuit", p.debugQuit}, {"reconfigure", p.reconfigure},
		{"reopen", p.reopen}, {"changeBinary", p.changeBinary}, {"noaccept", p.noaccept},
	} {
		if f.on {
			set = append(set, f.name)
		}
	}
	return strings.Join(set, " ")
}

// CASES G08. The expectations are ngx_signal_handler's.
func TestWhatEachSignalAsksFor(t *testing.T) {
	const (
		master = event.ProcessMaster
		worker = event.ProcessWorker
	)
	for _, test := range []struct {
		process event.ProcessKind
		signo   syscall.Signal
		daemon  bool
		flags   string
		action  string
	}{
		{master, syscall.SIGHUP, false, "reconfigure", ", reconfiguring"},
		{master, syscall.SIGUSR1, false, "reopen", ", reopening logs"},
		{master, syscall.SIGWINCH, false, "", ""},
		{master, syscall.SIGWINCH, true, "noaccept", ", stop accepting connections"},
		{master, syscall.SIGTERM, false, "terminate", ", exiting"},
		{master, syscall.SIGINT, false, "terminate", ", exiting"},
		{master, syscall.SIGQUIT, false, "quit", ", shutting down"},
		{master, syscall.SIGUSR2, false, "changeBinary", ", changing binary"},
		{master, syscall.SIGALRM, false, "sigalrm", ""},
		{master, syscall.SIGIO, false, "sigio", ""},
		{master, syscall.SIGCHLD, false, "reap", ""},
		{event.ProcessSingle, syscall.SIGQUIT, false, "quit", ", shutting down"},

		{worker, syscall.SIGHUP, false, "", ", ignoring"},
		{worker, syscall.SIGUSR1, false, "reopen", ", reopening logs"},
		{worker, syscall.SIGWINCH, false, "", ""},
		{worker, syscall.SIGWINCH, true, "quit debugQuit", ", shutting down"},
		{worker, syscall.SIGTERM, false, "terminate", ", exiting"},
		{worker, syscall.SIGINT, false, "terminate", ", exiting"},
		{worker, syscall.SIGQUIT, false, "quit", ", shutting down"},
		{worker, syscall.SIGUSR2, false, "", ", ignoring"},
		{worker, syscall.SIGALRM, false, "", ""},
		{worker, syscall.SIGIO, false, "", ", ignoring"},
		{event.ProcessHelper, syscall.SIGQUIT, false, "quit", ", shutting down"},
	} {
		p, log := newProcess(clock{})
		p.Cycle.Process = test.process
		p.Daemonized = test.daemon
		for i := range signals {
			if signals[i].signo == test.signo {
				p.pending[i].Store(true)
			}
		}
		if !p.handlePending() || p.handlePending() {
			t.Errorf("%v is not handled once", test.signo)
		}

		if got := p.flags(); got != test.flags {
			t.Errorf("kind %d, daemon %v: %v asks for %q, want %q",
				test.process, test.daemon, test.signo, got, test.flags)
		}
		line, _, _ := strings.Cut(log.String(), "\n")
		if want := ") received" + test.action; !strings.HasSuffix(line, want) {
			t.Errorf("kind %d: %v logs %q, want it to end in %q", test.process, test.signo, line, want)
		}
	}
}

// CASES D10: never three masters.
func TestSecondChangeOfBinaryIsIgnored(t *testing.T) {
	for _, test := range []struct {
		name string
		set  func(*event.Cycle)
	}{
		{"in the old binary, while the new one runs", func(c *event.Cycle) { c.NewBinary = 1 }},
		{"in the new binary, while the old one runs", func(c *event.Cycle) { c.Parent = os.Getppid() }},
	} {
		p, log := newProcess(clock{})
		p.Cycle.Process = event.ProcessMaster
		test.set(p.Cycle)

		p.signalHandler(&signalEntry{signo: syscall.SIGUSR2, signame: "SIGUSR2"})

		if p.changeBinary || !strings.Contains(log.String(), "[crit]") ||
			!strings.Contains(log.String(), "the changing binary signal is ignored") {
			t.Errorf("%s: changes its binary: %v, logs %s", test.name, p.changeBinary, log)
		}
	}
}

// CASES E15: were the loop woken before the flag is set, it could look too
// early, and the signal would wait for another one. Each signal here is sent
// when the one before has been handled.
func TestEverySignalWakesTheLoop(t *testing.T) {
	const n = 2000
	p, _, _ := channelPair(t)
	p.Cycle.Process = event.ProcessWorker
	p.Cycle.Log.Level = 0
	p.InitSignals()
	p.startSignals(p.notify(p.Cycle))
	defer p.stopSignals()

	handled := make(chan struct{})
	go func() {
		for range n {
			for p.reopen = false; !p.reopen; {
				p.Cycle.ProcessEvents(event.TimerInfinite, 0)
			}
			handled <- struct{}{}
		}
	}()
	for i := range n {
		syscall.Kill(os.Getpid(), syscall.SIGUSR1)
		select {
		case <-handled:
		case <-time.After(patience):
			t.Fatalf("signal %d of %d is not handled", i+1, n)
		}
	}
}
