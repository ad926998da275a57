package http

import (
	"bytes"

	"herd/nginxref/core"
	"herd/nginxref/event"
	"herd/nginxref/sys"
)

// InitConnection starts HTTP on a connection that was just accepted. It
// mirrors ngx_http_init_connection.
func InitConnection(c *event.Connection) {
	cycle := c.Cycle
	port := c.Listening.Servers.(*Port)

	hc := port.main.getConnection(c)
	c.Data = hc

	hc.addrConf = port.addrs[0]
	if len(port.addrs) > 1 {
		local, err := localSockaddr(c)
		if err != nil {
			cycle.ConnectionError(c, core.ErrnoOf(err), "getsockname() failed")
			closeConnection(c)
			return
		}
		hc.addrConf = port.find(&local)
	}

	c.Log.Connection = c.Number
	c.Log.Handler = logError
	c.Log.Data = hc
	c.Log.Action = "waiting for request"

	c.LogError = event.ErrorInfo

	rev := c.Read
	rev.Handler = waitRequestHandler
	c.Write.Handler = emptyHandler

	// book:deferred
	if rev.Ready {
		// A deferred accept: there is input already.
		if cycle.UseAcceptMutex {
			event.PostEvent(rev, &cycle.PostedEvents)
			return
		}

		rev.Handler(rev)
		return
	}
	// book:end

	cscf := hc.addrConf.defaultServer

	cycle.AddTimer(rev, cscf.ClientHeaderTimeout)
	cycle.ReusableConnection(c, true)

	if cycle.HandleReadEvent(rev) != core.OK {
		closeConnection(c)
		return
	}
}

// find returns the address of the port that is local, or the wildcard.
func (port *Port) find(local *sys.Sockaddr) *Addr {
	last := len(port.addrs) - 1
	for _, addr := range port.addrs[:last] {
		if bytes.Equal(ipOf(&addr.sockaddr), ipOf(local)) {
			return addr
		}
	}
	return port.addrs[last]
}

