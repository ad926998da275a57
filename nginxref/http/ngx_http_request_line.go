package http

import (
	"herd/nginxref/core"
	"herd/nginxref/event"
	"herd/nginxref/sys"
)

// clientErrors say what is wrong with a request line, by the parser's result.
var clientErrors = [...]string{
	parseInvalidMethod:   "client sent invalid method",
	parseInvalidRequest:  "client sent invalid request",
	parseInvalidVersion:  "client sent invalid version",
	parseInvalid09Method: "client sent invalid method in HTTP/0.9 request",
}

// processRequestLine reads and parses the request line. Mirrors
// ngx_http_process_request_line.
func processRequestLine(rev *event.Event) {
	c := rev.Data
	r := c.Data.(*Request)

	rev.Log.Debug(core.LogDebugHTTP, 0, "http process request line")

	if rev.Timedout {
		c.Log.Error(core.LogInfo, sys.ETIMEDOUT, "client timed out")
		c.Timedout = true
		closeRequest(r, httpRequestTimeOut)
		return
	}

	rc := core.Again

	for {
		if rc == core.Again {
			n := readRequestHeader(r)

			if n == core.Again || n == core.Error {
				break
			}
		}

		rc = r.parseRequestLine(r.headerIn)

		if rc == core.OK {
			requestLineParsed(r, rev)
			break
		}

		if rc != core.Again {
			c.Log.Error(core.LogInfo, 0, clientErrors[rc])

			if rc == parseInvalidVersion {
				finalizeRequest(r, httpVersionNotSupported)

			} else {
				finalizeRequest(r, httpBadRequest)
			}

			break
		}

		if r.headerIn.pos == len(r.headerIn.data) {

			rv := allocLargeHeaderBuffer(r, true)

			if rv == core.Error {
				closeRequest(r, httpInternalServerError)
				break
			}

			if rv == core.Declined {
				r.requestLine = r.headerIn.data[r.requestStart:]

				c.Log.Error(core.LogInfo, 0, "client sent too long URI")
				finalizeRequest(r, httpURITooLarge)
				break
			}
		}
	}

	runPostedRequests(c)
}

// requestLineParsed takes the parts of the request line and goes on to the
// header, if the version has one.
//
// DIVERGES: its own function; in nginx it is a branch of
// ngx_http_process_request_line.
func requestLineParsed(r *Request, rev *event.Event) {
	c := r.connection
	data := r.headerIn.data

	r.requestLine = data[r.requestStart:r.requestEnd]

	c.Log.Debug(core.LogDebugHTTP, 0, "http request line: \"%s\"", r.requestLine)

	if processRequestURI(r) != core.OK {
		return
	}

	if r.hostEnd != 0 {

		host := data[r.hostStart:r.hostEnd]

		n, ok := validateHost(host)

		if !ok {
			c.Log.Error(core.LogInfo, 0, "client sent invalid host in request line")
			finalizeRequest(r, httpBadRequest)
			return
		}

		setServer(r, host[:n])
	}

	if r.httpVersion < httpVersion10 {

		if len(r.headersIn.server) == 0 {
			setVirtualServer(r, nil)
		}

		processRequest(r)
		return
	}

	c.Log.Action = "reading client request headers"

	rev.Handler = processRequestHeaders
	processRequestHeaders(rev)
}

// processRequestURI sets the URI and its parts. Mirrors
// ngx_http_process_request_uri.
func processRequestURI(r *Request) core.Status {
	c := r.connection
	data := r.headerIn.data

	if r.complexURI || r.quotedURI || r.emptyPathInURI {

		if r.parseComplexURI() != core.OK {
			r.uri = nil

			c.Log.Error(core.LogInfo, 0, "client sent invalid request")
			finalizeRequest(r, httpBadRequest)
			return core.Error
		}

	} else {
		end := r.uriEnd
		if r.argsStart != 0 {
			end = r.argsStart - 1
			r.args = data[r.argsStart:r.uriEnd]
		}

		r.uri = data[r.uriStart:end]

		if r.uriExt != 0 {
			r.exten = data[r.uriExt:end]
		}
	}

	c.Log.Debug(core.LogDebugHTTP, 0, "http uri: \"%s\"", r.uri)

	c.Log.Debug(core.LogDebugHTTP, 0, "http args: \"%s\"", r.args)

	c.Log.Debug(core.LogDebugHTTP, 0, "http exten: \"%s\"", r.exten)

	return core.OK
}

