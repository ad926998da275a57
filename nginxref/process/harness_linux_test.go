package process

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"net/netip"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"herd/nginxref/core"
	"herd/nginxref/event"
	"herd/nginxref/sys"
)

// The master of these tests is the test binary started again with masterEnv
// set to its configuration, the listening socket on descriptor 3 and a pipe on
// 4; its workers are the test binary once more. A worker greets a connection
// with its process id and worker number on one line, then obeys:
//
//	bye    answer "bye" and close
//	idle   answer "idle"; it may now be closed when the worker is told to quit
//	later  the same, but what closes it is an event that is posted then
//	shout  answer "full" when its channel to the master is
//	stuff  answer "full" when its channels to the other workers are
//	chat   answer "chatting" and send to all of them, again and again
//	hang   answer "hanging" and never come back to the loop
//	crash  panic
const (
	masterEnv = "PROCESS_TEST_MASTER"
	listenFd  = 3
	holdFd    = 4
)

// patience bounds the wait for what must happen; reaching it is a failure.
const patience = 30 * time.Second

// conf is the configuration of the test server.
type conf struct {
	Workers     int
	AcceptMutex bool
	LockFile    string
	Log         string // path
	Pid         string // of the pid file; beside it is .oldbin
	Orphans     bool   // workers outlive their master
	Daemonized  bool   // as if whoever started the master were gone
	Single      bool   // no master
	Core        event.CoreConf

	FailInit    []int  // numbers of workers that cannot start
	CrashInit   []int  // numbers of workers that crash when they start
	SlowInit    int    // ms that workers take to start
	Backlog     int    // 0: the system's
	Level       uint   // of the log; 0: all
	DieOnAccept string // whoever accepts while this file exists removes it and dies
	Reload      bool   // HUP makes a new cycle; otherwise the configuration is bad
	Hold        bool   // HUP waits for a byte from the pipe

	program string // another file than the test binary's
}

func TestMain(m *testing.M) {
	Main(testApp)
	if text := os.Getenv(masterEnv); text != "" {
		masterMain([]byte(text))
		return
	}

	// The workers of a killed master become this process's children.
	unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	code := m.Run()
	if pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil); err != unix.ECHILD {
		fmt.Fprintln(os.Stderr, "a test left a process behind:", pid, err)
		code = 1
	}
	os.Exit(code)
}

// must is for the steps that set a test up.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

var testApp = App{Configure: configure, Procs: map[string]Proc{
	newborn: beNewborn,
	WorkerProcess: func(p *Process, cycle *event.Cycle, data int) {
		self = p
		p.WorkerProcessCycle(cycle, data)
	},
}}

// self is the worker that this process is.
var self *Process

func configure(cycle *event.Cycle, text []byte) error {
	var conf conf

	if err := json.Unmarshal(text, &conf); err != nil {
		return err
	}
	cycle.Conf = conf.Core
	cycle.Conf.Master = !conf.Single
	cycle.Conf.WorkerProcesses = conf.Workers
	cycle.Conf.Pid = conf.Pid
	cycle.Conf.Oldpid = conf.Pid + ".oldbin"
	cycle.ConnectionN = 256
	cycle.Event = event.EventConf{
		Connections:      256,
		AcceptMutex:      conf.AcceptMutex,
		AcceptMutexDelay: 500,
		EpollEvents:      64,
		ExclusiveAccept:  true,
		LockFile:         conf.LockFile,
	}
	cycle.Listening = []*event.Listening{{
		Fd:       -1,
		Sockaddr: sys.TCPSockaddr(netip.MustParseAddrPort("127.0.0.1:1")),
		AddrText: "the test's socket",
		Log:      *cycle.Log,
		Handler:  func(c *event.Connection) { greet(c, &conf) },
	}}
	cycle.Modules = append(cycle.Modules, event.Module{
		Name: "test",
		InitProcess: func(cycle *event.Cycle) core.Status {
			if slices.Contains(conf.CrashInit, cycle.Worker) {
				panic("told to crash")
			}
			if slices.Contains(conf.FailInit, cycle.Worker) {
				cycle.Log.Error(core.LogEmerg, 0, "told to fail")
				return core.Error
			}
			if conf.SlowInit != 0 {
				time.Sleep(time.Duration(conf.SlowInit) * time.Millisecond)
				cycle.Log.Error(core.LogNotice, 0, "started slowly")
			}
			return core.OK
		},
	})
	return nil
}

