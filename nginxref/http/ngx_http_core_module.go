package http

import (
	"bytes"
	"syscall"

	"herd/nginxref/core"
	"herd/nginxref/event"
	"herd/nginxref/sys"
)

// phaseHandler is a step in the life of a request. checker calls handler and
// says whether to go on: OK is no (ngx_http_phase_handler_t).
type phaseHandler struct {
	checker func(r *Request, ph *phaseHandler) core.Status
	handler func(r *Request) core.Status
}

// handle answers a request that has been read. Mirrors ngx_http_handler.
func handle(r *Request) {
	r.connection.Log.Action = ""

	switch r.headersIn.connectionType {
	case 0:
		r.keepalive = r.httpVersion > httpVersion10

	case connectionClose:
		r.keepalive = false

	case connectionKeepAlive:
		r.keepalive = true
	}

	r.lingeringClose = r.headersIn.contentLengthN > 0 || r.headersIn.chunked
	r.phaseHandler = 0

	r.writeEventHandler = coreRunPhases
	coreRunPhases(r)
}

// coreRunPhases goes on with the phases. Mirrors ngx_http_core_run_phases.
func coreRunPhases(r *Request) {
	ph := r.httpConnection.main.phaseEngine

	for r.phaseHandler < len(ph) {

		rc := ph[r.phaseHandler].checker(r, &ph[r.phaseHandler])

		if rc == core.OK {
			return
		}
	}
}

// coreRewritePhase runs the return directive, if there is one. Mirrors
// ngx_http_core_rewrite_phase.
func coreRewritePhase(r *Request, ph *phaseHandler) core.Status {
	r.connection.Log.Debug(core.LogDebugHTTP, 0, "rewrite phase: %d", r.phaseHandler)

	rc := ph.handler(r)

	if rc == core.Declined {
		r.phaseHandler++
		return core.Again
	}

	if rc == done {
		return core.OK
	}

	finalizeRequest(r, rc)

	return core.OK
}

// coreFindConfigPhase chooses the location. Mirrors
// ngx_http_core_find_config_phase.
func coreFindConfigPhase(r *Request, _ *phaseHandler) core.Status {
	log := r.connection.Log

	coreFindLocation(r)

	clcf := r.locConf

	log.Debug(core.LogDebugHTTP, 0, "using configuration \"%s%s\"", exactMark(clcf), clcf.Name)

	updateLocationConfig(r)

	log.Debug(core.LogDebugHTTP, 0, "http cl:%d max:%d", r.headersIn.contentLengthN, clcf.ClientMaxBodySize)

	if r.headersIn.contentLengthN != -1 &&
		!r.discardBody &&
		clcf.ClientMaxBodySize != 0 &&
		clcf.ClientMaxBodySize < r.headersIn.contentLengthN {

		log.Error(core.LogErr, 0, "client intended to send too large body: %d bytes", r.headersIn.contentLengthN)

		r.expectTested = true
		discardRequestBody(r)
		finalizeRequest(r, httpEntityTooLarge)
		return core.OK
	}

	r.phaseHandler++
	return core.Again
}

// exactMark returns what stands before the name of an exact location.
func exactMark(clcf *Location) string {
	if clcf.Exact {
		return "="
	}
	return ""
}

// coreContentPhase makes the answer. Mirrors ngx_http_core_content_phase.
func coreContentPhase(r *Request, ph *phaseHandler) core.Status {
	if handler := r.locConf.Handler; handler != nil {
		r.writeEventHandler = requestEmptyHandler
		finalizeRequest(r, handler(r))
		return core.OK
	}

	r.connection.Log.Debug(core.LogDebugHTTP, 0, "content phase: %d", r.phaseHandler)

	rc := ph.handler(r)

	if rc != core.Declined {
		finalizeRequest(r, rc)
		return core.OK
	}

	r.phaseHandler++
	return core.Again
}

// updateLocationConfig applies the location's settings to the request.
// Mirrors ngx_http_update_location_config.
func updateLocationConfig(r *Request) {
	clcf := r.locConf
	c := r.connection

	setConnectionLog(c, clcf.ErrorLog)

	if r.keepalive {
		if clcf.KeepaliveTimeout == 0 {
			r.keepalive = false

		} else if c.Requests >= clcf.KeepaliveRequests {
			r.keepalive = false

		} else if c.Cycle.Time.CurrentMsec-c.StartTime > clcf.KeepaliveTime {
			r.keepalive = false

		} else if r.headersIn.msie6 && r.method == methodPost {
			// It may wait for an answer on a connection it believes closed.
			r.keepalive = false
		}
	}
}

