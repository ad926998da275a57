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
//
//nginx:src/os/unix/ngx_process_cycle.c ngx_worker_process_cycle
//nginx:omit 701 the argument has its type
func (p *Process) WorkerProcessCycle(cycle *event.Cycle, worker int) {
	cycle.Process = event.ProcessWorker // 703
	cycle.Worker = worker               // 704

	p.workerProcessInit(cycle, worker) // 706

	p.setproctitle(WorkerProcess) // 708

	for { // 710

		if cycle.Exiting { // 712
			if cycle.NoTimersLeft() == core.OK { // 713
				cycle.Log.Error(core.LogNotice, 0, "exiting") // 714
				p.workerProcessExit(cycle)                    // 715
			}
		}

		cycle.Log.Debug(core.LogDebugEvent, 0, "worker cycle") // 719

		cycle.Actions.ProcessEventsAndTimers(cycle) // 721

		if p.terminate { // 723
			cycle.Log.Error(core.LogNotice, 0, "exiting") // 724
			p.workerProcessExit(cycle)                    // 725
		}

		if p.quit { // 728
			p.quit = false                                                 // 729
			cycle.Log.Error(core.LogNotice, 0, "gracefully shutting down") // 730
			p.setproctitle("worker process is shutting down")              // 732

			if !cycle.Exiting { // 734
				cycle.Exiting = true          // 735
				p.setShutdownTimer(cycle)     // 736
				cycle.CloseListeningSockets() // 737
				cycle.CloseIdleConnections()  // 738

				// DIVERGES: nginx does this since 1.23.3. Before, what the
				// closing posts waits for the end of the next wait.
				cycle.ProcessPosted(&cycle.PostedEvents)
			}
		}

		if p.reopen { // 742
			p.reopen = false                                     // 743
			cycle.Log.Error(core.LogNotice, 0, "reopening logs") // 744
			p.ReopenFiles(cycle, -1)                             // 745
		}
	}
}

// SingleProcessCycle is master and worker in one process. Mirrors
// ngx_single_process_cycle.
//
// DIVERGES: it returns; nginx exits.
//
//nginx:src/os/unix/ngx_process_cycle.c ngx_single_process_cycle
//nginx:omit 283-285 the environment was set at the start
func (p *Process) SingleProcessCycle(cycle *event.Cycle) {
	// DIVERGES: the loop's thread is the process's own, and takes no signals
	// (see signals.go).
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	restore, err := blockSignals()
	defer restore()
	if err != nil {
		cycle.Log.Error(core.LogAlert, core.ErrnoOf(err), "sigprocmask() failed")
	}

	for _, module := range cycle.Modules { // 288
		if module.InitProcess != nil { // 289
			if module.InitProcess(cycle) == core.Error { // 290
				os.Exit(2) // 292 fatal
			}
		}
	}

	// DIVERGES: see signals.go.
	p.startSignals(p.notify(cycle))
	defer p.stopSignals()

	for { // 297
		cycle.Log.Debug(core.LogDebugEvent, 0, "worker cycle") // 298

		cycle.Actions.ProcessEventsAndTimers(cycle) // 300

		if p.terminate || p.quit { // 302

			for _, module := range cycle.Modules { // 304
				if module.ExitProcess != nil { // 305
					module.ExitProcess(cycle) // 306
				}
			}

			p.masterProcessExit(cycle) // 310
			return                     // DIVERGES: nginx exits
		}

		if p.reconfigure { // 313
			p.reconfigure = false                               // 314
			cycle.Log.Error(core.LogNotice, 0, "reconfiguring") // 315

			cycle = p.initCycle(cycle) // 317
			if cycle == nil {          // 318
				cycle = p.Cycle // 319
				continue        // 320
			}

			// DIVERGES: nginx goes on with tables and registrations of the
			// old cycle, and serves no new connection.
			p.takeOver(cycle)
			p.Cycle = cycle // 323
		}

		if p.reopen { // 326
			p.reopen = false                                     // 327
			cycle.Log.Error(core.LogNotice, 0, "reopening logs") // 328
			p.ReopenFiles(cycle, -1)                             // 329
		}
	}
}

// takeOver makes cycle the one whose loop runs, in place of p.Cycle. What the
// old one was still serving is cut off.
func (p *Process) takeOver(cycle *event.Cycle) {
	old := p.Cycle

	cycle.Zone = old.Zone
	for _, module := range cycle.Modules {
		if module.InitProcess != nil && module.InitProcess(cycle) == core.Error {
			os.Exit(2)
		}
	}
	p.notifyMoved(cycle)

	for i := range old.Connections {
		if c := &old.Connections[i]; c.Fd != -1 && !c.Read.Accept {
			old.CloseConnection(c)
		}
	}
	old.EpollDone()
}

