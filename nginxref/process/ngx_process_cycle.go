package process

import (
	"os"
	"runtime"
	"syscall"
	"time"

	"herd/nginxref/core"
	"herd/nginxref/event"
)

// MasterProcessCycle starts the workers and does what signals ask for, until
// it is told to stop and the last of them has ended. The program must have no
// other children meanwhile: the master waits for all of them. Mirrors
// ngx_master_process_cycle.
//
// DIVERGES: nothing needs to be blocked, because a signal is only noted until
// sigsuspend (see signals.go). It returns; nginx exits.
func (p *Process) MasterProcessCycle(cycle *event.Cycle) {
	// Pdeathsig tells of the death of the thread that started a worker.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	title := "master process"

	for _, arg := range p.Argv {
		title += " " + arg
	}

	p.setproctitle(title)

	p.startSignals(p.wake)
	defer p.stopSignals()

	ccf := &cycle.Conf

	p.startWorkerProcesses(cycle, ccf.WorkerProcesses, Respawn)

	p.Cycle.NewBinary = 0
	delay := core.Msec(0)
	sigio := 0
	live := true

	for {
		if delay != 0 {
			// Only the timer counts: a worker that ends meanwhile wakes
			// the master too, and must not bring SIGKILL closer for the
			// others.
			if p.sigalrm {
				sigio = 0
				delay *= 2
				p.sigalrm = false
			}

			cycle.Log.Debug(core.LogDebugEvent, 0, "termination cycle: %d", delay)

			if err := setitimer(delay); err != nil {
				cycle.Log.Error(core.LogAlert, core.ErrnoOf(err), "setitimer() failed")
			}
		}

		cycle.Log.Debug(core.LogDebugEvent, 0, "sigsuspend")

		p.sigsuspend()

		cycle.Time.TimeUpdate()

		cycle.Log.Debug(core.LogDebugEvent, 0, "wake up, sigio %d", sigio)

		if p.reap {
			p.reap = false
			cycle.Log.Debug(core.LogDebugEvent, 0, "reap children")

			live = p.reapChildren(cycle)
		}

		if !live && (p.terminate || p.quit) {
			p.masterProcessExit(cycle)
			return
		}

		if p.terminate {
			if delay == 0 {
				delay = 50
			}

			// A worker that reads the message may raise SIGIO here: to
			// send it again each time would keep both busy.
			if sigio != 0 {
				sigio--
				continue
			}

			sigio = ccf.WorkerProcesses + 2 // cache processes

			if delay > 1000 {
				p.signalWorkerProcesses(cycle, syscall.SIGKILL)
			} else {
				p.signalWorkerProcesses(cycle, syscall.SIGTERM)
			}

			continue
		}

		if p.quit {
			p.signalWorkerProcesses(cycle, syscall.SIGQUIT)
			cycle.CloseListeningSockets()

			continue
		}

		if p.reconfigure {
			p.reconfigure = false

			if cycle.NewBinary != 0 {
				p.startWorkerProcesses(cycle, ccf.WorkerProcesses, Respawn)
				p.noaccepting = false

				continue
			}

			cycle.Log.Error(core.LogNotice, 0, "reconfiguring")

			cycle = p.initCycle(cycle)
			if cycle == nil {
				cycle = p.Cycle
				continue
			}

			p.Cycle = cycle
			ccf = &cycle.Conf
			p.startWorkerProcesses(cycle, ccf.WorkerProcesses, JustRespawn)

			// Allow new processes to start.
			time.Sleep(100 * time.Millisecond)

			live = true
			p.signalWorkerProcesses(cycle, syscall.SIGQUIT)
		}

		if p.restart {
			p.restart = false
			p.startWorkerProcesses(cycle, ccf.WorkerProcesses, Respawn)
			live = true
		}

		if p.reopen {
			p.reopen = false
			cycle.Log.Error(core.LogNotice, 0, "reopening logs")
			p.ReopenFiles(cycle, ccf.User)
			p.signalWorkerProcesses(cycle, syscall.SIGUSR1)
		}

		if p.changeBinary {
			p.changeBinary = false
			cycle.Log.Error(core.LogNotice, 0, "changing binary")
			// DIVERGES: nginx keeps -1 for a binary that could not be
			// started, and takes that for a living one at the next HUP.
			cycle.NewBinary = max(p.ExecNewBinary(cycle), 0)
		}

		if p.noaccept {
			p.noaccept = false
			p.noaccepting = true
			p.signalWorkerProcesses(cycle, syscall.SIGQUIT)
		}
	}
}

