package http

import (
	"strconv"

	"herd/nginxref/core"
)

// statusLines are the status codes that have words.
var statusLines = map[core.Status]string{
	200: "200 OK",
	201: "201 Created",
	202: "202 Accepted",
	204: "204 No Content",
	206: "206 Partial Content",
	301: "301 Moved Permanently",
	302: "302 Moved Temporarily",
	303: "303 See Other",
	304: "304 Not Modified",
	307: "307 Temporary Redirect",
	308: "308 Permanent Redirect",
	400: "400 Bad Request",
	401: "401 Unauthorized",
	402: "402 Payment Required",
	403: "403 Forbidden",
	404: "404 Not Found",
	405: "405 Not Allowed",
	406: "406 Not Acceptable",
	408: "408 Request Time-out",
	409: "409 Conflict",
	410: "410 Gone",
	411: "411 Length Required",
	412: "412 Precondition Failed",
	413: "413 Request Entity Too Large",
	414: "414 Request-URI Too Large",
	415: "415 Unsupported Media Type",
	416: "416 Requested Range Not Satisfiable",
	421: "421 Misdirected Request",
	429: "429 Too Many Requests",
	500: "500 Internal Server Error",
	501: "501 Not Implemented",
	502: "502 Bad Gateway",
	503: "503 Service Temporarily Unavailable",
	504: "504 Gateway Time-out",
	505: "505 HTTP Version Not Supported",
	507: "507 Insufficient Storage",
}

// headerFilter makes the answer's header. Mirrors ngx_http_header_filter.
func headerFilter(r *Request) core.Status {
	if r.headerSent {
		return core.OK
	}

	r.headerSent = true

	if r.httpVersion < httpVersion10 {
		return core.OK
	}

	if r.method == methodHead {
		r.headerOnly = true
	}

	if r.keepalive && r.connection.Cycle.Exiting {
		r.keepalive = false
	}

	switch r.headersOut.status {
	case httpNoContent:
		r.headerOnly = true
		r.headersOut.contentType = ""
		r.headersOut.contentLengthN = -1
	case httpNotModified:
		r.headerOnly = true
	}

	b := r.appendHeader(r.recycled.headerOut[:0])

	r.connection.Log.Debug(core.LogDebugHTTP, 0, "%s", b)

	b = append(b, "\r\n"...)

	r.recycled.headerOut = b
	r.headerSize = len(b)

	return writeFilter(r, r.headerOnly, b)
}

// appendHeader appends the header but for the empty line at its end.
//
// DIVERGES: its own function; in nginx it is the middle of
// ngx_http_header_filter, which computes the length first.
func (r *Request) appendHeader(b []byte) []byte {
	clcf := r.locConf
	out := &r.headersOut

	b = append(b, "HTTP/1.1 "...)
	b = appendStatusLine(b, out.status)

	b = append(b, "\r\nServer: "...)
	b = append(b, serverToken(clcf)...)
	b = append(b, "\r\nDate: "...)
	b = append(b, r.connection.Cycle.Time.HTTPTime()...)
	b = append(b, "\r\n"...)

	if out.contentType != "" {
		b = append(b, "Content-Type: "...)
		b = append(b, out.contentType...)
		b = append(b, "\r\n"...)
	}

	if out.contentLengthN >= 0 {
		b = append(b, "Content-Length: "...)
		b = strconv.AppendInt(b, out.contentLengthN, 10)
		b = append(b, "\r\n"...)
	}

	relative := len(out.location) > 0 && out.location[0] == '/'

	if relative {
		b = append(b, "Location: http://"...)
		b = r.appendHost(b)
		b = append(b, out.location...)
		b = append(b, "\r\n"...)
	}

	b = r.appendConnection(b)

	if out.location != nil && !relative {
		b = append(b, "Location: "...)
		b = append(b, out.location...)
		b = append(b, "\r\n"...)
	}

	return b
}

// appendStatusLine appends the code and its words, if there are any.
func appendStatusLine(b []byte, status core.Status) []byte {
	if line := statusLines[status]; line != "" {
		return append(b, line...)
	}
	b = appendZeros(b, status)
	b = strconv.AppendInt(b, int64(status), 10)
	return append(b, ' ')
}

// serverToken returns what the server calls itself.
func serverToken(clcf *Location) string {
	if clcf.ServerTokens {
		return Version
	}
	return Name
}

// appendConnection appends whether the connection will stay open.
func (r *Request) appendConnection(b []byte) []byte {
	if !r.keepalive {
		return append(b, "Connection: close\r\n"...)
	}

	b = append(b, "Connection: keep-alive\r\n"...)

	if n := r.locConf.KeepaliveHeader; n != 0 {
		b = append(b, "Keep-Alive: timeout="...)
		b = strconv.AppendInt(b, int64(n), 10)
		b = append(b, "\r\n"...)
	}
	return b
}

// appendHost appends the host and, unless it is 80, the port that the client
// is to come back to.
func (r *Request) appendHost(b []byte) []byte {
	local, err := localSockaddr(r.connection)
	if err != nil {
		r.connection.Cycle.ConnectionError(r.connection, core.ErrnoOf(err), "getsockname() failed")
	}

	if len(r.headersIn.server) != 0 {
		b = append(b, r.headersIn.server...)
	} else {
		b = local.AppendText(b, false)
	}

	if port := local.Port(); port != 0 && port != 80 {
		b = append(b, ':')
		b = strconv.AppendInt(b, int64(port), 10)
	}
	return b
}
