//go:build linux

// Command nginxref is a web server that is driven as nginx is: with an
// nginx.conf, nginx's options and nginx's signals. Its event core is nginx's,
// statement by statement. Run it with -h for the options.
package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"herd/nginxref/conf"
	"herd/nginxref/core"
	"herd/nginxref/event"
	"herd/nginxref/http"
	"herd/nginxref/process"
	"herd/nginxref/sys"
)

// programName stands where nginx has "nginx: " in messages, and before the
// colon in ps.
const programName = http.Name

// Where things are unless an option or a directive says otherwise; relative
// names are below the prefix, which is the current directory.
const (
	confPath      = "nginx.conf"
	errorLogPath  = "error.log"
	accessLogPath = "access.log"
	pidPath       = "nginx.pid"
	lockPath      = "nginx.lock"
)

// program is the state of the process: the globals of nginx.c, and of
// ngx_cycle.c those that are not one cycle's.
type program struct {
	options

	argv       []string // the command line
	environ    []string // the environment, before any of it was taken away
	executable string   // path of the program, for an upgrade
	ncpu       int      // processors
	inherited  bool     // sockets came from the binary before an upgrade

	kernel  sys.Kernel
	times   *core.Times
	log     *core.Log // built in, until the configured one is open; in a worker, inherited
	console *console
	stdout  io.Writer

	process *process.Process
	current *cycle // at work (ngx_cycle)
}

func main() {
	n := newProgram()
	process.Main(n.app())
	os.Exit(n.main())
}

// newProgram returns the state at the start of the process. The arguments are
// copied because their memory becomes the title in ps.
func newProgram() *program {
	n := &program{environ: os.Environ(), ncpu: runtime.NumCPU(), stdout: os.Stdout}
	for _, arg := range os.Args {
		n.argv = append(n.argv, strings.Clone(arg))
	}
	return n
}

// main returns the exit code of the process. Mirrors main of nginx.c.
func (n *program) main() int {
	if n.getOptions(n.argv) != core.OK {
		return 1
	}

	if n.showVersion {
		n.showVersionInfo()

		if !n.testConfig {
			return 0
		}
	}

	if n.init() != core.OK {
		return 1
	}

	n.logInit()

	initCycle := n.initialCycle()

	if n.processOptions(initCycle) != core.OK {
		return 1
	}

	if n.addInheritedSockets(initCycle) != core.OK {
		return 1
	}

	if n.wantsDaemon(initCycle) {
		return n.daemon()
	}

	cycle := n.initCycle(initCycle)
	if cycle == nil {
		if n.testConfig {
			n.logStderr("configuration file %s test failed", initCycle.confFile)
		}

		return 1
	}

	if n.testConfig {
		if !n.quietMode {
			n.logStderr("configuration file %s test is successful", cycle.confFile)
		}

		if n.dumpConfig {
			n.dump(cycle)
		}

		return 0
	}

	if n.signal != "" {
		return n.signalProcess(cycle, n.signal)
	}

	osStatus(cycle.Log)

	n.current = cycle

	return n.serve(cycle)
}

// init takes note of the system.
func (n *program) init() core.Status {
	kernel, err := sys.New()
	if err != nil {
		n.logStderr("%s", err)
		return core.Error
	}
	n.kernel = kernel
	n.times = core.NewTimes(kernel)

	if n.executable, err = os.Executable(); err != nil {
		n.logStderr("%s", err)
		return core.Error
	}

	if n.isDaemon() {
		syscall.Umask(0)
	}
	return core.OK
}

// serve runs the cycle until the process is told to stop, and returns the
// exit code.
//
// DIVERGES: its own function; in nginx it is the end of main.
func (n *program) serve(cycle *cycle) int {
	if cycle.Conf.Master {
		cycle.Process = event.ProcessMaster
	}

	n.process = n.newProcess(cycle)

	if n.process.InitSignals() != core.OK {
		return 1
	}

	if n.inherited || n.isDaemon() {
		n.process.Daemonized = true
	}

	if n.createPidfile(cycle.Conf.Pid, cycle.Log) != core.OK {
		return 1
	}

	if n.logRedirectStderr(cycle) != core.OK {
		return 1
	}

	n.daemonReady()

	n.closeBuiltinLog(cycle)

	n.console.on = false

	if cycle.Process == event.ProcessSingle {
		n.process.SingleProcessCycle(cycle.Cycle)

	} else {
		n.process.MasterProcessCycle(cycle.Cycle)
	}

	return 0
}

// app is what workers are made from.
func (n *program) app() process.App {
	return process.App{
		Configure: n.configureWorker,
		Procs: map[string]process.Proc{
			process.WorkerProcess: func(p *process.Process, cycle *event.Cycle, worker int) {
				p.ReopenFiles = n.reopenFiles
				p.WorkerProcessCycle(cycle, worker)
			},
		},
	}
}

// newProcess returns the process that runs cycle, with what it needs of this
// package.
func (n *program) newProcess(cycle *cycle) *process.Process {
	p := process.New(n.app(), cycle.Cycle, cycle.bequest())
	p.Name = programName
	p.Argv = n.argv
	p.InitCycle = n.reconfigure
	p.ExecNewBinary = n.execNewBinary
	p.ReopenFiles = n.reopenFiles
	p.DeletePidfile = func(*event.Cycle) { n.deletePidfile(n.current) }
	return p
}

// dump writes all files of the configuration to standard output.
//
// DIVERGES: its own function; in nginx it is part of main.
func (n *program) dump(cycle *cycle) {
	for _, file := range cycle.configDump.Files {
		fmt.Fprintf(n.stdout, "# configuration file %s:\n%s\n", file.Name, file.Text)
	}
}

// osStatus tells the log what the process runs on. Mirrors ngx_os_status.
func osStatus(log *core.Log) {
	log.Error(core.LogNotice, 0, "%s", http.Version)

	log.Error(core.LogNotice, 0, "built by %s", runtime.Version())

	var u unix.Utsname
	if err := unix.Uname(&u); err == nil {
		log.Error(core.LogNotice, 0, "OS: %s %s",
			unix.ByteSliceToString(u.Sysname[:]), unix.ByteSliceToString(u.Release[:]))
	}

	var rlmt syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &rlmt); err == nil {
		log.Error(core.LogNotice, 0, "getrlimit(RLIMIT_NOFILE): %d:%d", rlmt.Cur, rlmt.Max)
	}
}

// modules are the tables of directives, in nginx's order.
var modules = []*conf.Module{
	coreModule,
	errlogModule,
	conf.Include,
	eventsModule,
	eventCoreModule,
	epollModule,
	httpModule,
	httpCoreModule,
	httpLogModule,
	httpStubStatusModule,
	httpRewriteModule,
}