// initCycle makes the cycle of a changed configuration. What nginx keeps in
// globals goes over to it. It returns nil if the configuration is bad.
func (p *Process) initCycle(old *event.Cycle) *event.Cycle {
	cycle := p.InitCycle(old)

	if cycle != nil {
		cycle.Process = old.Process
		cycle.Parent = old.Parent
	}

	return cycle
}

// startWorkerProcesses starts n workers, numbered from 0. Mirrors
// ngx_start_worker_processes.
//
// DIVERGES: nginx passes on the channel of a worker that could not be started,
// a descriptor that is closed by then.
func (p *Process) startWorkerProcesses(cycle *event.Cycle, n, kind int) {
	cycle.Log.Error(core.LogNotice, 0, "start worker processes")

	for i := range n {

		if p.SpawnProcess(cycle, p.reexec, i, WorkerProcess, kind) != InvalidPid {
			p.passOpenChannel(cycle)
		}
	}
}

// passOpenChannel gives every other process the channel of the latest.
// Mirrors ngx_pass_open_channel.
func (p *Process) passOpenChannel(cycle *event.Cycle) {
	var ch Channel

	ch.Command = CmdOpenChannel
	ch.Pid = int32(p.Processes[p.Slot].Pid)
	ch.Slot = int64(p.Slot)
	ch.Fd = int32(p.Processes[p.Slot].Channel[0])

	for i := range p.LastProcess {

		if i == p.Slot || p.Processes[i].Pid == -1 || p.Processes[i].Channel[0] == -1 {
			continue
		}

		cycle.Log.Debug(core.LogDebugCore, 0, "pass channel s:%d pid:%d fd:%d to s:%d pid:%d fd:%d",
			ch.Slot, ch.Pid, ch.Fd, i, p.Processes[i].Pid, p.Processes[i].Channel[0])

		// As in nginx, a channel that is full misses the message.

		WriteChannel(cycle.Kernel, p.Processes[i].Channel[0], &ch, cycle.Log)
	}
}

// signalWorkerProcesses tells the workers what signo means, over their
// channels or else by the signal itself. Mirrors ngx_signal_worker_processes.
func (p *Process) signalWorkerProcesses(cycle *event.Cycle, signo syscall.Signal) {
	var ch Channel

	switch signo {

	case syscall.SIGQUIT:
		ch.Command = CmdQuit

	case syscall.SIGTERM:
		ch.Command = CmdTerminate

	case syscall.SIGUSR1:
		ch.Command = CmdReopen

	default:
		ch.Command = 0
	}

	ch.Fd = -1

	for i := range p.LastProcess {
		e := &p.Processes[i]

		p.debugChild(cycle, i)

		if e.detached || e.Pid == -1 {
			continue
		}

		if e.justSpawn {
			e.justSpawn = false
			continue
		}

		if e.exiting && signo == syscall.SIGQUIT {
			continue
		}

		if ch.Command != 0 {
			if WriteChannel(cycle.Kernel, e.Channel[0], &ch, cycle.Log) == core.OK {
				if signo != syscall.SIGUSR1 {
					e.exiting = true
				}

				continue
			}
		}

		cycle.Log.Debug(core.LogDebugCore, 0, "kill (%d, %d)", e.Pid, int(signo))

		if err := syscall.Kill(e.Pid, signo); err != nil {
			cycle.Log.Error(core.LogAlert, core.ErrnoOf(err), "kill(%d, %d) failed", e.Pid, int(signo))

			if err == syscall.ESRCH {
				e.exited = true
				e.exiting = false
				p.reap = true
			}

			continue
		}

		if signo != syscall.SIGUSR1 {
			e.exiting = true
		}
	}
}

