package process

import (
	"syscall"

	"golang.org/x/sys/unix"

	"herd/nginxref/core"
	"herd/nginxref/event"
)

// SpawnProcess starts a process by proc and returns its id, or InvalidPid.
// respawn is one of the ways above, or the slot of a process to start again.
// Mirrors ngx_spawn_process.
func (p *Process) SpawnProcess(cycle *event.Cycle, proc SpawnProc, data any, name string, respawn int) int {
	var s int

	if respawn >= 0 {
		s = respawn

	} else {
		for s = 0; s < p.LastProcess; s++ {
			if p.Processes[s].Pid == -1 {
				break
			}
		}

		if s == MaxProcesses {
			cycle.Log.Error(core.LogAlert, 0, "no more than %d processes can be spawned", MaxProcesses)
			return InvalidPid
		}
	}

	e := &p.Processes[s]

	if respawn != Detached {

		if p.openChannel(cycle, e, name) != core.OK {
			return InvalidPid
		}

		p.Channel = e.Channel[1]

	} else {
		e.Channel[0] = -1
		e.Channel[1] = -1
	}

	p.Slot = s

	pid, err := proc(cycle, data, name)

	if err != nil {
		cycle.Log.Error(core.LogAlert, core.ErrnoOf(err), "fork() failed while spawning \"%s\"", name)
		p.dropChannel(cycle, e)
		return InvalidPid
	}

	cycle.Log.Error(core.LogNotice, 0, "start %s %d", name, pid)

	e.Pid = pid
	e.exited = false

	if respawn >= 0 {
		return pid
	}

	e.proc = proc
	e.data = data
	e.name = name
	e.exiting = false

	switch respawn {

	case Norespawn:
		e.respawn = false
		e.justSpawn = false
		e.detached = false

	case JustSpawn:
		e.respawn = false
		e.justSpawn = true
		e.detached = false

	case Respawn:
		e.respawn = true
		e.justSpawn = false
		e.detached = false

	case JustRespawn:
		e.respawn = true
		e.justSpawn = true
		e.detached = false

	case Detached:
		e.respawn = false
		e.justSpawn = false
		e.detached = true
	}

	if s == p.LastProcess {
		p.LastProcess++
	}

	return pid
}

// openChannel makes the two ends of a new process's channel. The master is
// sent SIGIO when something can be read from its end.
//
// DIVERGES: its own function; in nginx it is part of ngx_spawn_process. The
// ends are close-on-exec from the start.
func (p *Process) openChannel(cycle *event.Cycle, e *Entry, name string) core.Status {
	channel, errno := cycle.Kernel.Socketpair()
	if errno != 0 {
		cycle.Log.Error(core.LogAlert, errno, "socketpair() failed while spawning \"%s\"", name)
		return core.Error
	}
	e.Channel = channel

	cycle.Log.Debug(core.LogDebugCore, 0, "channel %d:%d", e.Channel[0], e.Channel[1])

	failed := func(call string, err error) core.Status {
		cycle.Log.Error(core.LogAlert, core.ErrnoOf(err), "%s failed while spawning \"%s\"", call, name)
		p.dropChannel(cycle, e)
		return core.Error
	}

	if err := unix.SetNonblock(e.Channel[0], true); err != nil {
		return failed("fcntl(O_NONBLOCK)", err)
	}

	if err := unix.SetNonblock(e.Channel[1], true); err != nil {
		return failed("fcntl(O_NONBLOCK)", err)
	}

	if err := setAsync(e.Channel[0]); err != nil {
		return failed("ioctl(FIOASYNC)", err)
	}

	if _, err := unix.FcntlInt(uintptr(e.Channel[0]), unix.F_SETOWN, p.Pid); err != nil {
		return failed("fcntl(F_SETOWN)", err)
	}

	return core.OK
}

// dropChannel closes the channel of a process that could not be started.
//
// DIVERGES: nginx leaves the numbers of the closed descriptors in the table
// and closes them once more when it reaps the slot again; here they might be
// somebody else's by then.
func (p *Process) dropChannel(cycle *event.Cycle, e *Entry) {
	CloseChannel(cycle.Kernel, &e.Channel, cycle.Log)
	e.Channel = [2]int{-1, -1}
}

