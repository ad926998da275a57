package http

import (
	"bytes"

	"herd/nginxref/core"
	"herd/nginxref/event"
	"herd/nginxref/sys"
)

// headerHandler is a header line that somebody looks at
// (ngx_http_header_t). handler is called with its place in headersIn.known.
type headerHandler struct {
	offset  int
	handler func(r *Request, h tableElt, offset int) core.Status
}

// initHeadersIn lists the header lines that are looked at, by their names in
// lower case (ngx_http_headers_in). Mirrors ngx_http_init_headers_in_hash.
func (cmcf *Main) initHeadersIn() {
	cmcf.headersIn = map[string]headerHandler{
		"host":                {headerHost, processHost},
		"connection":          {headerConnection, processConnection},
		"if-modified-since":   {headerIfModifiedSince, processUniqueHeaderLine},
		"if-unmodified-since": {headerIfUnmodifiedSince, processUniqueHeaderLine},
		"if-match":            {headerIfMatch, processUniqueHeaderLine},
		"if-none-match":       {headerIfNoneMatch, processUniqueHeaderLine},
		"user-agent":          {headerUserAgent, processUserAgent},
		"referer":             {headerReferer, processHeaderLine},
		"content-length":      {headerContentLength, processUniqueHeaderLine},
		"content-range":       {headerContentRange, processUniqueHeaderLine},
		"if-range":            {headerIfRange, processUniqueHeaderLine},
		"transfer-encoding":   {headerTransferEncoding, processUniqueHeaderLine},
		"expect":              {headerExpect, processUniqueHeaderLine},
		"authorization":       {headerAuthorization, processUniqueHeaderLine},
	}
}

// processRequestHeaders reads and parses the header. Mirrors
// ngx_http_process_request_headers.
func processRequestHeaders(rev *event.Event) {
	c := rev.Data
	r := c.Data.(*Request)

	rev.Log.Debug(core.LogDebugHTTP, 0, "http process request header line")

	if rev.Timedout {
		c.Log.Error(core.LogInfo, sys.ETIMEDOUT, "client timed out")
		c.Timedout = true
		closeRequest(r, httpRequestTimeOut)
		return
	}

	rc := core.Again

	for {
		if rc == core.Again && !moreOfHeader(r) {
			break
		}

		rc = r.parseHeaderLine(r.headerIn)

		if rc == core.OK {

			if r.invalidHeader {
				c.Log.Error(core.LogInfo, 0, "client sent invalid header line: \"%s\"",
					r.headerIn.data[r.headerNameStart:r.headerEnd])
				continue
			}

			if headerLineParsed(r) != core.OK {
				break
			}

			continue
		}

		if rc == parseHeaderDone {

			c.Log.Debug(core.LogDebugHTTP, 0, "http header done")

			rc = processRequestHeader(r)

			if rc != core.OK {
				break
			}

			processRequest(r)

			break
		}

		if rc == core.Again {
			continue
		}

		c.Log.Error(core.LogInfo, 0, "client sent invalid header line: \"%s\\x%02x...\"",
			r.headerIn.data[r.headerNameStart:r.headerEnd], int(r.headerIn.data[r.headerEnd]))

		finalizeRequest(r, httpBadRequest)
		break
	}

	runPostedRequests(c)
}

// moreOfHeader reads on and reports whether there is anything to parse. If
// not, either it must still come or the request is over.
//
// DIVERGES: its own function; in nginx it is a branch of
// ngx_http_process_request_headers.
func moreOfHeader(r *Request) bool {
	if r.headerIn.pos == len(r.headerIn.data) {

		rv := allocLargeHeaderBuffer(r, false)

		if rv == core.Error {
			closeRequest(r, httpInternalServerError)
			return false
		}

		if rv == core.Declined {
			headerTooLarge(r)
			return false
		}
	}

	n := readRequestHeader(r)

	return n != core.Again && n != core.Error
}

// headerTooLarge ends a request with a header over the limits.
//
// DIVERGES: its own function; in nginx it is a branch of
// ngx_http_process_request_headers.
func headerTooLarge(r *Request) {
	log := r.connection.Log

	r.lingeringClose = true

	if r.headerNameStart < 0 {
		log.Error(core.LogInfo, 0, "client sent too large request")
		finalizeRequest(r, httpHeaderTooLarge)
		return
	}

	line := r.headerIn.data[r.headerNameStart:]
	if len(line) > maxErrorStr-300 {
		line = line[:maxErrorStr-300]
	}

	log.Error(core.LogInfo, 0, "client sent too long header line: \"%s...\"", line)

	finalizeRequest(r, httpHeaderTooLarge)
}

// maxErrorStr is the longest line in the error log (NGX_MAX_ERROR_STR).
const maxErrorStr = 2048

