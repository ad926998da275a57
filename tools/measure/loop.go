package measure

import (
	"herd/nginxref/core"
	"herd/nginxref/event"
	"herd/nginxref/sys"
)

// Loop is a worker's life without the event core. serve greets a connection
// and closes it. Whatever the loop sleeps in, cycle.Kernel counts.
type Loop func(cycle *event.Cycle, serve func(conn int))

// replaceLoop has the workers run the fix's loop.
func (f *Fix) replaceLoop(cycle *event.Cycle) {
	cycle.Modules[0].InitProcess = func(cycle *event.Cycle) core.Status {
		cycle.Kernel = newLoopKernel(cycle, f.Blocking)
		f.Loop(cycle, func(conn int) {
			cycle.Kernel.Send(conn, greeting)
			cycle.Kernel.Close(conn)
		})
		cycle.Log.Error(core.LogEmerg, 0, "the loop of a worker came to its end")
		return core.Error
	}
}

// acceptLoop sleeps in accept4, where the kernel keeps its own queue of
// waiters and wakes one a connection.
func acceptLoop(cycle *event.Cycle, serve func(conn int)) {
	var sa sys.Sockaddr
	for {
		if conn, err := cycle.Kernel.Accept4(cycle.Listening[0].Fd, &sa); err == 0 {
			serve(conn)
		}
	}
}
