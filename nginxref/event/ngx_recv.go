package event

import (
	"herd/nginxref/core"
	"herd/nginxref/sys"
)

// Recv reads into buf and returns the bytes read, 0 at end of input, or
// core.Again or core.Error as a negative number. Mirrors ngx_unix_recv.
//
//nginx:src/os/unix/ngx_recv.c ngx_unix_recv
//nginx:omit 55, 155, 171-177 epoll with EPOLLRDHUP is the only event method
//nginx:omit 180 the call returns the errno
func (c *Connection) Recv(buf []byte) int {
	rev := c.Read            // 20
	kernel := c.Cycle.Kernel // DIVERGES: nginx calls it directly

	c.Log.Debug(core.LogDebugEvent, 0, "recv: eof:%d, avail:%d", rev.PendingEOF, rev.Available) // 56

	if rev.Available == 0 && !rev.PendingEOF { // 60
		rev.Ready = false      // 61
		return int(core.Again) // 62
	}

	var status core.Status

	for { // 68
		n, err := kernel.Recv(c.Fd, buf) // 69

		c.Log.Debug(core.LogDebugEvent, 0, "recv: fd:%d %d of %d", c.Fd, n, len(buf)) // 71

		if err == 0 && n == 0 { // 74
			rev.Ready = false // 75
			rev.EOF = true    // 76

			return 0 // 91
		}

		if err == 0 { // 94
			return c.received(n, len(buf))
		}

		if err == sys.EAGAIN || err == sys.EINTR { // 182
			c.Log.Debug(core.LogDebugEvent, err, "recv() not ready") // 183
			status = core.Again                                      // 185

		} else {
			status = c.Cycle.ConnectionError(c, err, "recv() failed") // 188
			break                                                     // 189
		}

		if err != sys.EINTR { // 192
			break // 192
		}
	}

	rev.Ready = false // 194

	if status == core.Error { // 196
		rev.Error = true // 197
	}

	return int(status) // 200
}

// received works out, after n bytes came into a buffer of size bytes, whether
// more are known to wait.
//
// DIVERGES: its own function; in nginx it is a branch of ngx_unix_recv.
//
//nginx:src/os/unix/ngx_recv.c ngx_unix_recv
func (c *Connection) received(n, size int) int {
	rev := c.Read // DIVERGES: its own function

	if rev.Available >= 0 { // 121
		rev.Available -= n // 122

		// Fewer than 0 left: more came between the kernel's report and the
		// read, and that brings a new event even edge-triggered.
		if rev.Available < 0 { // 131
			rev.Available = 0 // 132
			rev.Ready = false // 133
		}

		c.Log.Debug(core.LogDebugEvent, 0, "recv: avail:%d", rev.Available) // 136

	} else if n == size { // 139

		nread, err := c.Cycle.Kernel.Nread(c.Fd) // 141
		if err != 0 {                            // 141
			status := c.Cycle.ConnectionError(c, err, "ioctl(FIONREAD) failed") // 142
			// DIVERGES: in nginx it breaks out of the loop, to these.
			rev.Ready = false
			rev.Error = status == core.Error
			return int(status) // 144
		}
		rev.Available = nread // DIVERGES: in nginx the call stores it

		c.Log.Debug(core.LogDebugEvent, 0, "recv: avail:%d", rev.Available) // 147
	}

	if n < size { // 158
		if !rev.PendingEOF { // 159
			rev.Ready = false // 160
		}

		rev.Available = 0 // 163
	}

	return n // 166
}