// headerLineParsed takes note of a header line.
//
// DIVERGES: its own function; in nginx it is a branch of
// ngx_http_process_request_headers. Lines that nobody asks for are not kept.
func headerLineParsed(r *Request) core.Status {
	data := r.headerIn.data

	h := tableElt{
		Key:   data[r.headerNameStart:r.headerNameEnd],
		Value: data[r.headerStart:r.headerEnd],
	}

	// A longer name than lowcaseHeader holds is not among the known ones.
	if len(h.Key) == r.lowcaseIndex {
		hh, ok := r.httpConnection.main.headersIn[string(r.lowcaseHeader[:r.lowcaseIndex])]

		if ok && hh.handler(r, h, hh.offset) != core.OK {
			return core.Error
		}
	}

	r.connection.Log.Debug(core.LogDebugHTTP, 0, "http header: \"%s: %s\"", h.Key, h.Value)

	return core.OK
}

// processHeaderLine takes the first of equal header lines. Mirrors
// ngx_http_process_header_line.
func processHeaderLine(r *Request, h tableElt, offset int) core.Status {
	ph := &r.headersIn.known[offset]

	if ph.Key == nil {
		*ph = h
	}

	return core.OK
}

// processUniqueHeaderLine refuses a second header line. Mirrors
// ngx_http_process_unique_header_line.
func processUniqueHeaderLine(r *Request, h tableElt, offset int) core.Status {
	ph := &r.headersIn.known[offset]

	if ph.Key == nil {
		*ph = h
		return core.OK
	}

	r.connection.Log.Error(core.LogInfo, 0,
		"client sent duplicate header line: \"%s: %s\", previous value: \"%s: %s\"",
		h.Key, h.Value, ph.Key, ph.Value)

	finalizeRequest(r, httpBadRequest)

	return core.Error
}

// processHost chooses the server by the Host header. Mirrors
// ngx_http_process_host.
func processHost(r *Request, h tableElt, offset int) core.Status {
	log := r.connection.Log
	ph := &r.headersIn.known[offset]

	if ph.Key != nil {
		log.Error(core.LogInfo, 0,
			"client sent duplicate host header: \"%s: %s\", previous value: \"%s: %s\"",
			h.Key, h.Value, ph.Key, ph.Value)
		finalizeRequest(r, httpBadRequest)
		return core.Error
	}

	*ph = h

	n, ok := validateHost(h.Value)

	if !ok {
		log.Error(core.LogInfo, 0, "client sent invalid host header")
		finalizeRequest(r, httpBadRequest)
		return core.Error
	}

	// An absolute URI has named it already.
	if len(r.headersIn.server) != 0 {
		return core.OK
	}

	setServer(r, h.Value[:n])

	return core.OK
}

// processConnection looks for close and keep-alive. Mirrors
// ngx_http_process_connection.
func processConnection(r *Request, h tableElt, offset int) core.Status {
	if containsFold(h.Value, "close") {
		r.headersIn.connectionType = connectionClose

	} else if containsFold(h.Value, "keep-alive") {
		r.headersIn.connectionType = connectionKeepAlive
	}

	return core.OK
}

// processUserAgent looks for browsers with quirks. Mirrors
// ngx_http_process_user_agent.
func processUserAgent(r *Request, h tableElt, offset int) core.Status {
	ph := &r.headersIn.known[offset]

	if ph.Key != nil {
		return core.OK
	}

	*ph = h

	in := &r.headersIn
	userAgent := h.Value

	if i := bytes.Index(userAgent, []byte("MSIE ")); i >= 0 && i+7 < len(userAgent) {

		in.msie = true

		if msie := userAgent[i:]; msie[6] == '.' {

			switch msie[5] {
			case '4', '5':
				in.msie6 = true
			case '6':
				in.msie6 = !bytes.Contains(msie[8:], []byte("SV1"))
			}
		}
	}

	if bytes.Contains(userAgent, []byte("Opera")) {
		in.opera = true
		in.msie = false
		in.msie6 = false
	}

	if !in.msie && !in.opera {
		in.chrome = !bytes.Contains(userAgent, []byte("Gecko/")) &&
			bytes.Contains(userAgent, []byte("Chrome/"))
	}

	return core.OK
}

// containsFold reports whether word, which is lower case, is in s. It takes
// the place of ngx_strcasestrn.
func containsFold(s []byte, word string) bool {
	for ; len(s) >= len(word); s = s[1:] {
		if equalFold(s[:len(word)], word) {
			return true
		}
	}
	return false
}

// equalFold reports whether s is word, which is lower case, in letters of any
// case. It takes the place of ngx_strncasecmp.
func equalFold(s []byte, word string) bool {
	if len(s) != len(word) {
		return false
	}
	for i, ch := range s {
		if 'A' <= ch && ch <= 'Z' {
			ch |= 0x20
		}
		if ch != word[i] {
			return false
		}
	}
	return true
}
