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
//
//nginx:src/os/unix/ngx_process.c ngx_spawn_process
//nginx:omit 160-173 the ends are close-on-exec from the start
//nginx:omit 196-202 the child is a new program
func (p *Process) SpawnProcess(cycle *event.Cycle, proc SpawnProc, data any, name string, respawn int) int {
	var s int

	if respawn >= 0 { // 94
		s = respawn // 95

	} else {
		for s = 0; s < p.LastProcess; s++ { // 98
			if p.Processes[s].Pid == -1 { // 99
				break // 100
			}
		}

		if s == MaxProcesses { // 104
			cycle.Log.Error(core.LogAlert, 0, "no more than %d processes can be spawned", MaxProcesses) // 105
			return InvalidPid                                                                           // 108
		}
	}

	e := &p.Processes[s] // DIVERGES: a shorter name

	if respawn != Detached { // 113

		if p.openChannel(cycle, e, name) != core.OK {
			return InvalidPid
		}

		p.Channel = e.Channel[1] // 176

	} else {
		e.Channel[0] = -1 // 179
		e.Channel[1] = -1 // 180
	}

	p.Slot = s // 183

	pid, err := proc(cycle, data, name) // 186

	if err != nil { // 188-190
		cycle.Log.Error(core.LogAlert, core.ErrnoOf(err), "fork() failed while spawning \"%s\"", name) // 191
		p.dropChannel(cycle, e)                                                                        // 193
		return InvalidPid                                                                              // 194
	}

	cycle.Log.Error(core.LogNotice, 0, "start %s %d", name, pid) // 206

	e.Pid = pid      // 208
	e.exited = false // 209
	// DIVERGES: see backoff.go.
	e.started = cycle.Time.CurrentMsec

	if respawn >= 0 { // 211
		return pid // 212
	}

	e.proc = proc     // 215
	e.data = data     // 216
	e.name = name     // 217
	e.exiting = false // 218

	switch respawn { // 220

	case Norespawn: // 222
		e.respawn = false   // 223
		e.justSpawn = false // 224
		e.detached = false  // 225

	case JustSpawn: // 228
		e.respawn = false  // 229
		e.justSpawn = true // 230
		e.detached = false // 231

	case Respawn: // 234
		e.respawn = true    // 235
		e.justSpawn = false // 236
		e.detached = false  // 237

	case JustRespawn: // 240
		e.respawn = true   // 241
		e.justSpawn = true // 242
		e.detached = false // 243

	case Detached: // 246
		e.respawn = false   // 247
		e.justSpawn = false // 248
		e.detached = true   // 249
	}

	if s == p.LastProcess { // 253
		p.LastProcess++ // 254
	}

	return pid // 257
}

