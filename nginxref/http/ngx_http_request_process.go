package http

import (
	"math"

	"herd/nginxref/core"
)

// processRequestHeader checks the header as a whole. Mirrors
// ngx_http_process_request_header.
func processRequestHeader(r *Request) core.Status {
	log := r.connection.Log
	in := &r.headersIn

	if len(in.server) == 0 {
		setVirtualServer(r, nil)
	}

	if in.known[headerHost].Key == nil && r.httpVersion > httpVersion10 {
		log.Error(core.LogInfo, 0, "client sent HTTP/1.1 request without \"Host\" header")
		finalizeRequest(r, httpBadRequest)
		return core.Error
	}

	if h := in.known[headerContentLength]; h.Key != nil {
		in.contentLengthN = atoof(h.Value)

		if in.contentLengthN < 0 {
			log.Error(core.LogInfo, 0, "client sent invalid \"Content-Length\" header")
			finalizeRequest(r, httpBadRequest)
			return core.Error
		}
	}

	if in.known[headerTransferEncoding].Key != nil {
		if processTransferEncoding(r) != core.OK {
			return core.Error
		}
	}

	if r.method == methodConnect {
		log.Error(core.LogInfo, 0, "client sent CONNECT method")
		finalizeRequest(r, httpNotAllowed)
		return core.Error
	}

	if r.method == methodTrace {
		log.Error(core.LogInfo, 0, "client sent TRACE method")
		finalizeRequest(r, httpNotAllowed)
		return core.Error
	}

	return core.OK
}

// processTransferEncoding lets chunked pass, alone and in HTTP/1.1.
//
// DIVERGES: its own function; in nginx it is a branch of
// ngx_http_process_request_header.
func processTransferEncoding(r *Request) core.Status {
	log := r.connection.Log
	value := r.headersIn.known[headerTransferEncoding].Value

	if r.httpVersion < httpVersion11 {
		log.Error(core.LogInfo, 0, "client sent HTTP/1.0 request with \"Transfer-Encoding\" header")
		finalizeRequest(r, httpBadRequest)
		return core.Error
	}

	if !equalFold(value, "chunked") {
		log.Error(core.LogInfo, 0, "client sent unknown \"Transfer-Encoding\": \"%s\"", value)
		finalizeRequest(r, httpNotImplemented)
		return core.Error
	}

	if r.headersIn.known[headerContentLength].Key != nil {
		log.Error(core.LogInfo, 0, "client sent \"Content-Length\" and "+
			"\"Transfer-Encoding\" headers at the same time")
		finalizeRequest(r, httpBadRequest)
		return core.Error
	}

	r.headersIn.chunked = true

	return core.OK
}

// atoof returns the number that line is the decimal digits of, or -1. It
// mirrors ngx_atoof.
func atoof(line []byte) int64 {
	if len(line) == 0 {
		return -1
	}

	var value int64

	for _, ch := range line {
		if !isDigit(ch) {
			return -1
		}
		digit := int64(ch - '0')
		if value > (math.MaxInt64-digit)/10 {
			return -1
		}
		value = value*10 + digit
	}

	return value
}

// processRequest goes from reading to answering. Mirrors
// ngx_http_process_request.
func processRequest(r *Request) {
	c := r.connection
	cycle := c.Cycle

	if c.Read.TimerSet {
		cycle.DelTimer(c.Read)
	}

	cycle.Kernel.AtomicFetchAdd(&cycle.Zone.Reading.Word, -1)
	r.statReading = false
	cycle.Kernel.AtomicFetchAdd(&cycle.Zone.Writing.Word, 1)
	r.statWriting = true

	c.Read.Handler = requestHandler
	c.Write.Handler = requestHandler
	r.readEventHandler = blockReading

	handle(r)
}

// validateHost returns how many bytes of h name the host, without the port
// and a trailing dot, or ok false if h cannot be one. Mirrors
// ngx_http_validate_host.
func validateHost(h []byte) (hostLen int, ok bool) {
	const (
		usual = iota
		literal
		rest
	)

	dotPos := len(h)
	hostLen = len(h)
	state := usual

	for i, ch := range h {
		switch {

		case ch == '.':
			if dotPos == i-1 {
				return 0, false
			}
			dotPos = i

		case ch == ':' && state == usual:
			hostLen = i
			state = rest

		case ch == '[' && i == 0:
			state = literal

		case ch == ']' && state == literal:
			hostLen = i + 1
			state = rest

		case ch == '/' || ch <= ' ' || ch == 0x7f:
			return 0, false
		}
	}

	if dotPos == hostLen-1 {
		hostLen--
	}

	return hostLen, hostLen > 0
}

// setServer notes the host that the request is for and chooses its server.
//
// DIVERGES: its own function; in nginx ngx_http_validate_host lays out the
// lower case and the callers do the rest.
func setServer(r *Request, host []byte) {
	r.hostBuf = appendLower(r.hostBuf[:0], host)

	setVirtualServer(r, r.hostBuf)

	r.headersIn.server = r.hostBuf
}

// appendLower appends s in lower case (ngx_strlow).
func appendLower(b, s []byte) []byte {
	for _, ch := range s {
		if 'A' <= ch && ch <= 'Z' {
			ch |= 0x20
		}
		b = append(b, ch)
	}
	return b
}

// Lower returns s in lower case, as names of servers are compared: only the
// letters of ASCII have one, and other bytes need not be UTF-8.
func Lower(s string) string {
	return string(appendLower(nil, []byte(s)))
}

// setVirtualServer chooses the server by the name of the host, if one has it.
// Mirrors ngx_http_set_virtual_server.
func setVirtualServer(r *Request, host []byte) {
	cscf := findVirtualServer(r.httpConnection.addrConf.virtualNames, host)

	if cscf == nil {
		return
	}

	r.srvConf = cscf
	r.locConf = cscf.Location

	setConnectionLog(r.connection, r.locConf.ErrorLog)
}

// findVirtualServer returns the server that has the name host, or nil.
// Mirrors ngx_http_find_virtual_server.
func findVirtualServer(virtualNames *virtualNames, host []byte) *Server {
	if virtualNames == nil {
		return nil
	}

	return virtualNames.find(host)
}
