package process

import (
	"herd/nginxref/core"
	"herd/nginxref/event"
)

// setShutdownTimer limits the time that a worker told to quit waits for its
// connections. The timer does not itself keep the worker. Mirrors
// ngx_set_shutdown_timer.
func (p *Process) setShutdownTimer(cycle *event.Cycle) {
	ccf := &cycle.Conf

	if ccf.ShutdownTimeout != 0 {
		p.shutdownEvent.Handler = func(ev *event.Event) { shutdownTimerHandler(ev, cycle) }
		p.shutdownEvent.Log = cycle.Log
		p.shutdownEvent.Cancelable = true

		cycle.AddTimer(&p.shutdownEvent, ccf.ShutdownTimeout)
	}
}

// shutdownTimerHandler has every client's handler close its connection.
// Mirrors ngx_shutdown_timer_handler.
func shutdownTimerHandler(ev *event.Event, cycle *event.Cycle) {
	c := cycle.Connections

	for i := range c {

		if c[i].Fd == -1 || c[i].Read.Accept || c[i].Read.Channel {
			continue
		}

		ev.Log.Debug(core.LogDebugCore, 0, "*%d shutdown timeout", c[i].Number)

		c[i].Close = true
		c[i].Error = true

		c[i].Read.Handler(c[i].Read)
	}
}