// greet is the accept handler: it runs while the accept mutex is held.
func greet(c *event.Connection, conf *conf) {
	if conf.DieOnAccept != "" && os.Remove(conf.DieOnAccept) == nil {
		unix.Kill(os.Getpid(), unix.SIGKILL)
	}
	c.Send(fmt.Appendf(nil, "%d %d\n", os.Getpid(), c.Cycle.Worker))
	c.Read.Handler = readCommand
	c.Cycle.AddTimer(c.Read, core.Msec(2*patience.Milliseconds())) // it keeps an exiting worker
	if c.Cycle.HandleReadEvent(c.Read) != core.OK {
		c.Cycle.CloseConnection(c)
	}
}

func readCommand(ev *event.Event) {
	var buf [16]byte

	c := ev.Data
	if c.Close {
		c.Cycle.CloseConnection(c)
		return
	}
	n := c.Recv(buf[:])
	if n == int(core.Again) {
		c.Cycle.HandleReadEvent(ev)
		return
	}
	switch string(buf[:max(n, 0)]) {
	case "bye\n":
		c.Send([]byte("bye\n"))
	case "idle\n":
		c.Send([]byte("idle\n"))
		c.Idle = true
		c.Cycle.HandleReadEvent(ev)
		return
	case "later\n":
		closeLater(c)
		return
	case "shout\n", "stuff\n", "chat\n":
		talk(c, string(buf[:n]))
		c.Cycle.HandleReadEvent(ev)
		return
	case "hang\n":
		c.Send([]byte("hanging\n"))
		for {
			time.Sleep(time.Hour)
		}
	case "crash\n":
		panic("told to crash")
	}
	c.Cycle.CloseConnection(c)
}

// masterMain is main of the master.
func masterMain(text []byte) {
	var conf conf

	if err := json.Unmarshal(text, &conf); err != nil {
		panic(err)
	}
	os.Unsetenv(masterEnv)
	kernel := must(sys.New())
	times := core.NewTimes(kernel)
	w := must(os.OpenFile(conf.Log, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644))
	log := &core.Log{Level: cmp.Or(conf.Level, core.LogDebugAll), File: core.NewOpenFile(conf.Log, w, times, os.Getpid())}
	unix.SetNonblock(listenFd, true)
	// Also what this test was started with: it would count in the workers.
	unix.CloseRange(listenFd, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)

	cycle := newTestCycle(kernel, log, times, text)
	cycle.Process = event.ProcessMaster
	if !conf.Daemonized {
		cycle.Parent = os.Getppid()
	}
	for _, module := range cycle.Modules {
		if module.InitModule != nil && module.InitModule(cycle) != core.OK {
			os.Exit(1)
		}
	}

	p := New(testApp, cycle, text)
	p.Daemonized = conf.Daemonized
	if !conf.Orphans {
		p.Pdeathsig = syscall.SIGKILL
	}
	p.InitCycle = func(old *event.Cycle) *event.Cycle {
		if conf.Hold {
			must(unix.Read(holdFd, make([]byte, 1)))
		}
		if !conf.Reload {
			return nil
		}
		cycle := newTestCycle(kernel, log, times, text)
		cycle.Shm, cycle.Zone = old.Shm, old.Zone
		cycle.AcceptMutex, cycle.LockFile = old.AcceptMutex, old.LockFile
		return cycle
	}
	p.ExecNewBinary = func(cycle *event.Cycle) int {
		os.Rename(conf.Pid, conf.Pid+".oldbin")
		return p.Execute(cycle, &ExecCtx{
			Path:  "/bin/cat",
			Name:  "new binary process",
			Argv:  []string{"cat", "/dev/fd/3"},
			Files: []uintptr{holdFd}, // it ends when the test does
		})
	}
	p.DeletePidfile = func(*event.Cycle) { os.Remove(conf.Pid) }
	p.InitSignals()
	if conf.Single {
		cycle.Process = event.ProcessSingle
		p.SingleProcessCycle(cycle)
	} else {
		p.MasterProcessCycle(cycle)
	}
}

func newTestCycle(kernel sys.Kernel, log *core.Log, times *core.Times, text []byte) *event.Cycle {
	cycle := event.NewCycle(kernel, log, times)
	if err := configure(cycle, text); err != nil {
		panic(err)
	}
	cycle.Listening[0].Fd = listenFd
	return cycle
}
