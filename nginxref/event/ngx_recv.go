package event

import (
	"herd/nginxref/core"
	"herd/nginxref/sys"
)

// Recv reads into buf and returns the bytes read, 0 at end of input, or
// core.Again or core.Error as a negative number. Mirrors ngx_unix_recv.
func (c *Connection) Recv(buf []byte) int {
	rev := c.Read
	kernel := c.Cycle.Kernel

	c.Log.Debug(core.LogDebugEvent, 0, "recv: eof:%d, avail:%d", rev.PendingEOF, rev.Available)

	if rev.Available == 0 && !rev.PendingEOF {
		rev.Ready = false
		return int(core.Again)
	}

	var status core.Status

	for {
		n, err := kernel.Recv(c.Fd, buf)

		c.Log.Debug(core.LogDebugEvent, 0, "recv: fd:%d %d of %d", c.Fd, n, len(buf))

		if err == 0 && n == 0 {
			rev.Ready = false
			rev.EOF = true

			return 0
		}

		if err == 0 {
			return c.received(n, len(buf))
		}

		if err == sys.EAGAIN || err == sys.EINTR {
			c.Log.Debug(core.LogDebugEvent, err, "recv() not ready")
			status = core.Again

		} else {
			status = c.Cycle.ConnectionError(c, err, "recv() failed")
			break
		}

		if err != sys.EINTR {
			break
		}
	}

	rev.Ready = false

	if status == core.Error {
		rev.Error = true
	}

	return int(status)
}

// received works out, after n bytes came into a buffer of size bytes, whether
// more are known to wait.
//
// DIVERGES: its own function; in nginx it is a branch of ngx_unix_recv.
func (c *Connection) received(n, size int) int {
	rev := c.Read

	if rev.Available >= 0 {
		rev.Available -= n

		// Fewer than 0 left: more came between the kernel's report and the
		// read, and that brings a new event even edge-triggered.
		if rev.Available < 0 {
			rev.Available = 0
			rev.Ready = false
		}

		c.Log.Debug(core.LogDebugEvent, 0, "recv: avail:%d", rev.Available)

	} else if n == size {

		nread, err := c.Cycle.Kernel.Nread(c.Fd)
		if err != 0 {
			status := c.Cycle.ConnectionError(c, err, "ioctl(FIONREAD) failed")
			rev.Ready = false
			rev.Error = status == core.Error
			return int(status)
		}
		rev.Available = nread

		c.Log.Debug(core.LogDebugEvent, 0, "recv: avail:%d", rev.Available)
	}

	if n < size {
		if !rev.PendingEOF {
			rev.Ready = false
		}

		rev.Available = 0
	}

	return n
}