// openChannel makes the two ends of a new process's channel. The master is
// sent SIGIO when the other end is closed, and for room in it: on Linux only if
// the channel was full.
//
// DIVERGES: its own function; in nginx it is part of ngx_spawn_process. The
// ends are close-on-exec from the start.
//
//nginx:src/os/unix/ngx_process.c ngx_spawn_process
func (p *Process) openChannel(cycle *event.Cycle, e *Entry, name string) core.Status {
	channel, errno := cycle.Kernel.Socketpair() // 117
	if errno != 0 {                             // 117
		cycle.Log.Error(core.LogAlert, errno, "socketpair() failed while spawning \"%s\"", name) // 119
		return core.Error                                                                        // 121
	}
	e.Channel = channel // DIVERGES: in nginx the call stores it

	cycle.Log.Debug(core.LogDebugCore, 0, "channel %d:%d", e.Channel[0], e.Channel[1]) // 124

	// DIVERGES: nginx repeats this at each failure.
	failed := func(call string, err error) core.Status {
		cycle.Log.Error(core.LogAlert, core.ErrnoOf(err), "%s failed while spawning \"%s\"", call, name)
		p.dropChannel(cycle, e)
		return core.Error
	}

	if err := unix.SetNonblock(e.Channel[0], true); err != nil { // 129
		return failed("fcntl(O_NONBLOCK)", err) // 130-134
	}

	if err := unix.SetNonblock(e.Channel[1], true); err != nil { // 137
		return failed("fcntl(O_NONBLOCK)", err) // 138-142
	}

	if err := setAsync(e.Channel[0]); err != nil { // 145-146
		return failed("ioctl(FIOASYNC)", err) // 147-150
	}

	if _, err := unix.FcntlInt(uintptr(e.Channel[0]), unix.F_SETOWN, p.Pid); err != nil { // 153
		return failed("fcntl(F_SETOWN)", err) // 154-157
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
//
//nginx:src/os/unix/ngx_process.c ngx_execute
func (p *Process) Execute(cycle *event.Cycle, ctx *ExecCtx) int {
	return p.SpawnProcess(cycle, p.executeProc, ctx, ctx.Name, Detached) // 264
}

// executeProc starts the program of an ExecCtx. Mirrors ngx_execute_proc.
//
// DIVERGES: a program that cannot be executed is known to the master at once;
// nginx's child logs it and exits with code 1.
//
//nginx:src/os/unix/ngx_process.c ngx_execute_proc
func (p *Process) executeProc(cycle *event.Cycle, data any, name string) (int, error) {
	ctx := data.(*ExecCtx) // 272

	pid, err := syscall.ForkExec(ctx.Path, ctx.Argv, &syscall.ProcAttr{
		Env:   ctx.Envp,
		Files: append([]uintptr{0, 1, 2}, ctx.Files...),
	}) // 274
	if err != nil { // 274
		cycle.Log.Error(core.LogAlert, core.ErrnoOf(err),
			"execve() failed while executing %s \"%s\"", ctx.Name, ctx.Path) // 275
	}
	return pid, err // 280 DIVERGES: see above
}

// processGetStatus waits for every process that has ended: equal signals
// merge, so one SIGCHLD may stand for many. Mirrors ngx_process_get_status.
//
//nginx:src/os/unix/ngx_process.c ngx_process_get_status
//nginx:omit 490 the call returns the errno
func (p *Process) processGetStatus() {
	var status syscall.WaitStatus

	cycle := p.Cycle // DIVERGES: a global in nginx
	one := false     // 480

	for { // 482
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil) // 483

		if pid == 0 { // 485
			return // 486
		}

		if err != nil { // 489
			if err == syscall.EINTR { // 492
				continue // 493
			}

			if err == syscall.ECHILD && one { // 496
				return // 497
			}

			// A signal may come after its process was waited for in the
			// loop of the one before.
			if err == syscall.ECHILD { // 509
				cycle.Log.Error(core.LogInfo, core.ErrnoOf(err), "waitpid() failed") // 510
				return                                                               // 512
			}

			cycle.Log.Error(core.LogAlert, core.ErrnoOf(err), "waitpid() failed") // 515
			return                                                                // 517
		}

		one = true // 521
		p.processEnded(pid, status)
	}
}

// processEnded files the status of a process that was waited for.
//
// DIVERGES: its own function; in nginx it is the end of the loop in
// ngx_process_get_status.
//
//nginx:src/os/unix/ngx_process.c ngx_process_get_status
func (p *Process) processEnded(pid int, status syscall.WaitStatus) {
	cycle := p.Cycle // DIVERGES: a global in nginx

	e := &Entry{name: "unknown process"} // 522

	for i := range p.LastProcess { // 524
		if p.Processes[i].Pid == pid { // 525
			p.Processes[i].Status = status // 526
			p.Processes[i].exited = true   // 527
			e = &p.Processes[i]            // 528
			p.crashed(e)                   // DIVERGES: see backoff.go
			break                          // 529
		}
	}

	if status.Signaled() { // 533
		dumped := ""           // 535
		if status.CoreDump() { // 535
			dumped = " (core dumped)" // 535
		}
		cycle.Log.Error(core.LogAlert, 0, "%s %d exited on signal %d%s",
			e.name, pid, int(status.Signal()), dumped) // 535

	} else {
		cycle.Log.Error(core.LogNotice, 0, "%s %d exited with code %d", e.name, pid, status.ExitStatus()) // 546
	}

	// What failed at the start would fail again.
	if status.ExitStatus() == 2 && e.respawn { // 551
		cycle.Log.Error(core.LogAlert, 0, "%s %d exited with fatal code %d and cannot be respawned",
			e.name, pid, status.ExitStatus()) // 552
		e.respawn = false // 556
	}

	p.unlockMutexes(pid) // 559
}

// unlockMutexes frees what a dead process may have held. It is the only remedy
// if the holder of the accept mutex was killed: the others only try.
//
// Mirrors ngx_unlock_mutexes.
//
// DIVERGES: the shared zone has no other mutex.
//
//nginx:src/os/unix/ngx_process.c ngx_unlock_mutexes
//nginx:omit 586-605 the shared zone has no other mutex
func (p *Process) unlockMutexes(pid int) {
	if p.Cycle.AcceptMutex != nil { // 577
		p.Cycle.AcceptMutex.ForceUnlock(pid) // 578
	}
}

// debugPoint stops or aborts the process, if debug_points says so, for
// somebody to look at it. Mirrors ngx_debug_point.
//
//nginx:src/os/unix/ngx_process.c ngx_debug_point
//nginx:omit 616 the configuration is in fields
func debugPoint(cycle *event.Cycle) {
	switch cycle.Conf.DebugPoints { // 619

	case event.DebugPointsStop: // 621
		syscall.Kill(cycle.Kernel.Getpid(), syscall.SIGSTOP) // 622

	case event.DebugPointsAbort: // 625
		syscall.Kill(cycle.Kernel.Getpid(), syscall.SIGABRT) // 626
	}
}
