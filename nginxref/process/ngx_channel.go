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
//
//nginx:src/os/unix/ngx_channel.c ngx_write_channel
//nginx:omit 82 the call returns the errno
func WriteChannel(kernel sys.Kernel, s int, ch *Channel, log *core.Log) core.Status {
	_, err := kernel.Sendmsg(s, ch.bytes(), int(ch.Fd)) // 29-79

	if err != 0 { // 81
		if err == sys.EAGAIN { // 83
			return core.Again // 84
		}

		log.Error(core.LogAlert, err, "sendmsg() failed") // 87
		return core.Error                                 // 88
	}

	return core.OK // 91
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
//
//nginx:src/os/unix/ngx_channel.c ngx_read_channel
//nginx:omit 131 the call returns the errno
func ReadChannel(kernel sys.Kernel, s int, ch *Channel, log *core.Log) int {
	m, err := kernel.Recvmsg(s, ch.bytes()) // 112-128
	n := m.N                                // 128

	if err != 0 { // 130
		if err == sys.EAGAIN { // 132
			return int(core.Again) // 133
		}

		log.Error(core.LogAlert, err, "recvmsg() failed") // 136
		return int(core.Error)                            // 137
	}

	if n == 0 { // 140
		log.Debug(core.LogDebugCore, 0, "recvmsg() returned zero") // 141
		return int(core.Error)                                     // 142
	}

	if n < channelSize { // 145
		log.Error(core.LogAlert, 0, "recvmsg() returned not enough data: %d", n) // 146
		return int(core.Error)                                                   // 148
	}

	// DIVERGES: nginx logs it at the end, and goes on.
	if m.Truncated { // 175
		// DIVERGES: with the condition.
		log.Error(core.LogAlert, 0, "recvmsg() truncated data") // 176
		return int(core.Declined)                               // DIVERGES: see above
	}

	if ch.Command == CmdOpenChannel { // 153

		if m.Fd == -1 { // 155, 161
			log.Error(core.LogAlert, 0, "recvmsg() returned no ancillary data") // 156, 163
			return int(core.Declined)                                           // 158, 167 DIVERGES: see above
		}

		ch.Fd = int32(m.Fd) // 172
	}

	return n // 194
}

// AddChannelEvent has handler called when fd is ready for event, ReadEvent or
// WriteEvent. Mirrors ngx_add_channel_event.
//
//nginx:src/os/unix/ngx_channel.c ngx_add_channel_event
//nginx:omit 211 no pool
//nginx:omit 226-229 epoll is the only event method
func AddChannelEvent(cycle *event.Cycle, fd int, ready uint32, handler event.Handler) core.Status {
	c := cycle.GetConnection(fd, cycle.Log) // 205

	if c == nil { // 207
		return core.Error // 208
	}

	rev := c.Read  // 213
	wev := c.Write // 214

	rev.Log = cycle.Log // 216
	wev.Log = cycle.Log // 217

	rev.Channel = true // 219
	wev.Channel = true // 220

	ev := wev                     // 222
	if ready == event.ReadEvent { // 222
		ev = rev // 222
	}

	ev.Handler = handler // 224

	if cycle.AddEvent(ev, ready, 0) == core.Error { // 233
		cycle.FreeConnection(c) // 234
		return core.Error       // 235
	}

	return core.OK // 239
}

// CloseChannel closes both ends. Mirrors ngx_close_channel.
//
//nginx:src/os/unix/ngx_channel.c ngx_close_channel
func CloseChannel(kernel sys.Kernel, fd *[2]int, log *core.Log) {
	if err := kernel.Close(fd[0]); err != 0 { // 246
		log.Error(core.LogAlert, err, "close() channel failed") // 247
	}

	if err := kernel.Close(fd[1]); err != 0 { // 250
		log.Error(core.LogAlert, err, "close() channel failed") // 251
	}
}
