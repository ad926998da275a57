package http

import "herd/nginxref/core"

// errorTitles are the titles of the pages for statuses that have one. Some
// differ from the status line.
var errorTitles = map[core.Status]string{
	301: "301 Moved Permanently",
	302: "302 Found",
	303: "303 See Other",
	307: "307 Temporary Redirect",
	308: "308 Permanent Redirect",
	400: "400 Bad Request",
	401: "401 Authorization Required",
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
	494: "400 Request Header Or Cookie Too Large",
	495: "400 The SSL certificate error",
	496: "400 No required SSL certificate was sent",
	497: "400 The plain HTTP request was sent to HTTPS port",
	498: "404 Not Found",
	500: "500 Internal Server Error",
	501: "501 Not Implemented",
	502: "502 Bad Gateway",
	503: "503 Service Temporarily Unavailable",
	504: "504 Gateway Time-out",
	505: "505 HTTP Version Not Supported",
	507: "507 Insufficient Storage",
}

// errorPages are the pages but for their ends (ngx_http_error_pages).
var errorPages = func() map[core.Status][]byte {
	pages := make(map[core.Status][]byte)
	for status, title := range errorTitles {
		pages[status] = errorPage(status, title)
	}
	return pages
}()

// errorPage lays out one of them. The statuses of nginx's own are 400 to the
// client and say what is the matter below.
func errorPage(status core.Status, title string) []byte {
	heading, detail := title, ""
	if httpHeaderTooLarge <= status && status <= httpToHTTPS {
		heading = errorTitles[httpBadRequest]
		detail = "<center>" + title[len("400 "):] + "</center>\r\n"
	}
	return []byte("<html>\r\n<head><title>" + title + "</title></head>\r\n" +
		"<body>\r\n<center><h1>" + heading + "</h1></center>\r\n" + detail)
}

// errorTail returns the end of a page, with the server's name or its version.
func errorTail(clcf *Location) []byte {
	if clcf.ServerTokens {
		return errorFullTail
	}
	return errorPlainTail
}

var (
	errorFullTail  = makeErrorTail(Version)
	errorPlainTail = makeErrorTail(Name)
)

func makeErrorTail(token string) []byte {
	return []byte("<hr><center>" + token + "</center>\r\n</body>\r\n</html>\r\n")
}

// msiePadding makes a page so long that certain browsers do not replace it by
// one of their own.
var msiePadding = func() (b []byte) {
	for range 6 {
		b = append(b, "<!-- a padding to disable MSIE and Chrome friendly error page -->\r\n"...)
	}
	return b
}()

// specialResponseHandler answers with the page for a status. Mirrors
// ngx_http_special_response_handler.
//
// DIVERGES: no error_page, no msie_refresh.
func specialResponseHandler(r *Request, status core.Status) core.Status {
	r.connection.Log.Debug(core.LogDebugHTTP, 0, "http special response: %d, \"%s?%s\"", status, r.uri, r.args)

	r.errStatus = status

	if r.keepalive {
		switch status {
		case httpBadRequest, httpEntityTooLarge, httpURITooLarge,
			httpToHTTPS, httpCertError, httpNoCert,
			httpInternalServerError, httpNotImplemented:
			r.keepalive = false
		}
	}

	if r.lingeringClose {
		switch status {
		case httpBadRequest, httpToHTTPS, httpCertError, httpNoCert:
			r.lingeringClose = false
		}
	}

	r.headersOut.contentType = ""

	r.expectTested = true

	if discardRequestBody(r) != core.OK {
		r.keepalive = false
	}

	switch status {
	case httpToHTTPS, httpCertError, httpNoCert, httpHeaderTooLarge:
		r.errStatus = httpBadRequest
	}

	return sendSpecialResponse(r, status)
}

// filterFinalizeRequest answers with a page for a status, instead of what was
// about to be sent. It returns Error, because the handler up the stack must
// not go on with its answer. Mirrors ngx_http_filter_finalize_request.
func filterFinalizeRequest(r *Request, status core.Status) core.Status {
	r.headersOut = headersOut{contentLengthN: -1}

	r.filterFinalize = true

	rc := specialResponseHandler(r, status)

	if rc == core.OK || rc == done {
		return core.Error
	}

	return rc
}

// sendSpecialResponse sends the page for a status, if it has one. Mirrors
// ngx_http_send_special_response.
func sendSpecialResponse(r *Request, status core.Status) core.Status {
	page := errorPages[status]
	var tail, padding []byte

	if len(page) != 0 {
		tail = errorTail(r.locConf)

		if (r.headersIn.msie || r.headersIn.chrome) &&
			r.httpVersion >= httpVersion10 &&
			status >= httpBadRequest {
			padding = msiePadding
		}

		r.headersOut.contentType = "text/html"
	}

	r.headersOut.contentLengthN = int64(len(page) + len(tail) + len(padding))

	rc := sendHeader(r)

	if rc == core.Error || r.headerOnly {
		return rc
	}

	return outputFilter(r, true, page, tail, padding)
}