// coreFindLocation sets locConf to the location whose name is the whole URI,
// else to the one whose name is the longest part of its beginning, if any.
// Mirrors ngx_http_core_find_location.
//
// DIVERGES: it walks a list, not a tree; there are no nested locations and no
// regular expressions.
func coreFindLocation(r *Request) {
	var longest *Location

	for _, clcf := range r.srvConf.Locations {
		r.connection.Log.Debug(core.LogDebugHTTP, 0, "test location: \"%s\"", clcf.Name)

		if clcf.Exact {
			if string(r.uri) == clcf.Name {
				r.locConf = clcf
				return
			}
			continue
		}

		if hasPrefix(r.uri, clcf.Name) && (longest == nil || len(clcf.Name) > len(longest.Name)) {
			longest = clcf
		}
	}

	if longest != nil {
		r.locConf = longest
	}
}

// hasPrefix reports whether s begins with prefix.
func hasPrefix(s []byte, prefix string) bool {
	return len(s) >= len(prefix) && string(s[:len(prefix)]) == prefix
}

// setContentType sets the answer's type by the extension of the URI. Mirrors
// ngx_http_set_content_type.
func setContentType(r *Request) {
	if r.headersOut.contentType != "" {
		return
	}

	clcf := r.locConf

	if len(r.exten) != 0 {
		r.extenBuf = appendLower(r.extenBuf[:0], r.exten)

		if t := clcf.Types[string(r.extenBuf)]; t != "" {
			r.headersOut.contentType = t
			return
		}
	}

	r.headersOut.contentType = clcf.DefaultType
}

// sendResponse answers with status and val, or sends the client to val.
// Mirrors ngx_http_send_response.
func sendResponse(r *Request, status core.Status, val []byte) core.Status {
	rc := discardRequestBody(r)

	if rc != core.OK {
		return rc
	}

	r.headersOut.status = status

	switch status {
	case httpMovedPermanently, httpMovedTemporarily, httpSeeOther,
		httpTemporaryRedirect, httpPermanentRedirect:

		if val == nil {
			val = []byte{} // a Location header without a value
		}
		r.headersOut.location = val

		return status
	}

	r.headersOut.contentLengthN = int64(len(val))

	setContentType(r)

	rc = sendHeader(r)

	if rc == core.Error || rc > core.OK || r.headerOnly {
		return rc
	}

	return outputFilter(r, true, val)
}

// sendHeader sends the answer's header, or keeps it until there is a body.
// Mirrors ngx_http_send_header.
func sendHeader(r *Request) core.Status {
	if r.headerSent {
		r.connection.Log.Error(core.LogAlert, 0, "header already sent")
		return core.Error
	}

	if r.errStatus != 0 {
		r.headersOut.status = r.errStatus
	}

	return notModifiedHeaderFilter(r)
}

// outputFilter sends pieces of the body, the last of them if last is set, and
// what is left of those before. Mirrors ngx_http_output_filter.
func outputFilter(r *Request, last bool, in ...[]byte) core.Status {
	c := r.connection

	c.Log.Debug(core.LogDebugHTTP, 0, "http output filter \"%s?%s\"", r.uri, r.args)

	rc := writeFilter(r, last, in...)

	if rc == core.Error {
		c.Error = true
	}

	return rc
}

// localSockaddr returns the address that c's client connected to. Mirrors
// ngx_connection_local_sockaddr.
func localSockaddr(c *event.Connection) (sys.Sockaddr, error) {
	ls := &c.Listening.Sockaddr
	if ls.Family() == sys.AF_UNIX || !isWildcard(ls) {
		return *ls, nil
	}

	local := *ls
	sa, err := syscall.Getsockname(c.Fd)

	switch sa := sa.(type) {
	case *syscall.SockaddrInet4:
		copy(ipOf(&local), sa.Addr[:])
	case *syscall.SockaddrInet6:
		copy(ipOf(&local), sa.Addr[:])
	}
	return local, err
}

// ipOf returns the bytes of an internet address.
func ipOf(sa *sys.Sockaddr) []byte {
	if sa.Family() == sys.AF_INET6 {
		return sa.Raw[8:24]
	}
	return sa.Raw[4:8]
}

// isWildcard reports whether an internet address is all zeros.
func isWildcard(sa *sys.Sockaddr) bool {
	ip := ipOf(sa)
	return bytes.Count(ip, []byte{0}) == len(ip)
}
