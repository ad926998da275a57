package measure

import (
	"fmt"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"herd/nginxref/core"
	"herd/nginxref/event"
	"herd/nginxref/process"
	"herd/nginxref/sys"
	"herd/tools/fdpass"
)

// masterEnv holds the Conf of a process that is to be a subject's master.
const masterEnv = "HERD_MASTER"

// The descriptors that a master finds open.
const (
	masterLogFd    = 3
	masterListenFd = 4 // and those after it
)

// Main must be called first in main: in the master and the workers of a
// subject, which are the same program started again, it does not return.
func Main() {
	app := process.App{Configure: configure}
	process.Main(app)
	if raw, ok := os.LookupEnv(masterEnv); ok {
		os.Unsetenv(masterEnv)
		runMaster(app, []byte(raw))
	}
}

// A master that accepts is counted as workers are, by its main thread, which
// only init can reserve.
func init() {
	if _, ok := os.LookupEnv(masterEnv); ok {
		runtime.LockOSThread()
	}
}

// runMaster is the life of a subject's master.
func runMaster(app process.App, raw []byte) {
	kernel, err := sys.New()
	if err != nil {
		fmt.Fprintln(os.Stderr, "herd:", err)
		os.Exit(1)
	}
	times := core.NewTimes(kernel)
	file := core.NewOpenFile("", os.NewFile(masterLogFd, "log"), times, kernel.Getpid())
	log := &core.Log{Level: core.LogWarn, File: file}
	unix.CloseOnExec(masterLogFd)

	cycle := event.NewCycle(kernel, log, times)
	cycle.Process = event.ProcessMaster
	if err := app.Configure(cycle, raw); err != nil {
		log.Error(core.LogEmerg, 0, "%s", err.Error())
		os.Exit(1)
	}
	_, fix, err := parseConf(raw)
	if err != nil {
		log.Error(core.LogEmerg, 0, "%s", err.Error())
		os.Exit(1)
	}
	var d *fdpass.Dispatcher
	if fix.Dispatch != nil {
		d = openChannels(cycle)
	} else {
		for i, ls := range cycle.Listening {
			ls.Fd = masterListenFd + i
			unix.CloseOnExec(ls.Fd)
		}
	}
	for _, m := range cycle.Modules {
		if m.InitModule != nil && m.InitModule(cycle) == core.Error {
			os.Exit(1)
		}
	}

	p := process.New(app, cycle, raw)
	p.Name = "herd"
	p.Pdeathsig = syscall.SIGKILL // blocked in accept, a worker hears nothing else
	p.InitSignals()
	if d == nil {
		p.MasterProcessCycle(cycle)
		os.Exit(0)
	}
	go func() {
		p.MasterProcessCycle(cycle)
		os.Exit(0)
	}()
	dispatchForever(cycle, d, fix.Dispatch)
}
