package event

import (
	"herd/nginxref/core"
	"herd/nginxref/sys"
)

// Send writes buf and returns the bytes taken, perhaps fewer than given, or
// core.Again or core.Error as a negative number. Mirrors ngx_unix_send.
//
//nginx:src/os/unix/ngx_send.c ngx_unix_send
//nginx:omit 49 the call returns the errno
func (c *Connection) Send(buf []byte) int {
	wev := c.Write // 20

	for { // 33
		n, err := c.Cycle.Kernel.Send(c.Fd, buf) // 34

		c.Log.Debug(core.LogDebugEvent, 0, "send: fd:%d %d of %d", c.Fd, n, len(buf)) // 36

		if err == 0 && n > 0 { // 39
			if n < len(buf) { // 40
				wev.Ready = false // 41
			}

			c.Sent += int64(n) // 44

			return n // 46
		}

		if err == 0 { // 51
			c.Log.Error(core.LogAlert, err, "send() returned zero") // 52
			wev.Ready = false                                       // 53
			return n                                                // 54
		}

		if err == sys.EAGAIN || err == sys.EINTR { // 57
			wev.Ready = false // 58

			c.Log.Debug(core.LogDebugEvent, err, "send() not ready") // 60

			if err == sys.EAGAIN { // 63
				return int(core.Again) // 64
			}

		} else {
			wev.Error = true                                 // 68
			c.Cycle.ConnectionError(c, err, "send() failed") // 69
			return int(core.Error)                           // 70
		}
	}
}
