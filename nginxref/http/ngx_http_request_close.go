package http

import (
	"herd/nginxref/core"
	"herd/nginxref/event"
)

// setKeepalive frees the request and starts the next one, if there is
// something of it already, or has the connection wait for it, idle and open
// to be closed when connections run out. Mirrors ngx_http_set_keepalive.
func setKeepalive(r *Request) {
	c := r.connection
	cycle := c.Cycle
	rev := c.Read
	clcf := r.locConf

	c.Log.Debug(core.LogDebugHTTP, 0, "set http keepalive handler")

	c.Log.Action = "closing request"

	hc := r.httpConnection
	b := r.headerIn

	if b.pos < b.last && b != hc.buffer {
		hc.keepBusy(b)
	}

	freeRequest(r, 0)

	c.Data = hc

	if cycle.HandleReadEvent(rev) != core.OK {
		closeConnection(c)
		return
	}

	c.Write.Handler = emptyHandler

	if b.pos < b.last {

		c.Log.Debug(core.LogDebugHTTP, 0, "pipelined request")

		c.Log.Action = "reading client pipelined request line"

		r = createRequest(hc)

		r.pipeline = true

		c.Data = r

		c.Sent = 0
		c.Destroyed = false

		if rev.TimerSet {
			cycle.DelTimer(rev)
		}

		rev.Handler = processRequestLine
		event.PostEvent(rev, &cycle.PostedEvents)
		return
	}

	hc.freeBuffer()

	c.Log.Debug(core.LogDebugHTTP, 0, "hc free: %p", hc.free.ptr())

	c.Log.Debug(core.LogDebugHTTP, 0, "hc busy: %p %d", hc.busy.ptr(), hc.nbusy)

	hc.freeLargeBuffers()

	rev.Handler = keepaliveHandler

	c.Log.Action = "keepalive"

	if clcf.TCPNodelay && cycle.SetTCPNodelay(c) != core.OK {
		closeConnection(c)
		return
	}

	c.Idle = true
	cycle.ReusableConnection(c, true)

	cycle.AddTimer(rev, clcf.KeepaliveTimeout)

	if rev.Ready {
		event.PostEvent(rev, &cycle.PostedEvents)
	}
}

// keepBusy moves all the large buffers but b, which holds the beginning of a
// pipelined request, to the free list.
//
// DIVERGES: its own function; in nginx it is a branch of
// ngx_http_set_keepalive.
func (hc *connection) keepBusy(b *buf) {
	for f := hc.busy; f != nil; {
		next := f.next
		if f != b {
			f.reset()
			f.next = hc.free
			hc.free = f
		}
		f = next
	}

	b.next = nil
	hc.busy = b
	hc.nbusy = 1
}

// keepaliveHandler reads the first bytes of the next request. Mirrors
// ngx_http_keepalive_handler.
func keepaliveHandler(rev *event.Event) {
	c := rev.Data
	cycle := c.Cycle

	c.Log.Debug(core.LogDebugHTTP, 0, "http keepalive handler")

	if rev.Timedout || c.Close {
		closeConnection(c)
		return
	}

	hc := c.Data.(*connection)
	b := hc.getBuffer(hc.addrConf.defaultServer)

	// Some browsers end keepalive with a reset.
	c.LogError = event.ErrorIgnoreEconnreset

	n := c.Recv(b.data[b.last:])
	c.LogError = event.ErrorInfo

	if n == int(core.Again) {
		if cycle.HandleReadEvent(rev) != core.OK {
			closeConnection(c)
			return
		}

		hc.freeBuffer()

		return
	}

	if n == int(core.Error) {
		closeConnection(c)
		return
	}

	c.Log.Handler = nil

	if n == 0 {
		c.Log.Error(core.LogInfo, 0, "client %s closed keepalive connection", c.AddrText)
		closeConnection(c)
		return
	}

	b.last += n

	c.Log.Handler = logError
	c.Log.Action = "reading client request line"

	c.Idle = false
	cycle.ReusableConnection(c, false)

	c.Data = createRequest(hc)

	c.Sent = 0
	c.Destroyed = false

	cycle.DelTimer(rev)

	rev.Handler = processRequestLine
	processRequestLine(rev)
}

