// Package fdpass is Node's way to share a port: the master alone accepts, and
// hands each connection to a worker, in turn, as a descriptor over a Unix
// socket (SCM_RIGHTS).
//
//	s0 -> master -> c0 -> worker 0     s0  the listener
//	             -> c1 -> worker 1     ci  worker i's channel, a stream pair
//	             -> ..
package fdpass

import (
	"herd/nginxref/core"
	"herd/nginxref/sys"
)

// message goes with a descriptor. Each message is one byte and is read by
// itself: a read that is longer than one message could take the bytes of the
// next along, whose descriptor would then belong to nothing.
var message = []byte{'c'}

// Dispatcher is the master's side. Only the master's thread uses it.
type Dispatcher struct {
	Kernel   sys.Kernel
	Listener int
	Channels []int // the master's end of each worker's channel, non-blocking; -1: gone
	Next     int   // whose turn it is
	// Pending is a connection that was accepted when no channel had room, or
	// -1. It is the dispatcher's until it is sent, and nothing is accepted
	// before that: the rest waits in the listener's queue, where it costs no
	// descriptor.
	Pending int

	peer sys.Sockaddr
}

// New returns a dispatcher from listener to channels.
func New(kernel sys.Kernel, listener int, channels []int) *Dispatcher {
	return &Dispatcher{Kernel: kernel, Listener: listener, Channels: channels, Pending: -1}
}

// Dispatch takes one connection and passes it on. It returns core.Again if
// none waits, or if all channels are full; core.Error if accept4 failed, or if
// no worker is left, in which case the connection is closed.
func (d *Dispatcher) Dispatch() core.Status {
	s := d.Pending
	if s == -1 {
		var err sys.Errno
		s, err = d.Kernel.Accept4(d.Listener, &d.peer)
		switch {
		case err == sys.EAGAIN:
			return core.Again
		case err != 0:
			return core.Error
		}
	}

	status := d.pass(s)
	d.Pending = -1
	if status == core.Again {
		d.Pending = s // still ours
		return core.Again
	}
	// Sent, the message holds a reference of its own; kept, this one would be
	// a descriptor more for every connection.
	d.Kernel.Close(s)
	return status
}

// pass sends s to the next worker that can take it. One that has died is
// passed over from then on, and the same connection goes to the next.
func (d *Dispatcher) pass(s int) core.Status {
	status := core.Error
	for range d.Channels {
		i := d.Next
		d.Next = (d.Next + 1) % len(d.Channels)
		if d.Channels[i] == -1 {
			continue
		}
		_, err := d.Kernel.Sendmsg(d.Channels[i], message, s)
		switch err {
		case 0:
			return core.OK
		case sys.EAGAIN, sys.EINTR:
			status = core.Again
		default: // EPIPE or ECONNRESET: nobody has the other end
			d.Kernel.Close(d.Channels[i])
			d.Channels[i] = -1
		}
	}
	return status
}

// Receive takes the connections that wait in a worker's channel and calls got
// with each. It returns core.Again when there are no more, and core.Error if
// the master is gone or a message came without its descriptor.
func Receive(kernel sys.Kernel, channel int, got func(s int)) core.Status {
	var buf [1]byte

	for {
		m, err := kernel.Recvmsg(channel, buf[:])
		switch {
		case err == sys.EAGAIN:
			return core.Again
		case err == sys.EINTR:
			continue
		case err != 0 || m.N == 0:
			return core.Error
		case m.Truncated || m.Fd == -1:
			if m.Fd != -1 {
				kernel.Close(m.Fd)
			}
			return core.Error
		}
		got(m.Fd)
	}
}