// debugChild logs the state of a slot.
//
// DIVERGES: its own function; nginx has the statement twice.
func (p *Process) debugChild(cycle *event.Cycle, i int) {
	e := &p.Processes[i]

	cycle.Log.Debug(core.LogDebugEvent, 0, "child: %d %d e:%d t:%d d:%d r:%d j:%d",
		i, e.Pid, e.exiting, e.exited, e.detached, e.respawn, e.justSpawn)
}

// reapChildren clears up after the processes that have ended, starts the
// workers among them again, in the same slot and with the same number, and
// reports whether any process is left that the master must wait for. Mirrors
// ngx_reap_children.
//
// A worker that crashes whenever it is started is started again at once, as
// often as it crashes; so it is in nginx. What fails in the worker's
// initialisation ends it with code 2 instead, and that is not repeated.
func (p *Process) reapChildren(cycle *event.Cycle) bool {
	live := false

	for i := 0; i < p.LastProcess; i++ {
		e := &p.Processes[i]

		p.debugChild(cycle, i)

		if e.Pid == -1 {
			continue
		}

		if e.exited {

			if !e.detached {
				CloseChannel(cycle.Kernel, &e.Channel, cycle.Log)

				e.Channel[0] = -1
				e.Channel[1] = -1

				p.passCloseChannel(cycle, i)
			}

			if e.respawn && !e.exiting && !p.terminate && !p.quit {

				if p.SpawnProcess(cycle, e.proc, e.data, e.name, i) == InvalidPid {
					cycle.Log.Error(core.LogAlert, 0, "could not respawn %s", e.name)
					continue
				}

				p.passOpenChannel(cycle)

				live = true

				continue
			}

			if e.Pid == cycle.NewBinary {
				p.newBinaryEnded(cycle)
			}

			if i == p.LastProcess-1 {
				p.LastProcess--

			} else {
				e.Pid = -1
			}

		} else if e.exiting || !e.detached {
			live = true
		}
	}

	return live
}

// passCloseChannel has every living process close its copy of the channel of
// the one that was in slot.
//
// DIVERGES: its own function; in nginx it is part of ngx_reap_children.
func (p *Process) passCloseChannel(cycle *event.Cycle, slot int) {
	ch := Channel{Command: CmdCloseChannel, Fd: -1}

	ch.Pid = int32(p.Processes[slot].Pid)
	ch.Slot = int64(slot)

	for n := range p.LastProcess {
		if p.Processes[n].exited || p.Processes[n].Pid == -1 || p.Processes[n].Channel[0] == -1 {
			continue
		}

		cycle.Log.Debug(core.LogDebugCore, 0, "pass close channel s:%d pid:%d to:%d",
			ch.Slot, ch.Pid, p.Processes[n].Pid)

		WriteChannel(cycle.Kernel, p.Processes[n].Channel[0], &ch, cycle.Log)
	}
}

// newBinaryEnded takes the pid file back from a new binary that is gone, and
// has the workers started again if WINCH had sent them away.
//
// DIVERGES: its own function; in nginx it is part of ngx_reap_children.
func (p *Process) newBinaryEnded(cycle *event.Cycle) {
	ccf := &cycle.Conf

	if err := os.Rename(ccf.Oldpid, ccf.Pid); err != nil {
		cycle.Log.Error(core.LogAlert, core.ErrnoOf(err),
			"rename() %s back to %s failed after the new binary process \"%s\" exited",
			ccf.Oldpid, ccf.Pid, p.Argv[0])
	}

	cycle.NewBinary = 0
	if p.noaccepting {
		p.restart = true
		p.noaccepting = false
	}
}

// masterProcessExit is the master's last act. Mirrors
// ngx_master_process_exit.
func (p *Process) masterProcessExit(cycle *event.Cycle) {
	p.DeletePidfile(cycle)

	cycle.Log.Error(core.LogNotice, 0, "exit")

	for _, module := range cycle.Modules {
		if module.ExitMaster != nil {
			module.ExitMaster(cycle)
		}
	}

	cycle.CloseListeningSockets()
}