// setLingeringClose sends the end of the connection and goes on reading for a
// while: closing with input unread would reset the connection, and the client
// might never see the answer. Mirrors ngx_http_set_lingering_close.
func setLingeringClose(c *event.Connection) {
	r := c.Data.(*Request)
	cycle := c.Cycle
	clcf := r.locConf

	if r.lingeringTime == 0 {
		r.lingeringTime = cycle.Time.Sec + int64(clcf.LingeringTime/1000)
	}

	rev := c.Read
	rev.Handler = lingeringCloseHandler

	if cycle.HandleReadEvent(rev) != core.OK {
		closeRequest(r, 0)
		return
	}

	c.Write.Handler = emptyHandler

	if err := cycle.Kernel.Shutdown(c.Fd); err != 0 {
		cycle.ConnectionError(c, err, "shutdown() failed")
		closeRequest(r, 0)
		return
	}

	c.Close = false
	cycle.ReusableConnection(c, true)

	cycle.AddTimer(rev, clcf.LingeringTimeout)

	if rev.Ready {
		lingeringCloseHandler(rev)
	}
}

// lingeringCloseHandler reads and throws away. Mirrors
// ngx_http_lingering_close_handler.
func lingeringCloseHandler(rev *event.Event) {
	c := rev.Data
	r := c.Data.(*Request)
	cycle := c.Cycle

	c.Log.Debug(core.LogDebugHTTP, 0, "http lingering close handler")

	if rev.Timedout || c.Close {
		closeRequest(r, 0)
		return
	}

	timer := r.lingeringTime - cycle.Time.Sec
	if timer <= 0 {
		closeRequest(r, 0)
		return
	}

	for {
		n := c.Recv(r.httpConnection.main.discard[:lingeringBufferSize])

		c.Log.Debug(core.LogDebugHTTP, 0, "lingering read: %d", n)

		if n == int(core.Again) {
			break
		}

		if n == int(core.Error) || n == 0 {
			closeRequest(r, 0)
			return
		}

		if !rev.Ready {
			break
		}
	}

	if cycle.HandleReadEvent(rev) != core.OK {
		closeRequest(r, 0)
		return
	}

	cycle.AddTimer(rev, lingeringTimer(r, timer))
}

// closeRequest ends the request and its connection, once nobody is at work on
// it any more. Mirrors ngx_http_close_request.
func closeRequest(r *Request, rc core.Status) {
	c := r.connection

	c.Log.Debug(core.LogDebugHTTP, 0, "http request count:%d blk:%d", r.count, 0)

	if r.count == 0 {
		c.Log.Error(core.LogAlert, 0, "http request count is zero")
	}

	r.count--

	if r.count != 0 {
		return
	}

	freeRequest(r, rc)

	c.Data = r.httpConnection
	closeConnection(c)
}

// freeRequest logs the request and puts it on the free list. Nobody may use
// it after that. Mirrors ngx_http_free_request.
func freeRequest(r *Request, rc core.Status) {
	c := r.connection
	cycle := c.Cycle
	log := c.Log

	log.Debug(core.LogDebugHTTP, 0, "http close request")

	if r.closed {
		log.Error(core.LogAlert, 0, "http request already closed")
		return
	}

	if r.statReading {
		cycle.Kernel.AtomicFetchAdd(&cycle.Zone.Reading.Word, -1)
	}

	if r.statWriting {
		cycle.Kernel.AtomicFetchAdd(&cycle.Zone.Writing.Word, -1)
	}

	if rc > 0 && (r.headersOut.status == 0 || c.Sent == 0) {
		r.headersOut.status = rc
	}

	if !r.logged {
		log.Action = "logging request"

		logRequest(r)
	}

	log.Action = "closing request"

	hc := r.httpConnection
	hc.request = nil

	r.requestLine = nil

	c.Destroyed = true

	r.closed = true

	r.next = hc.main.freeRequests
	hc.main.freeRequests = r
}

// logRequest runs the log phase. Mirrors ngx_http_log_request.
func logRequest(r *Request) {
	logHandler(r)
}

// closeConnection closes c and gives back what HTTP kept for it. Mirrors
// ngx_http_close_connection.
func closeConnection(c *event.Connection) {
	cycle := c.Cycle
	hc := c.Data.(*connection)

	c.Log.Debug(core.LogDebugHTTP, 0, "close http connection: %d", c.Fd)

	cycle.Kernel.AtomicFetchAdd(&cycle.Zone.Active.Word, -1)

	c.Destroyed = true

	cycle.CloseConnection(c)

	hc.main.putConnection(hc)
}
