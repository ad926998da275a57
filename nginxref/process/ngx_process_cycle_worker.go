package process

import (
	"bufio"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"herd/nginxref/core"
	"herd/nginxref/event"
)

// WorkerProcess is the name of nginx's worker, in ps and as a Proc.
const WorkerProcess = "worker process"

// WorkerProcessCycle is the life of a worker: turns of the event loop, and
// between them what the master or a signal asks for. It does not return.
// Mirrors ngx_worker_process_cycle.
func (p *Process) WorkerProcessCycle(cycle *event.Cycle, worker int) {
	cycle.Process = event.ProcessWorker
	cycle.Worker = worker

	p.workerProcessInit(cycle, worker)

	p.setproctitle(WorkerProcess)

	for {

		if cycle.Exiting {
			if cycle.NoTimersLeft() == core.OK {
				cycle.Log.Error(core.LogNotice, 0, "exiting")
				p.workerProcessExit(cycle)
			}
		}

		cycle.Log.Debug(core.LogDebugEvent, 0, "worker cycle")

		cycle.ProcessEventsAndTimers()

		if p.terminate {
			cycle.Log.Error(core.LogNotice, 0, "exiting")
			p.workerProcessExit(cycle)
		}

		if p.quit {
			p.quit = false
			cycle.Log.Error(core.LogNotice, 0, "gracefully shutting down")
			p.setproctitle("worker process is shutting down")

			if !cycle.Exiting {
				cycle.Exiting = true
				p.setShutdownTimer(cycle)
				cycle.CloseListeningSockets()
				cycle.CloseIdleConnections()
			}
		}

		if p.reopen {
			p.reopen = false
			cycle.Log.Error(core.LogNotice, 0, "reopening logs")
			p.ReopenFiles(cycle, -1)
		}
	}
}

// SingleProcessCycle is master and worker in one process. Mirrors
// ngx_single_process_cycle.
//
// DIVERGES: it returns; nginx exits.
func (p *Process) SingleProcessCycle(cycle *event.Cycle) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	for _, module := range cycle.Modules {
		if module.InitProcess != nil {
			if module.InitProcess(cycle) == core.Error {
				os.Exit(2) // fatal
			}
		}
	}

	p.startSignals(p.notify(cycle))
	defer p.stopSignals()

	for {
		cycle.Log.Debug(core.LogDebugEvent, 0, "worker cycle")

		cycle.ProcessEventsAndTimers()

		if p.terminate || p.quit {

			for _, module := range cycle.Modules {
				if module.ExitProcess != nil {
					module.ExitProcess(cycle)
				}
			}

			p.masterProcessExit(cycle)
			return
		}

		if p.reconfigure {
			p.reconfigure = false
			cycle.Log.Error(core.LogNotice, 0, "reconfiguring")

			cycle = p.initCycle(cycle)
			if cycle == nil {
				cycle = p.Cycle
				continue
			}

			p.Cycle = cycle
		}

		if p.reopen {
			p.reopen = false
			cycle.Log.Error(core.LogNotice, 0, "reopening logs")
			p.ReopenFiles(cycle, -1)
		}
	}
}

// workerProcessInit makes a worker of the process. If that fails it exits with
// code 2, and the master does not try again. Mirrors ngx_worker_process_init.
//
// DIVERGES: the environment was set at the start of the program. There is no
// signal mask to lift and no random generator to seed. Of the other processes'
// channels the worker was given only the ends it needs, so there are none to
// close.
func (p *Process) workerProcessInit(cycle *event.Cycle, worker int) {
	p.applyLimits(cycle, worker)

	if os.Geteuid() == 0 && cycle.Conf.Username != "" {
		p.dropRoot(cycle)
	}

	if worker >= 0 {
		cpuAffinity := getCPUAffinity(cycle, worker)

		if cpuAffinity != nil {
			setaffinity(cpuAffinity, cycle.Log)
		}
	}

	// Allow a core dump after setuid.
	if err := setDumpable(); err != nil {
		cycle.Log.Error(core.LogAlert, core.ErrnoOf(err), "prctl(PR_SET_DUMPABLE) failed")
	}

	if cycle.Conf.WorkingDirectory != "" {
		if err := os.Chdir(cycle.Conf.WorkingDirectory); err != nil {
			cycle.Log.Error(core.LogAlert, core.ErrnoOf(err), "chdir(\"%s\") failed", cycle.Conf.WorkingDirectory)
			os.Exit(2) // fatal
		}
	}

	for _, module := range cycle.Modules {
		if module.InitProcess != nil {
			if module.InitProcess(cycle) == core.Error {
				os.Exit(2) // fatal
			}
		}
	}

	if AddChannelEvent(cycle, p.Channel, event.ReadEvent, p.channelHandler) == core.Error {
		os.Exit(2) // fatal
	}

	p.startSignals(p.notify(cycle))
}

// applyLimits sets the worker's priority, that of the loop thread, and its
// resource limits.
//
// DIVERGES: its own function; in nginx it is part of ngx_worker_process_init.
func (p *Process) applyLimits(cycle *event.Cycle, worker int) {
	ccf := &cycle.Conf

	if worker >= 0 && ccf.Priority != 0 {
		if err := unix.Setpriority(unix.PRIO_PROCESS, 0, ccf.Priority); err != nil {
			cycle.Log.Error(core.LogAlert, core.ErrnoOf(err), "setpriority(%d) failed", ccf.Priority)
		}
	}

	if ccf.RlimitNofile != -1 {
		rlmt := syscall.Rlimit{Cur: uint64(ccf.RlimitNofile), Max: uint64(ccf.RlimitNofile)}

		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &rlmt); err != nil {
			cycle.Log.Error(core.LogAlert, core.ErrnoOf(err),
				"setrlimit(RLIMIT_NOFILE, %d) failed", ccf.RlimitNofile)
		}
	}

	if ccf.RlimitCore != -1 {
		rlmt := syscall.Rlimit{Cur: uint64(ccf.RlimitCore), Max: uint64(ccf.RlimitCore)}

		if err := syscall.Setrlimit(syscall.RLIMIT_CORE, &rlmt); err != nil {
			cycle.Log.Error(core.LogAlert, core.ErrnoOf(err),
				"setrlimit(RLIMIT_CORE, %d) failed", ccf.RlimitCore)
		}
	}
}

