package http

import (
	"unsafe"

	"herd/nginxref/core"
	"herd/nginxref/event"
	"herd/nginxref/sys"
)

// postponeOutput is how many bytes are worth a system call of their own while
// more are to come (postpone_output).
const postponeOutput = 1460

// maxOut is the most pieces an answer is sent in: the header and the page of
// an error in two, with the padding.
const maxOut = 4

// writeFilter adds pieces to what is to be sent, the last of the answer if
// last is set, and sends what there is, if it is worth it. It returns Again if
// some of it must wait for the client. Mirrors ngx_http_write_filter.
//
// DIVERGES: there is no limit_rate, and nothing as long as
// sendfile_max_chunk.
func writeFilter(r *Request, last bool, in ...[]byte) core.Status {
	c := r.connection

	if c.Error {
		return core.Error
	}

	for _, piece := range in {
		if len(piece) != 0 {
			r.out = append(r.out, piece)
		}
	}

	size := 0
	for _, piece := range r.out {
		size += len(piece)
	}

	if last {
		r.outLast = true
	}

	c.Log.Debug(core.LogDebugHTTP, 0, "http write filter: l:%d f:%d s:%d", r.outLast, 0, size)

	if !r.outLast && len(in) != 0 && size < postponeOutput {
		return core.OK
	}

	if size == 0 {
		r.buffered = false

		return core.OK
	}

	c.Log.Debug(core.LogDebugHTTP, 0, "http write filter limit %d", 0)

	rc := sendChain(c, &r.out)

	c.Log.Debug(core.LogDebugHTTP, 0, "http write filter %p", outPtr(r.out))

	if rc == core.Error {
		c.Error = true
		return core.Error
	}

	if rc == core.Again {
		r.buffered = true
		return core.Again
	}

	r.buffered = false

	return core.OK
}

// outPtr returns what stands for the rest of the pieces in the log.
func outPtr(out [][]byte) unsafe.Pointer {
	if len(out) == 0 {
		return nil
	}
	return unsafe.Pointer(unsafe.SliceData(out))
}

// sendChain sends pieces until they are all sent, and then out is empty, or
// the client must take some first: Again. Mirrors ngx_linux_sendfile_chain.
func sendChain(c *event.Connection, out *[][]byte) core.Status {
	wev := c.Write

	if !wev.Ready {
		return core.Again
	}

	for len(*out) != 0 {
		n := writev(c, *out)

		if n == int(core.Error) {
			return core.Error
		}

		if n == int(core.Again) {
			wev.Ready = false
			return core.Again
		}

		c.Sent += int64(n)

		*out = updateSent(*out, n)
	}

	return core.OK
}

// writev sends pieces by one system call and returns the bytes taken, Again
// or Error. Mirrors ngx_writev.
func writev(c *event.Connection, pieces [][]byte) int {
	size := 0
	for _, piece := range pieces {
		size += len(piece)
	}

	for {
		n, err := c.Cycle.Kernel.Writev(c.Fd, pieces)

		c.Log.Debug(core.LogDebugEvent, 0, "writev: %d of %d", n, size)

		switch err {
		case 0:
			return n

		case sys.EAGAIN:
			c.Log.Debug(core.LogDebugEvent, err, "writev() not ready")
			return int(core.Again)

		case sys.EINTR:
			c.Log.Debug(core.LogDebugEvent, err, "writev() was interrupted")

		default:
			c.Write.Error = true
			c.Cycle.ConnectionError(c, err, "writev() failed")
			return int(core.Error)
		}
	}
}

// updateSent returns what is left of pieces when n bytes have been sent.
// Mirrors ngx_chain_update_sent.
func updateSent(pieces [][]byte, n int) [][]byte {
	for len(pieces) != 0 && n >= len(pieces[0]) {
		n -= len(pieces[0])
		pieces = pieces[1:]
	}
	if n != 0 {
		pieces[0] = pieces[0][n:]
	}
	return pieces
}