// waitRequestHandler reads the first bytes of a connection. Mirrors
// ngx_http_wait_request_handler.
func waitRequestHandler(rev *event.Event) {
	c := rev.Data
	cycle := c.Cycle

	c.Log.Debug(core.LogDebugHTTP, 0, "http wait request handler")

	if rev.Timedout {
		c.Log.Error(core.LogInfo, sys.ETIMEDOUT, "client timed out")
		closeConnection(c)
		return
	}

	if c.Close {
		closeConnection(c)
		return
	}

	hc := c.Data.(*connection)
	cscf := hc.addrConf.defaultServer

	b := hc.getBuffer(cscf)

	n := c.Recv(b.data[b.last:])

	if n == int(core.Again) {

		if !rev.TimerSet {
			cycle.AddTimer(rev, cscf.ClientHeaderTimeout)
			cycle.ReusableConnection(c, true)
		}

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

	if n == 0 {
		c.Log.Error(core.LogInfo, 0, "client closed connection")
		closeConnection(c)
		return
	}

	b.last += n

	c.Log.Action = "reading client request line"

	cycle.ReusableConnection(c, false)

	c.Data = createRequest(hc)

	rev.Handler = processRequestLine
	processRequestLine(rev)
}

// getBuffer returns the connection's buffer, anew if it was given back while
// idle.
func (hc *connection) getBuffer(cscf *Server) *buf {
	if hc.buffer == nil {
		hc.buffer = hc.main.getBuf(cscf.ClientHeaderBufferSize)
	}
	return hc.buffer
}

// createRequest starts a request on hc. Mirrors ngx_http_create_request.
func createRequest(hc *connection) *Request {
	r := allocRequest(hc)
	c := hc.c

	c.Requests++

	setConnectionLog(c, r.locConf.ErrorLog)

	hc.request = r

	c.Cycle.Kernel.AtomicFetchAdd(&c.Cycle.Zone.Reading.Word, 1)
	r.statReading = true
	c.Cycle.Kernel.AtomicFetchAdd(&c.Cycle.Zone.Requests.Word, 1)

	return r
}

// allocRequest takes a request off the free list and makes it a new one.
// Mirrors ngx_http_alloc_request.
func allocRequest(hc *connection) *Request {
	r := hc.main.freeRequests
	if r == nil {
		r = &Request{}
	} else {
		hc.main.freeRequests = r.next
	}

	*r = Request{recycled: r.recycled}

	r.httpConnection = hc
	r.connection = hc.c

	r.srvConf = hc.addrConf.defaultServer
	r.locConf = r.srvConf.Location

	r.readEventHandler = blockReading

	r.headerIn = hc.buffer
	if hc.busy != nil {
		r.headerIn = hc.busy
	}

	r.requestStart = -1
	r.headerNameStart = -1
	r.out = r.outPieces[:0]

	r.count = 1

	r.method = methodUnknown
	r.httpVersion = httpVersion10

	r.headersIn.contentLengthN = -1
	r.headersOut.contentLengthN = -1

	return r
}

// setConnectionLog has c log where and as verbosely as log, unless it is nil.
// Mirrors ngx_set_connection_log.
func setConnectionLog(c *event.Connection, log *core.Log) {
	if log == nil {
		return
	}

	c.Log.File = log.File
	c.Log.Next = log.Next
	if c.Log.Level&core.LogDebugConnection == 0 {
		c.Log.Level = log.Level
	}
}

// requestHandler is called for events of either direction once the request
// has been read. Mirrors ngx_http_request_handler.
func requestHandler(ev *event.Event) {
	c := ev.Data
	r := c.Data.(*Request)

	c.Log.Debug(core.LogDebugHTTP, 0, "http run request: \"%s?%s\"", r.uri, r.args)

	if c.Close {
		r.count++
		terminateRequest(r, 0)
		runPostedRequests(c)
		return
	}

	if ev.Write {
		r.writeEventHandler(r)

	} else {
		r.readEventHandler(r)
	}

	runPostedRequests(c)
}

// runPostedRequests does what was put off until nobody up the stack uses the
// request any more. Mirrors ngx_http_run_posted_requests.
func runPostedRequests(c *event.Connection) {
	for {
		if c.Destroyed {
			return
		}

		r := c.Data.(*Request)

		if !r.posted {
			return
		}

		r.posted = false

		c.Log.Debug(core.LogDebugHTTP, 0, "http posted request: \"%s?%s\"", r.uri, r.args)

		r.writeEventHandler(r)
	}
}

// blockReading is the read handler of a request that wants no input. Mirrors
// ngx_http_block_reading.
func blockReading(r *Request) {
	r.connection.Log.Debug(core.LogDebugHTTP, 0, "http reading blocked")
}

// emptyHandler is for events that nobody waits for. Mirrors
// ngx_http_empty_handler.
func emptyHandler(wev *event.Event) {
	wev.Log.Debug(core.LogDebugHTTP, 0, "http empty handler")
}

// requestEmptyHandler is the same for a request. Mirrors
// ngx_http_request_empty_handler.
func requestEmptyHandler(r *Request) {
	r.connection.Log.Debug(core.LogDebugHTTP, 0, "http request empty handler")
}

// logError appends to a message what the connection was doing and for whom.
// Mirrors ngx_http_log_error and ngx_http_log_error_handler.
func logError(log *core.Log, b []byte) []byte {
	if log.Action != "" {
		b = append(b, " while "...)
		b = append(b, log.Action...)
	}

	hc := log.Data.(*connection)

	b = append(b, ", client: "...)
	b = append(b, hc.c.AddrText...)

	r := hc.request
	if r == nil {
		b = append(b, ", server: "...)
		return append(b, hc.c.Listening.AddrText...)
	}

	b = append(b, ", server: "...)
	b = append(b, r.srvConf.name()...)
	if line := r.lineForLog(); len(line) != 0 {
		b = appendQuoted(b, "request", line)
	}
	if h := r.headersIn.known[headerHost]; h.Key != nil {
		b = appendQuoted(b, "host", h.Value)
	}
	if h := r.headersIn.known[headerReferer]; h.Key != nil {
		b = appendQuoted(b, "referrer", h.Value)
	}
	return b
}

// appendQuoted appends a value and what it is.
func appendQuoted(b []byte, name string, value []byte) []byte {
	b = append(b, ", "...)
	b = append(b, name...)
	b = append(b, ": \""...)
	b = append(b, value...)
	return append(b, '"')
}

// lineForLog returns the request line, or as much of it as has come.
func (r *Request) lineForLog() []byte {
	if r.requestLine == nil && r.requestStart >= 0 {
		b := r.headerIn
		if r.requestStart >= b.last {
			return nil
		}
		line := b.data[r.requestStart:b.last]
		if i := bytes.IndexAny(line, "\r\n"); i >= 0 {
			line = line[:i]
		}
		r.requestLine = line
	}
	return r.requestLine
}
