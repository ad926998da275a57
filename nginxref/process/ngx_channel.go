package process

import (
	"unsafe"

	"herd/nginxref/core"
	"herd/nginxref/event"
	"herd/nginxref/sys"
)

// Commands on a channel.
const (
	CmdOpenChannel  = 1
	CmdCloseChannel = 2
	CmdQuit         = 3
	CmdTerminate    = 4
	CmdReopen       = 5
)

// Channel is one message from the master to a worker (ngx_channel_t): 32
// bytes, as nginx lays them out. All messages have that size and the reader
// asks for no more, so the stream keeps each descriptor with its message.
type Channel struct {
	Command uint64
	Pid     int32 // of the process that the command is about
	_       int32
	Slot    int64 // its place in the table
	Fd      int32 // its channel, or -1; a number of the sender's
	_       int32
}

const channelSize = int(unsafe.Sizeof(Channel{}))

// bytes returns the message as it travels.
func (ch *Channel) bytes() []byte { return (*[channelSize]byte)(unsafe.Pointer(ch))[:] }

// WriteChannel sends a message and, if ch.Fd is not -1, that descriptor. It
// returns Again if the channel is full. Mirrors ngx_write_channel.
func WriteChannel(kernel sys.Kernel, s int, ch *Channel, log *core.Log) core.Status {
	_, err := kernel.Sendmsg(s, ch.bytes(), int(ch.Fd))

	if err != 0 {
		if err == sys.EAGAIN {
			return core.Again
		}

		log.Error(core.LogAlert, err, "sendmsg() failed")
		return core.Error
	}

	return core.OK
}

// ReadChannel receives a message and returns its bytes, or Again if there is
// none, Error at the end of the channel, or Declined for a message that must
// be skipped, as a negative number. Mirrors ngx_read_channel.
//
// DIVERGES: where the descriptor is missing or cut off nginx returns an error,
// on which the worker closes its channel. That can happen to any worker that
// has run out of descriptors, and the master does not notice, because it holds
// both ends: its commands go nowhere, and the worker survives every QUIT.
// Skipping the message costs the worker one sibling it could not talk to.
func ReadChannel(kernel sys.Kernel, s int, ch *Channel, log *core.Log) int {
	m, err := kernel.Recvmsg(s, ch.bytes())
	n := m.N

	if err != 0 {
		if err == sys.EAGAIN {
			return int(core.Again)
		}

		log.Error(core.LogAlert, err, "recvmsg() failed")
		return int(core.Error)
	}

	if n == 0 {
		log.Debug(core.LogDebugCore, 0, "recvmsg() returned zero")
		return int(core.Error)
	}

	if n < channelSize {
		log.Error(core.LogAlert, 0, "recvmsg() returned not enough data: %d", n)
		return int(core.Error)
	}

	if m.Truncated {
		log.Error(core.LogAlert, 0, "recvmsg() truncated data")
		return int(core.Declined)
	}

	if ch.Command == CmdOpenChannel {

		if m.Fd == -1 {
			log.Error(core.LogAlert, 0, "recvmsg() returned no ancillary data")
			return int(core.Declined)
		}

		ch.Fd = int32(m.Fd)
	}

	return n
}

// AddChannelEvent has handler called when fd is ready for event, ReadEvent or
// WriteEvent. Mirrors ngx_add_channel_event.
func AddChannelEvent(cycle *event.Cycle, fd int, ready uint32, handler event.Handler) core.Status {
	c := cycle.GetConnection(fd, cycle.Log)

	if c == nil {
		return core.Error
	}

	rev := c.Read
	wev := c.Write

	rev.Log = cycle.Log
	wev.Log = cycle.Log

	rev.Channel = true
	wev.Channel = true

	ev := wev
	if ready == event.ReadEvent {
		ev = rev
	}

	ev.Handler = handler

	if cycle.AddEvent(ev, ready, 0) == core.Error {
		cycle.FreeConnection(c)
		return core.Error
	}

	return core.OK
}

// CloseChannel closes both ends. Mirrors ngx_close_channel.
func CloseChannel(kernel sys.Kernel, fd *[2]int, log *core.Log) {
	if err := kernel.Close(fd[0]); err != 0 {
		log.Error(core.LogAlert, err, "close() channel failed")
	}

	if err := kernel.Close(fd[1]); err != 0 {
		log.Error(core.LogAlert, err, "close() channel failed")
	}
}
