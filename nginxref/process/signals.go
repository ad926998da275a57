package process

import (
	"os"
	"os/signal"
	"slices"
	"syscall"

	"herd/nginxref/core"
	"herd/nginxref/event"
)

// A signal's way to the loop thread:
//
//	kernel -> Go's handler -> a channel of its own -> pending -> wake
//
// The loop's thread itself takes none, because the kernel would interrupt its
// wait before the flag is set, and the wake would interrupt it again. os/signal
// keeps a thread for what it was asked for.
//
// Each kind has its channel with room for one, and its flag. Go drops a signal
// whose channel is full, and then an equal one is waiting in it: equal signals
// merge, as pending signals do in the kernel, and none is lost. The flag is set
// before the loop is woken; the other way round it might look, find nothing
// and go back to sleep.

// notified holds the channel of each kind that is not ignored.
type notified [len(signals)]chan os.Signal

// notifySignals begins to collect signals.
//
//nginx:src/os/unix/ngx_process.c ngx_init_signals
//nginx:omit 291, 301-309 os/signal has no arguments to prepare and does not fail
func notifySignals() *notified {
	var channels notified

	for i := range signals { // 290
		if !signals[i].ignored { // 293
			channels[i] = make(chan os.Signal, 1)        // 294
			signal.Notify(channels[i], signals[i].signo) // 295

		} else {
			signal.Ignore(signals[i].signo) // 298
		}
	}
	return &channels
}

// InitSignals begins to collect signals; the cycles handle them. Mirrors
// ngx_init_signals.
//
//nginx:src/os/unix/ngx_process.c ngx_init_signals
func (p *Process) InitSignals() core.Status {
	p.signals = notifySignals()

	return core.OK // 314
}

// startSignals has wake called, by another thread, when something is pending.
func (p *Process) startSignals(wake func()) {
	for i, ch := range p.signals {
		if ch == nil {
			continue
		}
		p.collectors.Go(func() {
			for range ch {
				if !p.pending[i].Swap(true) { // else it has been woken
					wake()
				}
			}
		})
	}
}

// stopSignals gives the signals back to the program. Those that the master has
// asked for itself may still be on their way, and would by default end it. From
// then on nothing calls wake.
func (p *Process) stopSignals() {
	signal.Ignore(syscall.SIGALRM, syscall.SIGIO)

	for _, ch := range p.signals {
		if ch != nil {
			signal.Stop(ch)
			close(ch)
		}
	}
	p.collectors.Wait()
}

// wake ends the master's sleep.
func (p *Process) wake() {
	select {
	case p.awake <- struct{}{}:
	default: // it is on its way already
	}
}

// notify returns what interrupts a loop's wait.
func (p *Process) notify(cycle *event.Cycle) (wake func()) {
	p.onNotify = func(*event.Event) { p.handlePending() }
	p.loop.Store(cycle)

	return func() { p.loop.Load().Notify(&p.onNotify) }
}

// notifyMoved wakes the loop of cycle, which takes another's place, for what may
// have woken that one too late.
func (p *Process) notifyMoved(cycle *event.Cycle) {
	p.loop.Store(cycle)

	for i := range p.pending {
		if p.pending[i].Load() {
			cycle.Notify(&p.onNotify)
		}
	}
}

// sigsuspend sleeps until a signal comes and handles all that are pending.
// Mirrors sigsuspend(2) with an empty mask.
func (p *Process) sigsuspend() {
	for !p.handlePending() {
		<-p.awake
	}
}

// handlePending runs the signal handler once for each kind of signal that has
// come, and reports whether there was any.
func (p *Process) handlePending() (any bool) {
	for i := range signals {
		if p.pending[i].Swap(false) {
			p.handle(i)
			any = true
		}
	}
	return any
}

// alarmSignal is the place of SIGALRM in signals.
var alarmSignal = slices.IndexFunc(signals[:], func(s signalEntry) bool { return s.signo == syscall.SIGALRM })

// handle runs the handler of signal i. In a process with timer_resolution that
// of SIGALRM is the event core's.
func (p *Process) handle(i int) {
	if i == alarmSignal && p.Cycle.Process != event.ProcessMaster && p.Cycle.Conf.TimerResolution != 0 {
		p.Cycle.TimerSignal()
		return
	}
	p.signalHandler(&signals[i])
}
