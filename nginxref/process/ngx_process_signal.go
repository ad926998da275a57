package process

import (
	"os"
	"syscall"

	"herd/nginxref/core"
	"herd/nginxref/event"
)

// signalEntry is a signal that nginx has something to do with (ngx_signal_t).
type signalEntry struct {
	signo   syscall.Signal
	signame string
	name    string // its word on the command line, after -s
	ignored bool
}

// signals is nginx's table of them.
var signals = [...]signalEntry{
	{signo: syscall.SIGHUP, signame: "SIGHUP", name: "reload"},

	{signo: syscall.SIGUSR1, signame: "SIGUSR1", name: "reopen"},

	{signo: syscall.SIGWINCH, signame: "SIGWINCH"},

	{signo: syscall.SIGTERM, signame: "SIGTERM", name: "stop"},

	{signo: syscall.SIGQUIT, signame: "SIGQUIT", name: "quit"},

	{signo: syscall.SIGUSR2, signame: "SIGUSR2"},

	{signo: syscall.SIGALRM, signame: "SIGALRM"},

	{signo: syscall.SIGINT, signame: "SIGINT"},

	{signo: syscall.SIGIO, signame: "SIGIO"},

	{signo: syscall.SIGCHLD, signame: "SIGCHLD"},

	{signo: syscall.SIGSYS, signame: "SIGSYS, SIG_IGN", ignored: true},

	{signo: syscall.SIGPIPE, signame: "SIGPIPE, SIG_IGN", ignored: true},
}

// signalHandler notes what a signal asks for; the cycles below act on it.
// Mirrors ngx_signal_handler.
//
// DIVERGES: it runs on the loop thread, when the loop is ready for it, so that
// it may log and update the time without care. Go does not say who sent a
// signal.
func (p *Process) signalHandler(sig *signalEntry) {
	cycle := p.Cycle

	ignore := false

	cycle.Time.TimeUpdate()

	action := ""

	switch cycle.Process {

	case event.ProcessMaster, event.ProcessSingle:
		action, ignore = p.masterSignal(sig.signo)

	case event.ProcessWorker, event.ProcessHelper:
		action = p.workerSignal(sig.signo)
	}

	cycle.Log.Error(core.LogNotice, 0, "signal %d (%s) received%s", int(sig.signo), sig.signame, action)

	if ignore {
		cycle.Log.Error(core.LogCrit, 0, "the changing binary signal is ignored: "+
			"you should shutdown or terminate before either old or new binary's process")
	}

	if sig.signo == syscall.SIGCHLD {
		p.processGetStatus()
	}
}

// masterSignal sets the flag of a signal to the master and says, for the log,
// what will be done.
//
// DIVERGES: its own function; in nginx it is part of ngx_signal_handler.
func (p *Process) masterSignal(signo syscall.Signal) (action string, ignore bool) {
	switch signo {

	case syscall.SIGQUIT:
		p.quit = true
		action = ", shutting down"

	case syscall.SIGTERM, syscall.SIGINT:
		p.terminate = true
		action = ", exiting"

	case syscall.SIGWINCH:
		if p.Daemonized {
			p.noaccept = true
			action = ", stop accepting connections"
		}

	case syscall.SIGHUP:
		p.reconfigure = true
		action = ", reconfiguring"

	case syscall.SIGUSR1:
		p.reopen = true
		action = ", reopening logs"

	case syscall.SIGUSR2:
		// Two masters at the most: the old binary's while the new one
		// runs, and the new one's while its parent, the old one, lives,
		// must not start a third.
		if os.Getppid() == p.Cycle.Parent || p.Cycle.NewBinary > 0 {
			action = ", ignoring"
			ignore = true
			break
		}

		p.changeBinary = true
		action = ", changing binary"

	case syscall.SIGALRM:
		p.sigalrm = true

	case syscall.SIGIO:
		p.sigio = true

	case syscall.SIGCHLD:
		p.reap = true
	}

	return action, ignore
}

// workerSignal sets the flag of a signal to a worker and says, for the log,
// what will be done.
//
// DIVERGES: its own function; in nginx it is part of ngx_signal_handler.
func (p *Process) workerSignal(signo syscall.Signal) (action string) {
	switch signo {

	case syscall.SIGWINCH:
		if !p.Daemonized {
			break
		}
		p.debugQuit = true
		fallthrough

	case syscall.SIGQUIT:
		p.quit = true
		action = ", shutting down"

	case syscall.SIGTERM, syscall.SIGINT:
		p.terminate = true
		action = ", exiting"

	case syscall.SIGUSR1:
		p.reopen = true
		action = ", reopening logs"

	case syscall.SIGHUP, syscall.SIGUSR2, syscall.SIGIO:
		action = ", ignoring"
	}

	return action
}

// OSSignalProcess sends pid the signal that is called name on the command line
// and returns 0, or 1 if it could not. Mirrors ngx_os_signal_process.
func OSSignalProcess(cycle *event.Cycle, name string, pid int) int {
	for i := range signals {
		sig := &signals[i]

		if name == sig.name {
			err := syscall.Kill(pid, sig.signo)
			if err == nil {
				return 0
			}

			cycle.Log.Error(core.LogAlert, core.ErrnoOf(err), "kill(%d, %d) failed", pid, int(sig.signo))
		}
	}

	return 1
}
