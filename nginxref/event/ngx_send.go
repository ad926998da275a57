package event

import (
	"herd/nginxref/core"
	"herd/nginxref/sys"
)

// Send writes buf and returns the bytes taken, perhaps fewer than given, or
// core.Again or core.Error as a negative number. Mirrors ngx_unix_send.
func (c *Connection) Send(buf []byte) int {
	wev := c.Write

	for {
		n, err := c.Cycle.Kernel.Send(c.Fd, buf)

		c.Log.Debug(core.LogDebugEvent, 0, "send: fd:%d %d of %d", c.Fd, n, len(buf))

		if err == 0 && n > 0 {
			if n < len(buf) {
				wev.Ready = false
			}

			c.Sent += int64(n)

			return n
		}

		if err == 0 {
			c.Log.Error(core.LogAlert, err, "send() returned zero")
			wev.Ready = false
			return n
		}

		if err == sys.EAGAIN || err == sys.EINTR {
			wev.Ready = false

			c.Log.Debug(core.LogDebugEvent, err, "send() not ready")

			if err == sys.EAGAIN {
				return int(core.Again)
			}

		} else {
			wev.Error = true
			c.Cycle.ConnectionError(c, err, "send() failed")
			return int(core.Error)
		}
	}
}
