package measure

import (
	"herd/nginxref/event"
	"herd/tools/fdpass"
)

// receiveFromMaster has a worker take its connections from its channel.
func receiveFromMaster(cycle *event.Cycle) {
	cycle.Actions.Accept = func(ev *event.Event) {
		lc := ev.Data
		fdpass.Receive(cycle.Kernel, lc.Fd, func(s int) { serve(lc.Listening, s) })
	}
}

// serve starts the protocol on a connection that came from the master.
func serve(ls *event.Listening, s int) {
	cycle := ls.Connection.Cycle
	cycle.Counters.CountAccept(0)
	c := cycle.GetConnection(s, &ls.Log)
	if c == nil {
		cycle.Kernel.Close(s)
		return
	}
	cycle.Kernel.AtomicFetchAdd(&cycle.Zone.Active.Word, 1)
	c.Listening = ls
	c.Read.Log = c.Log
	c.Write.Log = c.Log
	c.Write.Ready = true
	ls.Handler(c)
}
