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
//
//nginx:src/os/unix/ngx_process.c ngx_signal_handler
//nginx:omit 328, 466 no errno to keep
//nginx:omit 330-332 the argument is the entry
//nginx:omit 444-447 Go does not say who sent a signal
func (p *Process) signalHandler(sig *signalEntry) {
	cycle := p.Cycle // DIVERGES: a global in nginx

	ignore := false // 326

	cycle.Time.TimeUpdate() // 336

	action := "" // 338

	switch cycle.Process { // 340

	case event.ProcessMaster, event.ProcessSingle: // 342
		action, ignore = p.masterSignal(sig.signo)

	case event.ProcessWorker, event.ProcessHelper: // 408
		action = p.workerSignal(sig.signo)
	}

	cycle.Log.Error(core.LogNotice, 0, "signal %d (%s) received%s", int(sig.signo), sig.signame, action) // 450

	if ignore { // 455
		cycle.Log.Error(core.LogCrit, 0, "the changing binary signal is ignored: "+
			"you should shutdown or terminate before either old or new binary's process") // 456
	}

	if sig.signo == syscall.SIGCHLD { // 462
		p.processGetStatus() // 463
	}
}

// masterSignal sets the flag of a signal to the master and says, for the log,
// what will be done.
//
// DIVERGES: its own function; in nginx it is part of ngx_signal_handler.
//
//nginx:src/os/unix/ngx_process.c ngx_signal_handler
func (p *Process) masterSignal(signo syscall.Signal) (action string, ignore bool) {
	switch signo { // 344

	case syscall.SIGQUIT: // 346
		p.quit = true              // 347
		action = ", shutting down" // 348

	case syscall.SIGTERM, syscall.SIGINT: // 351
		p.terminate = true   // 353
		action = ", exiting" // 354

	case syscall.SIGWINCH: // 357
		if p.Daemonized { // 358
			p.noaccept = true                       // 359
			action = ", stop accepting connections" // 360
		}

	case syscall.SIGHUP: // 364
		p.reconfigure = true       // 365
		action = ", reconfiguring" // 366

	case syscall.SIGUSR1: // 369
		p.reopen = true             // 370
		action = ", reopening logs" // 371

	case syscall.SIGUSR2: // 374
		// Two masters at the most: the old binary's while the new one
		// runs, and the new one's while its parent, the old one, lives,
		// must not start a third.
		if os.Getppid() == p.Cycle.Parent || p.Cycle.NewBinary > 0 { // 375
			action = ", ignoring" // 384
			ignore = true         // 385
			break                 // 386
		}

		p.changeBinary = true        // 389
		action = ", changing binary" // 390

	case syscall.SIGALRM: // 393
		p.sigalrm = true // 394

	case syscall.SIGIO: // 397
		p.sigio = true // 398

	case syscall.SIGCHLD: // 401
		p.reap = true // 402
	}

	return action, ignore
}

// workerSignal sets the flag of a signal to a worker and says, for the log,
// what will be done.
//
// DIVERGES: its own function; in nginx it is part of ngx_signal_handler.
//
//nginx:src/os/unix/ngx_process.c ngx_signal_handler
func (p *Process) workerSignal(signo syscall.Signal) (action string) {
	switch signo { // 410

	case syscall.SIGWINCH: // 412
		if !p.Daemonized { // 413
			break // 414
		}
		p.debugQuit = true // 416
		fallthrough

	case syscall.SIGQUIT: // 418
		p.quit = true              // 419
		action = ", shutting down" // 420

	case syscall.SIGTERM, syscall.SIGINT: // 423
		p.terminate = true   // 425
		action = ", exiting" // 426

	case syscall.SIGUSR1: // 429
		p.reopen = true             // 430
		action = ", reopening logs" // 431

	case syscall.SIGHUP, syscall.SIGUSR2, syscall.SIGIO: // 434
		action = ", ignoring" // 437
	}

	return action
}

// OSSignalProcess sends pid the signal that is called name on the command line
// and returns 0, or 1 if it could not. Mirrors ngx_os_signal_process.
//
//nginx:src/os/unix/ngx_process.c ngx_os_signal_process
func OSSignalProcess(cycle *event.Cycle, name string, pid int) int {
	for i := range signals { // 636
		sig := &signals[i] // 636

		if name == sig.name { // 637
			err := syscall.Kill(pid, sig.signo) // 638
			if err == nil {                     // 638
				return 0 // 639
			}

			cycle.Log.Error(core.LogAlert, core.ErrnoOf(err), "kill(%d, %d) failed", pid, int(sig.signo)) // 642
		}
	}

	return 1 // 647
}