// readRequestHeader reads more of the header, unless there is something
// unparsed still, and returns how many bytes there are now, or Again or
// Error. Mirrors ngx_http_read_request_header.
func readRequestHeader(r *Request) core.Status {
	c := r.connection
	cycle := c.Cycle
	rev := c.Read
	b := r.headerIn

	if n := b.last - b.pos; n > 0 {
		return core.Status(n)
	}

	n := int(core.Again)
	if rev.Ready {
		n = c.Recv(b.data[b.last:])
	}

	if n == int(core.Again) {
		if !rev.TimerSet {
			cycle.AddTimer(rev, r.srvConf.ClientHeaderTimeout)
		}

		if cycle.HandleReadEvent(rev) != core.OK {
			closeRequest(r, httpInternalServerError)
			return core.Error
		}

		return core.Again
	}

	if n == 0 {
		c.Log.Error(core.LogInfo, 0, "client prematurely closed connection")
	}

	if n == 0 || n == int(core.Error) {
		c.Error = true
		c.Log.Action = "reading client request headers"

		finalizeRequest(r, httpBadRequest)
		return core.Error
	}

	b.last += n

	return core.Status(n)
}

// allocLargeHeaderBuffer makes room for the rest of a line that began in a
// buffer that is full, by moving its beginning to a large one, or returns
// Declined if that would be against the limits. Mirrors
// ngx_http_alloc_large_header_buffer.
func allocLargeHeaderBuffer(r *Request, requestLine bool) core.Status {
	log := r.connection.Log

	log.Debug(core.LogDebugHTTP, 0, "http alloc large header buffer")

	if requestLine && r.state == 0 {
		// The client fills the buffer with line feeds.
		r.headerIn.reset()

		return core.OK
	}

	old := r.headerNameStart
	if requestLine {
		old = r.requestStart
	}

	bufs := r.srvConf.LargeClientHeaderBuffers
	n := r.headerIn.pos - old

	if r.state != 0 && n >= bufs.Size {
		return core.Declined
	}

	hc := r.httpConnection
	b := hc.free

	if b != nil {
		hc.free = b.next

		log.Debug(core.LogDebugHTTP, 0, "http large header free: %p %d", b.ptr(), len(b.data))

	} else if hc.nbusy < bufs.Num {
		b = hc.main.getBuf(bufs.Size)

		log.Debug(core.LogDebugHTTP, 0, "http large header alloc: %p %d", b.ptr(), len(b.data))

	} else {
		return core.Declined
	}

	b.next = hc.busy
	hc.busy = b
	hc.nbusy++

	if r.state == 0 {
		// The line before is complete: there is nothing to move.
		r.headerIn = b

		return core.OK
	}

	log.Debug(core.LogDebugHTTP, 0, "http large header copy: %d", n)

	// The buffer may be left from a request to a server with smaller ones.
	if n > len(b.data) {
		log.Error(core.LogAlert, 0, "too large header to copy")
		return core.Error
	}

	copy(b.data, r.headerIn.data[old:r.headerIn.pos])
	b.pos = n
	b.last = n

	if requestLine {
		r.requestLineMoved(old)
	} else {
		r.headerLineMoved(old)
	}

	r.headerIn = b

	return core.OK
}

// requestLineMoved corrects the offsets of a request line that began at old
// and now begins at 0.
func (p *parser) requestLineMoved(old int) {
	p.requestStart = 0
	for _, offset := range []*int{
		&p.requestEnd, &p.methodEnd, &p.schemaEnd, &p.hostStart, &p.hostEnd,
		&p.uriStart, &p.uriEnd, &p.uriExt, &p.argsStart,
	} {
		if *offset != 0 {
			*offset -= old
		}
	}
}

// headerLineMoved does the same for a header line.
func (p *parser) headerLineMoved(old int) {
	p.headerNameStart = 0
	p.headerNameEnd -= old
	p.headerStart -= old
	p.headerEnd -= old
}
