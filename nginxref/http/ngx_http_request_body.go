package http

import "herd/nginxref/core"

// discardRequestBody reads the request's body and throws it away: what has
// come of it now, the rest while the answer is being sent. Mirrors
// ngx_http_discard_request_body.
func discardRequestBody(r *Request) core.Status {
	if r.discardBody || r.chunked != nil {
		return core.OK
	}

	if testExpect(r) != core.OK {
		return httpInternalServerError
	}

	cycle := r.connection.Cycle
	rev := r.connection.Read

	rev.Log.Debug(core.LogDebugHTTP, 0, "http set discard body")

	if rev.TimerSet {
		cycle.DelTimer(rev)
	}

	if r.headersIn.contentLengthN <= 0 && !r.headersIn.chunked {
		return core.OK
	}

	size := r.headerIn.last - r.headerIn.pos

	if size != 0 || r.headersIn.chunked {
		rc := discardRequestBodyFilter(r, r.headerIn)

		if rc != core.OK {
			return rc
		}

		if r.headersIn.contentLengthN == 0 {
			return core.OK
		}
	}

	rc := readDiscardedRequestBody(r)

	if rc == core.OK {
		r.lingeringClose = false
		return core.OK
	}

	if rc >= httpSpecialResponse {
		return rc
	}

	r.readEventHandler = discardedRequestBodyHandler

	if cycle.HandleReadEvent(rev) != core.OK {
		return httpInternalServerError
	}

	r.count++
	r.discardBody = true

	return core.OK
}

// discardedRequestBodyHandler is the read handler while a body is thrown
// away. Mirrors ngx_http_discarded_request_body_handler.
func discardedRequestBodyHandler(r *Request) {
	c := r.connection
	cycle := c.Cycle
	rev := c.Read

	if rev.Timedout {
		c.Timedout = true
		c.Error = true
		finalizeRequest(r, core.Error)
		return
	}

	var timer int64 // seconds

	if r.lingeringTime != 0 {
		timer = r.lingeringTime - cycle.Time.Sec

		if timer <= 0 {
			r.discardBody = false
			r.lingeringClose = false
			finalizeRequest(r, core.Error)
			return
		}
	}

	rc := readDiscardedRequestBody(r)

	if rc == core.OK {
		r.discardBody = false
		r.lingeringClose = false
		r.lingeringTime = 0
		finalizeRequest(r, done)
		return
	}

	if rc >= httpSpecialResponse {
		c.Error = true
		finalizeRequest(r, core.Error)
		return
	}

	if cycle.HandleReadEvent(rev) != core.OK {
		c.Error = true
		finalizeRequest(r, core.Error)
		return
	}

	if timer != 0 {
		cycle.AddTimer(rev, lingeringTimer(r, timer))
	}
}

// lingeringTimer returns how long to wait for more of what is thrown away
// when there are seconds left to do it in.
func lingeringTimer(r *Request, seconds int64) core.Msec {
	return min(core.Msec(seconds)*1000, r.locConf.LingeringTimeout)
}

// readDiscardedRequestBody reads until there is no more: Again, or until the
// body is complete: OK. What comes behind it is the next request. Mirrors
// ngx_http_read_discarded_request_body.
func readDiscardedRequestBody(r *Request) core.Status {
	c := r.connection

	c.Log.Debug(core.LogDebugHTTP, 0, "http read discarded body")

	b := buf{data: r.httpConnection.main.discard[:]}

	for {
		if r.headersIn.contentLengthN == 0 {
			break
		}

		if !c.Read.Ready {
			return core.Again
		}

		size := min(r.headersIn.contentLengthN, discardBufferSize)

		n := c.Recv(b.data[:size])

		if n == int(core.Error) {
			c.Error = true
			return core.OK
		}

		if n == int(core.Again) {
			return core.Again
		}

		if n == 0 {
			return core.OK
		}

		b.pos = 0
		b.last = n

		rc := discardRequestBodyFilter(r, &b)

		if rc != core.OK {
			return rc
		}
	}

	if copyPipelinedHeader(r, &b) != core.OK {
		return httpInternalServerError
	}

	r.readEventHandler = blockReading

	return core.OK
}

// discardRequestBodyFilter drops the part of b that belongs to the body and
// sets contentLengthN to how much to read next. Mirrors
// ngx_http_discard_request_body_filter.
func discardRequestBodyFilter(r *Request, b *buf) core.Status {
	if !r.headersIn.chunked {
		b.pos, r.headersIn.contentLengthN = skip(b, r.headersIn.contentLengthN)
		return core.OK
	}

	if r.chunked == nil {
		r.chunks = chunked{}
		r.chunked = &r.chunks
	}

	for {
		switch r.chunked.parse(r, b) {

		case core.OK:
			b.pos, r.chunked.size = skip(b, r.chunked.size)

		case done:
			r.headersIn.contentLengthN = 0
			return core.OK

		case core.Again:
			r.headersIn.contentLengthN = max(r.chunked.length,
				int64(r.srvConf.LargeClientHeaderBuffers.Size))
			return core.OK

		default:
			r.connection.Log.Error(core.LogErr, 0, "client sent invalid chunked body")

			return httpBadRequest
		}
	}
}

// skip returns b's position behind the next size bytes, or at its end, and
// what is missing of them then.
func skip(b *buf, size int64) (pos int, rest int64) {
	if n := int64(b.last - b.pos); n <= size {
		return b.last, size - n
	}
	return b.pos + int(size), 0
}

// copyPipelinedHeader moves what was read behind the body, the beginning of
// the next request, to where requests are parsed. Mirrors
// ngx_http_copy_pipelined_header.
func copyPipelinedHeader(r *Request, in *buf) core.Status {
	log := r.connection.Log
	b := r.headerIn
	n := in.last - in.pos

	if n == 0 {
		return core.OK
	}

	log.Debug(core.LogDebugHTTP, 0, "http body pipelined header: %d", n)

	if n > len(b.data)-b.last {

		hc := r.httpConnection
		b = hc.free

		if b != nil {
			hc.free = b.next

			log.Debug(core.LogDebugHTTP, 0, "http large header free: %p %d", b.ptr(), len(b.data))

		} else {
			b = hc.main.getBuf(r.srvConf.LargeClientHeaderBuffers.Size)

			log.Debug(core.LogDebugHTTP, 0, "http large header alloc: %p %d", b.ptr(), len(b.data))
		}

		b.next = hc.busy
		hc.busy = b
		hc.nbusy++

		r.headerIn = b

		if n > len(b.data)-b.last {
			log.Error(core.LogAlert, 0, "too large pipelined header after reading body")
			return core.Error
		}
	}

	copy(b.data[b.last:], in.unread())
	b.last += n

	return core.OK
}

// continueLine answers Expect: 100-continue.
var continueLine = []byte("HTTP/1.1 100 Continue\r\n\r\n")

// testExpect has a client that waits for leave to send its body do so.
// Mirrors ngx_http_test_expect.
func testExpect(r *Request) core.Status {
	if r.expectTested ||
		r.headersIn.known[headerExpect].Key == nil ||
		r.httpVersion < httpVersion11 {
		return core.OK
	}

	r.expectTested = true

	if !equalFold(r.headersIn.known[headerExpect].Value, "100-continue") {
		return core.OK
	}

	c := r.connection

	c.Log.Debug(core.LogDebugHTTP, 0, "send 100 Continue")

	if c.Send(continueLine) == len(continueLine) {
		return core.OK
	}

	// So little should always fit.
	c.Error = true

	return core.Error
}