// ExecCtx is another program to start (ngx_exec_ctx_t).
type ExecCtx struct {
	Path string
	Name string // for the log
	Argv []string
	Envp []string
	// Files become its descriptors 3, 4, ...: nginx's are inherited under
	// their own numbers.
	Files []uintptr
}

// Execute starts another program that the master does not look after, and
// returns its process id or InvalidPid. Mirrors ngx_execute.
func (p *Process) Execute(cycle *event.Cycle, ctx *ExecCtx) int {
	return p.SpawnProcess(cycle, p.executeProc, ctx, ctx.Name, Detached)
}

// executeProc starts the program of an ExecCtx. Mirrors ngx_execute_proc.
//
// DIVERGES: a program that cannot be executed is known to the master at once;
// nginx's child logs it and exits with code 1.
func (p *Process) executeProc(cycle *event.Cycle, data any, name string) (int, error) {
	ctx := data.(*ExecCtx)

	pid, err := syscall.ForkExec(ctx.Path, ctx.Argv, &syscall.ProcAttr{
		Env:   ctx.Envp,
		Files: append([]uintptr{0, 1, 2}, ctx.Files...),
	})
	if err != nil {
		cycle.Log.Error(core.LogAlert, core.ErrnoOf(err),
			"execve() failed while executing %s \"%s\"", ctx.Name, ctx.Path)
	}
	return pid, err
}

// processGetStatus waits for every process that has ended: equal signals
// merge, so one SIGCHLD may stand for many. Mirrors ngx_process_get_status.
func (p *Process) processGetStatus() {
	var status syscall.WaitStatus

	cycle := p.Cycle
	one := false

	for {
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)

		if pid == 0 {
			return
		}

		if err != nil {
			if err == syscall.EINTR {
				continue
			}

			if err == syscall.ECHILD && one {
				return
			}

			// A signal may come after its process was waited for in the
			// loop of the one before.
			if err == syscall.ECHILD {
				cycle.Log.Error(core.LogInfo, core.ErrnoOf(err), "waitpid() failed")
				return
			}

			cycle.Log.Error(core.LogAlert, core.ErrnoOf(err), "waitpid() failed")
			return
		}

		one = true
		p.processEnded(pid, status)
	}
}

// processEnded files the status of a process that was waited for.
//
// DIVERGES: its own function; in nginx it is the end of the loop in
// ngx_process_get_status.
func (p *Process) processEnded(pid int, status syscall.WaitStatus) {
	cycle := p.Cycle
	e := &Entry{name: "unknown process"}

	for i := range p.LastProcess {
		if p.Processes[i].Pid == pid {
			e = &p.Processes[i]
			e.Status = status
			e.exited = true
			break
		}
	}

	if status.Signaled() {
		dumped := ""
		if status.CoreDump() {
			dumped = " (core dumped)"
		}
		cycle.Log.Error(core.LogAlert, 0, "%s %d exited on signal %d%s",
			e.name, pid, int(status.Signal()), dumped)

	} else {
		cycle.Log.Error(core.LogNotice, 0, "%s %d exited with code %d", e.name, pid, status.ExitStatus())
	}

	// What failed at the start would fail again.
	if status.ExitStatus() == 2 && e.respawn {
		cycle.Log.Error(core.LogAlert, 0, "%s %d exited with fatal code %d and cannot be respawned",
			e.name, pid, status.ExitStatus())
		e.respawn = false
	}

	p.unlockMutexes(pid)
}

// unlockMutexes frees what a dead process may have held. It is the only remedy
// if the holder of the accept mutex was killed: the others only try.
//
// Mirrors ngx_unlock_mutexes.
//
// DIVERGES: the shared zone has no other mutex.
func (p *Process) unlockMutexes(pid int) {
	if p.Cycle.AcceptMutex != nil {
		p.Cycle.AcceptMutex.ForceUnlock(pid)
	}
}