// workerProcessInit makes a worker of the process. If that fails it exits with
// code 2, and the master does not try again. Mirrors ngx_worker_process_init.
//
// DIVERGES: the environment was set at the start of the program. The thread's
// signals stay blocked (see signals.go), and there is no random generator to
// seed. Of the other processes' channels the worker was given only the ends it
// needs, so there are none to close.
//
//nginx:src/os/unix/ngx_process_cycle.c ngx_worker_process_init
//nginx:omit 763-765 the environment was set at the start
//nginx:omit 814-819, 832-847 no transparent proxying
//nginx:omit 881-889 the mask stays, no random numbers
//nginx:omit 895-897 a new program has no old events
//nginx:omit 909-931 it was given no channel ends that it does not need
func (p *Process) workerProcessInit(cycle *event.Cycle, worker int) {
	p.applyLimits(cycle, worker)

	// DIVERGES: nginx has the name of a user built in.
	if os.Geteuid() == 0 && cycle.Conf.Username != "" { // 799
		p.dropRoot(cycle)
	}

	if worker >= 0 { // 853
		cpuAffinity := getCPUAffinity(cycle, worker) // 854

		if cpuAffinity != nil { // 856
			setaffinity(cpuAffinity, cycle.Log) // 857
		}
	}

	// Allow a core dump after setuid.
	if err := setDumpable(); err != nil { // 865
		cycle.Log.Error(core.LogAlert, core.ErrnoOf(err), "prctl(PR_SET_DUMPABLE) failed") // 866
	}

	if cycle.Conf.WorkingDirectory != "" { // 872
		if err := os.Chdir(cycle.Conf.WorkingDirectory); err != nil { // 873
			cycle.Log.Error(core.LogAlert, core.ErrnoOf(err), "chdir(\"%s\") failed", cycle.Conf.WorkingDirectory) // 874
			os.Exit(2)                                                                                             // 877 fatal
		}
	}

	for _, module := range cycle.Modules { // 900
		if module.InitProcess != nil { // 901
			if module.InitProcess(cycle) == core.Error { // 902
				os.Exit(2) // 904 fatal
			}
		}
	}

	if AddChannelEvent(cycle, p.Channel, event.ReadEvent, p.channelHandler) == core.Error { // 938
		os.Exit(2) // 943 fatal
	}

	p.startSignals(p.notify(cycle)) // DIVERGES: see signals.go
}

// applyLimits sets the worker's priority, that of the loop thread, and its
// resource limits.
//
// DIVERGES: its own function; in nginx it is part of ngx_worker_process_init.
//
//nginx:src/os/unix/ngx_process_cycle.c ngx_worker_process_init
func (p *Process) applyLimits(cycle *event.Cycle, worker int) {
	ccf := &cycle.Conf // 768

	if worker >= 0 && ccf.Priority != 0 { // 770
		if err := unix.Setpriority(unix.PRIO_PROCESS, 0, ccf.Priority); err != nil { // 771
			cycle.Log.Error(core.LogAlert, core.ErrnoOf(err), "setpriority(%d) failed", ccf.Priority) // 772
		}
	}

	if ccf.RlimitNofile != -1 { // 777
		rlmt := syscall.Rlimit{Cur: uint64(ccf.RlimitNofile), Max: uint64(ccf.RlimitNofile)} // 778-779

		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &rlmt); err != nil { // 781
			cycle.Log.Error(core.LogAlert, core.ErrnoOf(err),
				"setrlimit(RLIMIT_NOFILE, %d) failed", ccf.RlimitNofile) // 782
		}
	}

	if ccf.RlimitCore != -1 { // 788
		rlmt := syscall.Rlimit{Cur: uint64(ccf.RlimitCore), Max: uint64(ccf.RlimitCore)} // 789-790

		if err := syscall.Setrlimit(syscall.RLIMIT_CORE, &rlmt); err != nil { // 792
			cycle.Log.Error(core.LogAlert, core.ErrnoOf(err),
				"setrlimit(RLIMIT_CORE, %d) failed", ccf.RlimitCore) // 793
		}
	}
}

