package http

import (
	"syscall"

	"herd/nginxref/core"
	"herd/nginxref/sys"
)

// finalizeRequest is where every request comes once its handler is through
// with it. rc is OK, Error, done for one of several at work on it, or a status
// to answer with. Mirrors ngx_http_finalize_request.
func finalizeRequest(r *Request, rc core.Status) {
	c := r.connection
	cycle := c.Cycle

	c.Log.Debug(core.LogDebugHTTP, 0, "http finalize request: %d, \"%s?%s\" a:%d, c:%d",
		rc, r.uri, r.args, c.Data == any(r), r.count)

	if rc == done {
		finalizeConnection(r)
		return
	}

	if rc == core.OK && r.filterFinalize {
		c.Error = true
	}

	if rc == core.Declined {
		r.writeEventHandler = coreRunPhases
		coreRunPhases(r)
		return
	}

	if rc == core.Error ||
		rc == httpRequestTimeOut ||
		rc == httpClientClosedRequest ||
		c.Error {
		terminateRequest(r, rc)
		return
	}

	if rc >= httpSpecialResponse ||
		rc == httpCreated ||
		rc == httpNoContent {
		if rc == httpClose {
			c.Timedout = true
			terminateRequest(r, rc)
			return
		}

		if c.Read.TimerSet {
			cycle.DelTimer(c.Read)
		}

		if c.Write.TimerSet {
			cycle.DelTimer(c.Write)
		}

		c.Read.Handler = requestHandler
		c.Write.Handler = requestHandler

		finalizeRequest(r, specialResponseHandler(r, rc))
		return
	}

	if r.buffered {

		if setWriteHandler(r) != core.OK {
			terminateRequest(r, 0)
		}

		return
	}

	r.readEventHandler = blockReading
	r.writeEventHandler = requestEmptyHandler

	if c.Read.TimerSet {
		cycle.DelTimer(c.Read)
	}

	if c.Write.TimerSet {
		cycle.DelTimer(c.Write)
	}

	finalizeConnection(r)
}

// terminateRequest ends a request without regard to what is still to be sent.
// If it is being answered it is closed only by runPostedRequests, because its
// handlers up the stack may still look at it. Mirrors
// ngx_http_terminate_request.
func terminateRequest(r *Request, rc core.Status) {
	log := r.connection.Log

	log.Debug(core.LogDebugHTTP, 0, "http terminate request count:%d", r.count)

	if rc > 0 && (r.headersOut.status == 0 || r.connection.Sent == 0) {
		r.headersOut.status = rc
	}

	log.Debug(core.LogDebugHTTP, 0, "http terminate cleanup count:%d blk:%d", r.count, 0)

	if r.writeEventHandler != nil {
		r.writeEventHandler = terminateHandler
		r.posted = true
		return
	}

	closeRequest(r, rc)
}

// terminateHandler closes a request that was terminated. Mirrors
// ngx_http_terminate_handler.
func terminateHandler(r *Request) {
	r.connection.Log.Debug(core.LogDebugHTTP, 0, "http terminate handler count:%d", r.count)

	r.count = 1

	closeRequest(r, 0)
}

// finalizeConnection decides what becomes of the connection of a request that
// has been answered: the next request, a lingering close, or a close. Mirrors
// ngx_http_finalize_connection.
func finalizeConnection(r *Request) {
	c := r.connection
	cycle := c.Cycle
	clcf := r.locConf

	if r.count != 1 {

		if r.discardBody {
			r.readEventHandler = discardedRequestBodyHandler
			cycle.AddTimer(c.Read, clcf.LingeringTimeout)

			if r.lingeringTime == 0 {
				r.lingeringTime = cycle.Time.Sec + int64(clcf.LingeringTime/1000)
			}
		}

		closeRequest(r, 0)
		return
	}

	if c.Read.EOF {
		closeRequest(r, 0)
		return
	}

	if !cycle.Exiting && r.keepalive && clcf.KeepaliveTimeout > 0 {
		setKeepalive(r)
		return
	}

	if r.lingeringClose || r.headerIn.pos < r.headerIn.last || c.Read.Ready {
		setLingeringClose(c)
		return
	}

	closeRequest(r, 0)
}

// setWriteHandler goes on sending when the client has taken what it was sent.
// Mirrors ngx_http_set_write_handler.
func setWriteHandler(r *Request) core.Status {
	c := r.connection
	wev := c.Write

	r.readEventHandler = testReading
	if r.discardBody {
		r.readEventHandler = discardedRequestBodyHandler
	}
	r.writeEventHandler = writer

	c.Cycle.AddTimer(wev, r.locConf.SendTimeout)

	if c.Cycle.HandleWriteEvent(wev) != core.OK {
		closeRequest(r, 0)
		return core.Error
	}

	return core.OK
}

// writer is the write handler of a request whose answer did not fit. Mirrors
// ngx_http_writer.
func writer(r *Request) {
	c := r.connection
	cycle := c.Cycle
	wev := c.Write

	wev.Log.Debug(core.LogDebugHTTP, 0, "http writer handler: \"%s?%s\"", r.uri, r.args)

	if wev.Timedout {
		c.Log.Error(core.LogInfo, sys.ETIMEDOUT, "client timed out")
		c.Timedout = true

		finalizeRequest(r, httpRequestTimeOut)
		return
	}

	rc := outputFilter(r, false)

	c.Log.Debug(core.LogDebugHTTP, 0, "http writer output filter: %d, \"%s?%s\"", rc, r.uri, r.args)

	if rc == core.Error {
		finalizeRequest(r, rc)
		return
	}

	if r.buffered {

		cycle.AddTimer(wev, r.locConf.SendTimeout)

		if cycle.HandleWriteEvent(wev) != core.OK {
			closeRequest(r, 0)
		}

		return
	}

	wev.Log.Debug(core.LogDebugHTTP, 0, "http writer done: \"%s?%s\"", r.uri, r.args)

	r.writeEventHandler = requestEmptyHandler

	finalizeRequest(r, rc)
}

// testReading is the read handler while an answer is being sent: only the end
// of the connection is of interest. Mirrors ngx_http_test_reading.
func testReading(r *Request) {
	c := r.connection
	rev := c.Read

	c.Log.Debug(core.LogDebugHTTP, 0, "http test reading")

	if !rev.PendingEOF {
		return
	}

	rev.EOF = true
	c.Error = true

	err := socketError(c.Fd)

	if err != 0 {
		rev.Error = true
	}

	c.Log.Error(core.LogInfo, err, "client prematurely closed connection")

	finalizeRequest(r, httpClientClosedRequest)
}

// socketError returns and clears the error that is pending on a socket.
func socketError(fd int) sys.Errno {
	value, err := syscall.GetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_ERROR)
	if err != nil {
		return core.ErrnoOf(err)
	}
	return sys.Errno(value)
}
