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
// The signals are blocked for the sake of what the master starts: a worker must
// not die of one that it cannot handle yet. The master itself only notes them
// until sigsuspend.
//
// DIVERGES: other threads than the master's have nothing blocked (see
// signals.go). It returns; nginx exits.
//
//nginx:src/os/unix/ngx_process_cycle.c ngx_master_process_cycle
//nginx:omit 104 the mask is not needed again
//nginx:omit 107-116 a string grows by itself
//nginx:omit 132, 217, 236, 250 no cache
func (p *Process) MasterProcessCycle(cycle *event.Cycle) {
	// DIVERGES: Pdeathsig tells of the death of the thread that started a
	// worker, and the mask is a thread's.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	restore, err := blockSignals() // 87-99
	defer restore()                // DIVERGES: the thread goes on
	if err != nil {                // 99
		cycle.Log.Error(core.LogAlert, core.ErrnoOf(err), "sigprocmask() failed") // 100
	}

	title := "master process" // 119

	for _, arg := range p.Argv { // 120
		title += " " + arg // 121-122
	}

	p.setproctitle(title) // 125
	setComm(p.Name)       // DIVERGES: the program was executed as /proc/self/exe

	// DIVERGES: see signals.go.
	p.startSignals(p.wake)
	defer p.stopSignals()

	ccf := &cycle.Conf // 128

	p.startWorkerProcesses(cycle, ccf.WorkerProcesses, Respawn) // 130

	p.Cycle.NewBinary = 0 // 134
	delay := core.Msec(0) // 135
	sigio := 0            // 136
	live := true          // 137

	for { // 139
		if delay != 0 { // 140
			// Only the timer counts: a worker that ends meanwhile wakes
			// the master too, and must not bring SIGKILL closer for the
			// others.
			if p.sigalrm { // 141
				sigio = 0         // 142
				delay *= 2        // 143
				p.sigalrm = false // 144
			}

			cycle.Log.Debug(core.LogDebugEvent, 0, "termination cycle: %d", delay) // 147

			if err := setitimer(delay); err != nil { // 150-155
				cycle.Log.Error(core.LogAlert, core.ErrnoOf(err), "setitimer() failed") // 156
			}
		}

		cycle.Log.Debug(core.LogDebugEvent, 0, "sigsuspend") // 161

		p.sigsuspend() // 163

		cycle.Time.TimeUpdate() // 165

		cycle.Log.Debug(core.LogDebugEvent, 0, "wake up, sigio %d", sigio) // 167

		// DIVERGES: a pause is over, see backoff.go.
		if delay == 0 && p.sigalrm {
			p.sigalrm = false
			p.pauseEnds = 0
			p.reap = true
		}

		if p.reap { // 170
			p.reap = false                                          // 171
			cycle.Log.Debug(core.LogDebugEvent, 0, "reap children") // 172

			live = p.reapChildren(cycle) // 174
		}

		if !live && (p.terminate || p.quit) { // 177
			p.masterProcessExit(cycle) // 178
			return                     // DIVERGES: nginx exits
		}

		if p.terminate { // 181
			if delay == 0 { // 182
				delay = 50 // 183
			}

			// On some systems a worker that reads the message raises SIGIO
			// here: to send it again each time would keep both busy.
			if sigio != 0 { // 186
				sigio--  // 187
				continue // 188
			}

			sigio = ccf.WorkerProcesses + 2 // 191 the cache manager and loader

			if delay > 1000 { // 193
				p.signalWorkerProcesses(cycle, syscall.SIGKILL) // 194
			} else {
				p.signalWorkerProcesses(cycle, syscall.SIGTERM) // 196
			}

			continue // 200
		}

		if p.quit { // 203
			p.signalWorkerProcesses(cycle, syscall.SIGQUIT) // 204
			cycle.CloseListeningSockets()                   // 206

			continue // 208
		}

		if p.reconfigure { // 211
			p.reconfigure = false // 212

			if cycle.NewBinary != 0 { // 214
				p.startWorkerProcesses(cycle, ccf.WorkerProcesses, Respawn) // 215
				p.noaccepting = false                                       // 218

				continue // 220
			}

			cycle.Log.Error(core.LogNotice, 0, "reconfiguring") // 223

			cycle = p.initCycle(cycle) // 225
			if cycle == nil {          // 226
				cycle = p.Cycle // 227
				continue        // 228
			}

			p.Cycle = cycle                                                 // 231
			ccf = &cycle.Conf                                               // 232
			p.startWorkerProcesses(cycle, ccf.WorkerProcesses, JustRespawn) // 234

			// Allow new processes to start.
			time.Sleep(100 * time.Millisecond) // 239
			// DIVERGES: 100 ms may not be enough, see ready.go.
			p.awaitWorkers(cycle)

			live = true                                     // 241
			p.signalWorkerProcesses(cycle, syscall.SIGQUIT) // 242
		}

		if p.restart { // 246
			p.restart = false                                           // 247
			p.startWorkerProcesses(cycle, ccf.WorkerProcesses, Respawn) // 248
			live = true                                                 // 251
		}

		if p.reopen { // 254
			p.reopen = false                                     // 255
			cycle.Log.Error(core.LogNotice, 0, "reopening logs") // 256
			p.ReopenFiles(cycle, ccf.User)                       // 257
			p.signalWorkerProcesses(cycle, syscall.SIGUSR1)      // 258
		}

		if p.changeBinary { // 262
			p.changeBinary = false                                // 263
			cycle.Log.Error(core.LogNotice, 0, "changing binary") // 264
			// DIVERGES: nginx keeps -1 for a binary that could not be
			// started, and takes that for a living one at the next HUP.
			cycle.NewBinary = max(p.ExecNewBinary(cycle), 0) // 265
		}

		if p.noaccept { // 268
			p.noaccept = false                              // 269
			p.noaccepting = true                            // 270
			p.signalWorkerProcesses(cycle, syscall.SIGQUIT) // 271
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
//
//nginx:src/os/unix/ngx_process_cycle.c ngx_start_worker_processes
func (p *Process) startWorkerProcesses(cycle *event.Cycle, n, kind int) {
	cycle.Log.Error(core.LogNotice, 0, "start worker processes") // 340

	for i := range n { // 342

		if p.SpawnProcess(cycle, p.reexec, i, WorkerProcess, kind) != InvalidPid { // 344
			p.passOpenChannel(cycle) // 347
		}
	}
}

// passOpenChannel gives every other process the channel of the latest.
// Mirrors ngx_pass_open_channel.
//
//nginx:src/os/unix/ngx_process_cycle.c ngx_pass_open_channel
func (p *Process) passOpenChannel(cycle *event.Cycle) {
	var ch Channel // 401

	ch.Command = CmdOpenChannel                   // 403
	ch.Pid = int32(p.Processes[p.Slot].Pid)       // 404
	ch.Slot = int64(p.Slot)                       // 405
	ch.Fd = int32(p.Processes[p.Slot].Channel[0]) // 406

	for i := range p.LastProcess { // 408

		if i == p.Slot || p.Processes[i].Pid == -1 || p.Processes[i].Channel[0] == -1 { // 410
			continue // 414
		}

		cycle.Log.Debug(core.LogDebugCore, 0, "pass channel s:%d pid:%d fd:%d to s:%d pid:%d fd:%d",
			ch.Slot, ch.Pid, ch.Fd, i, p.Processes[i].Pid, p.Processes[i].Channel[0]) // 417

		// As in nginx, a channel that is full misses the message.

		WriteChannel(cycle.Kernel, p.Processes[i].Channel[0], &ch, cycle.Log) // 425
	}
}

// signalWorkerProcesses tells the workers what signo means, over their
// channels or else by the signal itself. Mirrors ngx_signal_worker_processes.
//
//nginx:src/os/unix/ngx_process_cycle.c ngx_signal_worker_processes
//nginx:omit 513 the call returns the errno
func (p *Process) signalWorkerProcesses(cycle *event.Cycle, signo syscall.Signal) {
	var ch Channel // 438

	switch signo { // 446

	case syscall.SIGQUIT: // 448
		ch.Command = CmdQuit // 449

	case syscall.SIGTERM: // 452
		ch.Command = CmdTerminate // 453

	case syscall.SIGUSR1: // 456
		ch.Command = CmdReopen // 457

	default: // 460
		ch.Command = 0 // 461
	}

	ch.Fd = -1 // 466

	for i := range p.LastProcess { // 469
		e := &p.Processes[i] // DIVERGES: a shorter name

		p.debugChild(cycle, i) // 471

		if e.detached || e.Pid == -1 { // 481
			continue // 482
		}

		// DIVERGES: there is nobody to tell, see backoff.go.
		if e.exited && e.pause != 0 {
			e.exiting = signo != syscall.SIGUSR1
			p.reap = true
			continue
		}

		if e.justSpawn { // 485
			e.justSpawn = false // 486
			continue            // 487
		}

		if e.exiting && signo == syscall.SIGQUIT { // 490
			continue // 493
		}

		if ch.Command != 0 { // 496
			if WriteChannel(cycle.Kernel, e.Channel[0], &ch, cycle.Log) == core.OK { // 497
				if signo != syscall.SIGUSR1 { // 501
					e.exiting = true // 502
				}

				continue // 505
			}
		}

		cycle.Log.Debug(core.LogDebugCore, 0, "kill (%d, %d)", e.Pid, int(signo)) // 509

		if err := syscall.Kill(e.Pid, signo); err != nil { // 512
			cycle.Log.Error(core.LogAlert, core.ErrnoOf(err), "kill(%d, %d) failed", e.Pid, int(signo)) // 514

			if err == syscall.ESRCH { // 517
				e.exited = true   // 518
				e.exiting = false // 519
				p.reap = true     // 520
			}

			continue // 523
		}

		if signo != syscall.SIGUSR1 { // 526
			e.exiting = true // 527
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
// What fails in a worker's initialisation ends it with code 2, and that is not
// repeated. A crash is, with a pause if it comes too often (backoff.go).
//
//nginx:src/os/unix/ngx_process_cycle.c ngx_reap_children
func (p *Process) reapChildren(cycle *event.Cycle) bool {
	live := false // 546

	for i := 0; i < p.LastProcess; i++ { // 547
		e := &p.Processes[i] // DIVERGES: a shorter name

		p.debugChild(cycle, i) // 549

		if e.Pid == -1 { // 559
			continue // 560
		}

		if e.exited { // 563

			if !e.detached && e.Channel[0] != -1 { // 565 DIVERGES: a worker that is replaced later comes by again
				CloseChannel(cycle.Kernel, &e.Channel, cycle.Log) // 566

				e.Channel[0] = -1 // 568
				e.Channel[1] = -1 // 569

				p.passCloseChannel(cycle, i)
			}

			// DIVERGES: see backoff.go.
			if e.respawn && p.pausing(cycle, e) {
				live = true
				continue
			}

			if e.respawn && !e.exiting && !p.terminate && !p.quit { // 593

				if p.SpawnProcess(cycle, e.proc, e.data, e.name, i) == InvalidPid { // 598
					cycle.Log.Error(core.LogAlert, 0, "could not respawn %s", e.name) // 603
					continue                                                          // 606
				}

				p.passOpenChannel(cycle) // 610

				live = true // 612

				continue // 614
			}

			if e.Pid == cycle.NewBinary { // 617
				p.newBinaryEnded(cycle)
			}

			if i == p.LastProcess-1 { // 639
				p.LastProcess-- // 640

			} else {
				e.Pid = -1 // 643
			}

		} else if e.exiting || !e.detached { // 646
			live = true // 647
		}
	}

	return live // 651
}

// passCloseChannel has every living process close its copy of the channel of
// the one that was in slot.
//
// DIVERGES: its own function; in nginx it is part of ngx_reap_children.
//
//nginx:src/os/unix/ngx_process_cycle.c ngx_reap_children
func (p *Process) passCloseChannel(cycle *event.Cycle, slot int) {
	ch := Channel{Command: CmdCloseChannel, Fd: -1} // 541-544 DIVERGES: made anew each time

	ch.Pid = int32(p.Processes[slot].Pid) // 571
	ch.Slot = int64(slot)                 // 572

	for n := range p.LastProcess { // 574
		if p.Processes[n].exited || p.Processes[n].Pid == -1 || p.Processes[n].Channel[0] == -1 { // 575
			continue // 579
		}

		cycle.Log.Debug(core.LogDebugCore, 0, "pass close channel s:%d pid:%d to:%d",
			ch.Slot, ch.Pid, p.Processes[n].Pid) // 582

		WriteChannel(cycle.Kernel, p.Processes[n].Channel[0], &ch, cycle.Log) // 588
	}
}

// newBinaryEnded takes the pid file back from a new binary that is gone, and
// has the workers started again if WINCH had sent them away.
//
// DIVERGES: its own function; in nginx it is part of ngx_reap_children.
//
//nginx:src/os/unix/ngx_process_cycle.c ngx_reap_children
func (p *Process) newBinaryEnded(cycle *event.Cycle) {
	ccf := &cycle.Conf // 619

	if err := os.Rename(ccf.Oldpid, ccf.Pid); err != nil { // 622
		cycle.Log.Error(core.LogAlert, core.ErrnoOf(err),
			"rename() %s back to %s failed after the new binary process \"%s\" exited",
			ccf.Oldpid, ccf.Pid, p.Argv[0]) // 626
	}

	cycle.NewBinary = 0 // 632
	if p.noaccepting {  // 633
		p.restart = true      // 634
		p.noaccepting = false // 635
	}
}

// masterProcessExit is the master's last act. Mirrors
// ngx_master_process_exit.
//
//nginx:src/os/unix/ngx_process_cycle.c ngx_master_process_exit
//nginx:omit 680-692 the log outlives the cycle
//nginx:omit 694 it returns, and the program exits
func (p *Process) masterProcessExit(cycle *event.Cycle) {
	p.DeletePidfile(cycle) // 660

	cycle.Log.Error(core.LogNotice, 0, "exit") // 662

	for _, module := range cycle.Modules { // 664
		if module.ExitMaster != nil { // 665
			module.ExitMaster(cycle) // 666
		}
	}

	cycle.CloseListeningSockets() // 670
}