// dropRoot makes the worker the configured user's.
//
// DIVERGES: its own function; in nginx it is part of ngx_worker_process_init.
// No capability is kept, because there is no transparent proxying.
//
//nginx:src/os/unix/ngx_process_cycle.c ngx_worker_process_init
func (p *Process) dropRoot(cycle *event.Cycle) {
	ccf := &cycle.Conf // DIVERGES: its own function

	if err := syscall.Setgid(ccf.Group); err != nil { // 800
		cycle.Log.Error(core.LogEmerg, core.ErrnoOf(err), "setgid(%d) failed", ccf.Group) // 801
		os.Exit(2)                                                                        // 804 fatal
	}

	if err := initgroups(ccf.Username, ccf.Group); err != nil { // 807
		cycle.Log.Error(core.LogEmerg, core.ErrnoOf(err), "initgroups(%s, %d) failed", ccf.Username, ccf.Group) // 808
	}

	if err := syscall.Setuid(ccf.User); err != nil { // 824
		cycle.Log.Error(core.LogEmerg, core.ErrnoOf(err), "setuid(%d) failed", ccf.User) // 825
		os.Exit(2)                                                                       // 828 fatal
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
//
//nginx:src/os/unix/ngx_process_cycle.c ngx_worker_process_exit
//nginx:omit 989-1001 the log outlives the cycle
func (p *Process) workerProcessExit(cycle *event.Cycle) {
	for _, module := range cycle.Modules { // 954
		if module.ExitProcess != nil { // 955
			module.ExitProcess(cycle) // 956
		}
	}

	if cycle.Exiting { // 960
		c := cycle.Connections // 961
		for i := range c {     // 962
			if c[i].Fd != -1 && !c[i].Read.Accept && !c[i].Read.Channel { // 963
				cycle.Log.Error(core.LogAlert, 0, "*%d open socket #%d left in connection %d",
					c[i].Number, c[i].Fd, i) // 969
				p.debugQuit = true // 972
			}
		}

		if p.debugQuit { // 976
			cycle.Log.Error(core.LogAlert, 0, "aborting") // 977
			debugPoint(cycle)                             // 978
		}
	}

	cycle.Log.Error(core.LogNotice, 0, "exit") // 1003

	os.Exit(0) // 1005
}

// channelHandler does what the messages of the master say. It reads until the
// channel is empty: several may have come with one event. When nobody has the
// other end any more, neither the master nor a sibling, it closes the channel
// and the worker goes on. Mirrors ngx_channel_handler.
//
//nginx:src/os/unix/ngx_process_cycle.c ngx_channel_handler
//nginx:omit 1033, 1041-1043 epoll is the only event method
func (p *Process) channelHandler(ev *event.Event) {
	var ch Channel

	if ev.Timedout { // 1016
		ev.Timedout = false // 1017
		return              // 1018
	}

	c := ev.Data     // 1021
	cycle := c.Cycle // DIVERGES: a global in nginx

	ev.Log.Debug(core.LogDebugCore, 0, "channel handler") // 1023

	for { // 1025

		n := ReadChannel(cycle.Kernel, c.Fd, &ch, ev.Log) // 1027

		ev.Log.Debug(core.LogDebugCore, 0, "channel: %d", n) // 1029

		if n == int(core.Error) { // 1031
			cycle.DelConn(c, 0)      // 1034
			cycle.CloseConnection(c) // 1037
			return                   // 1038
		}

		if n == int(core.Again) { // 1047
			return // 1048
		}

		// DIVERGES: see ReadChannel.
		if n == int(core.Declined) {
			continue
		}

		ev.Log.Debug(core.LogDebugCore, 0, "channel command: %d", ch.Command) // 1051

		p.obey(cycle, &ch, ev.Log)
	}
}

// obey does what one message says.
//
// DIVERGES: its own function; in nginx it is the end of the loop in
// ngx_channel_handler.
//
//nginx:src/os/unix/ngx_process_cycle.c ngx_channel_handler
func (p *Process) obey(cycle *event.Cycle, ch *Channel, log *core.Log) {
	switch ch.Command { // 1054

	case CmdQuit: // 1056
		p.quit = true // 1057

	case CmdTerminate: // 1060
		p.terminate = true // 1061

	case CmdReopen: // 1064
		p.reopen = true // 1065

	case CmdOpenChannel: // 1068

		log.Debug(core.LogDebugCore, 0, "get channel s:%d pid:%d fd:%d", ch.Slot, ch.Pid, ch.Fd) // 1070

		// DIVERGES: if the message that closes it was missed, nginx's worker
		// keeps the old one open.
		if p.hasChannel(ch.Slot) {
			cycle.Kernel.Close(p.Processes[ch.Slot].Channel[0])
		}

		p.Processes[ch.Slot].Pid = int(ch.Pid)       // 1074
		p.Processes[ch.Slot].Channel[0] = int(ch.Fd) // 1075

	case CmdCloseChannel: // 1078

		log.Debug(core.LogDebugCore, 0, "close channel s:%d pid:%d our:%d fd:%d",
			ch.Slot, ch.Pid, p.Processes[ch.Slot].Pid, p.Processes[ch.Slot].Channel[0]) // 1080

		// DIVERGES: the message that opens it may have been missed, by a full
		// channel or for lack of a descriptor. nginx's worker then closes
		// what stands in its table, which is 0 at first.
		if !p.hasChannel(ch.Slot) {
			break
		}

		if err := cycle.Kernel.Close(p.Processes[ch.Slot].Channel[0]); err != 0 { // 1085
			log.Error(core.LogAlert, err, "close() channel failed") // 1086
		}

		p.Processes[ch.Slot].Channel[0] = -1 // 1090
	}
}

// hasChannel reports whether a worker has an end of the channel of the process
// in slot.
func (p *Process) hasChannel(slot int64) bool {
	return p.Processes[slot].Pid > 0 && p.Processes[slot].Channel[0] != -1
}
