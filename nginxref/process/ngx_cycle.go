package process

import (
	"herd/nginxref/core"
	"herd/nginxref/event"
)

// setShutdownTimer limits the time that a worker told to quit waits for its
// connections. The timer does not itself keep the worker. Mirrors
// ngx_set_shutdown_timer.
//
//nginx:src/core/ngx_cycle.c ngx_set_shutdown_timer
func (p *Process) setShutdownTimer(cycle *event.Cycle) {
	ccf := &cycle.Conf // 1427

	if ccf.ShutdownTimeout != 0 { // 1429
		p.shutdownEvent.Handler = func(ev *event.Event) { shutdownTimerHandler(ev, cycle) } // 1430-1431
		p.shutdownEvent.Log = cycle.Log                                                     // 1432
		p.shutdownEvent.Cancelable = true                                                   // 1433

		cycle.AddTimer(&p.shutdownEvent, ccf.ShutdownTimeout) // 1435
	}
}

// shutdownTimerHandler has every client's handler close its connection.
// Mirrors ngx_shutdown_timer_handler.
//
//nginx:src/core/ngx_cycle.c ngx_shutdown_timer_handler
//nginx:omit 1447 an argument
func shutdownTimerHandler(ev *event.Event, cycle *event.Cycle) {
	c := cycle.Connections // 1449

	for i := range c { // 1451

		if c[i].Fd == -1 || c[i].Read.Accept || c[i].Read.Channel { // 1453
			continue // 1459
		}

		ev.Log.Debug(core.LogDebugCore, 0, "*%d shutdown timeout", c[i].Number) // 1462

		c[i].Close = true // 1465
		c[i].Error = true // 1466

		c[i].Read.Handler(c[i].Read) // 1468
	}
}
