package main

import (
	"herd/nginxref/core"
	"herd/nginxref/sys"
	"herd/tools/fdpass"
	"herd/tools/lab"
)

// Dispatch takes one connection off d.Listener (d.Kernel.Accept4) and sends it
// to the worker whose turn it is: d.Next, a place in d.Channels, and then the
// one behind it. A channel of -1 belongs to a worker that is gone.
// d.Kernel.Sendmsg(channel, []byte{'c'}, s) sends the descriptor s with one
// byte.
//
//	Sendmsg returns        what to do
//	0                      close your own copy of s; core.OK
//	EAGAIN                 that channel is full: try the next worker
//	anything else          that worker is dead: close its channel, set it to
//	                       -1, try the next with the same connection
//
// If all channels are full, keep s in d.Pending and return core.Again; the next
// call begins with it instead of an accept. Without any worker left, close s
// and return core.Error. If nobody waits (EAGAIN of Accept4), core.Again.
func Dispatch(d *fdpass.Dispatcher) core.Status {
	lab.TODO("Dispatch")
	return core.OK
}

// Receive is the worker's side: it takes all connections that wait in channel
// (kernel.Recvmsg) and calls got with each. It returns core.Again when the
// channel is empty (EAGAIN), and core.Error at its end (0 bytes), or for a
// message that came without a descriptor (Fd is -1) or truncated.
func Receive(kernel sys.Kernel, channel int, got func(s int)) core.Status {
	lab.TODO("Receive")
	return core.OK
}
