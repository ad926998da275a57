package measure

import (
	"herd/nginxref/core"
	"herd/nginxref/event"
	"herd/nginxref/sys"
)

// ReceiveBy returns the Configure of a fix that has Dispatch: each worker
// takes its connections from its channel by receive, which calls got with each
// until there are no more.
func ReceiveBy(receive func(kernel sys.Kernel, channel int, got func(s int)) core.Status) func(*event.Cycle) {
	return func(cycle *event.Cycle) {
		cycle.Actions.Accept = func(ev *event.Event) {
			lc := ev.Data
			receive(cycle.Kernel, lc.Fd, func(s int) { serve(lc.Listening, s) })
		}
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