// dropRoot makes the worker the configured user's.
//
// DIVERGES: its own function; in nginx it is part of ngx_worker_process_init.
// No capability is kept, because there is no transparent proxying.
func (p *Process) dropRoot(cycle *event.Cycle) {
	ccf := &cycle.Conf

	if err := syscall.Setgid(ccf.Group); err != nil {
		cycle.Log.Error(core.LogEmerg, core.ErrnoOf(err), "setgid(%d) failed", ccf.Group)
		os.Exit(2) // fatal
	}

	if err := initgroups(ccf.Username, ccf.Group); err != nil {
		cycle.Log.Error(core.LogEmerg, core.ErrnoOf(err), "initgroups(%s, %d) failed", ccf.Username, ccf.Group)
	}

	if err := syscall.Setuid(ccf.User); err != nil {
		cycle.Log.Error(core.LogEmerg, core.ErrnoOf(err), "setuid(%d) failed", ccf.User)
		os.Exit(2) // fatal
	}
}

// initgroups gives the process the groups that /etc/group lists username in,
// and gid; see initgroups(3).
func initgroups(username string, gid int) error {
	file, err := os.Open("/etc/group")
	if err != nil {
		return err
	}
	defer file.Close()

	groups := []int{gid}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		field := strings.Split(lines.Text(), ":") // name:password:gid:user,user
		if len(field) != 4 || !slices.Contains(strings.Split(field[3], ","), username) {
			continue
		}
		if id, err := strconv.Atoi(field[2]); err == nil {
			groups = append(groups, id)
		}
	}
	return syscall.Setgroups(groups)
}

// workerProcessExit ends the worker. Mirrors ngx_worker_process_exit.
//
// DIVERGES: no ngx_debug_point, which is for nginx's developers, and no copy
// of the log for a signal handler that comes after the pool is destroyed.
func (p *Process) workerProcessExit(cycle *event.Cycle) {
	for _, module := range cycle.Modules {
		if module.ExitProcess != nil {
			module.ExitProcess(cycle)
		}
	}

	if cycle.Exiting {
		c := cycle.Connections
		for i := range c {
			if c[i].Fd != -1 && !c[i].Read.Accept && !c[i].Read.Channel {
				cycle.Log.Error(core.LogAlert, 0, "*%d open socket #%d left in connection %d",
					c[i].Number, c[i].Fd, i)
				p.debugQuit = true
			}
		}

		if p.debugQuit {
			cycle.Log.Error(core.LogAlert, 0, "aborting")
		}
	}

	cycle.Log.Error(core.LogNotice, 0, "exit")

	os.Exit(0)
}

// channelHandler does what the messages of the master say. It reads until the
// channel is empty: several may have come with one event. When the master is
// gone it closes the channel and the worker goes on. Mirrors
// ngx_channel_handler.
func (p *Process) channelHandler(ev *event.Event) {
	var ch Channel

	if ev.Timedout {
		ev.Timedout = false
		return
	}

	c := ev.Data
	cycle := c.Cycle

	ev.Log.Debug(core.LogDebugCore, 0, "channel handler")

	for {

		n := ReadChannel(cycle.Kernel, c.Fd, &ch, ev.Log)

		ev.Log.Debug(core.LogDebugCore, 0, "channel: %d", n)

		if n == int(core.Error) {
			cycle.DelConn(c, 0)
			cycle.CloseConnection(c)
			return
		}

		if n == int(core.Again) {
			return
		}

		if n == int(core.Declined) {
			continue
		}

		ev.Log.Debug(core.LogDebugCore, 0, "channel command: %d", ch.Command)

		p.obey(cycle, &ch, ev.Log)
	}
}

// obey does what one message says.
//
// DIVERGES: its own function; in nginx it is the end of the loop in
// ngx_channel_handler.
func (p *Process) obey(cycle *event.Cycle, ch *Channel, log *core.Log) {
	switch ch.Command {

	case CmdQuit:
		p.quit = true

	case CmdTerminate:
		p.terminate = true

	case CmdReopen:
		p.reopen = true

	case CmdOpenChannel:

		log.Debug(core.LogDebugCore, 0, "get channel s:%d pid:%d fd:%d", ch.Slot, ch.Pid, ch.Fd)

		p.Processes[ch.Slot].Pid = int(ch.Pid)
		p.Processes[ch.Slot].Channel[0] = int(ch.Fd)

	case CmdCloseChannel:

		log.Debug(core.LogDebugCore, 0, "close channel s:%d pid:%d our:%d fd:%d",
			ch.Slot, ch.Pid, p.Processes[ch.Slot].Pid, p.Processes[ch.Slot].Channel[0])

		if err := cycle.Kernel.Close(p.Processes[ch.Slot].Channel[0]); err != 0 {
			log.Error(core.LogAlert, err, "close() channel failed")
		}

		p.Processes[ch.Slot].Channel[0] = -1
	}
}
