package http

import "herd/nginxref/core"

// notModifiedHeaderFilter refuses a request that is conditional on what the
// answer does not have, a time of modification or an entity tag. Mirrors
// ngx_http_not_modified_header_filter.
func notModifiedHeaderFilter(r *Request) core.Status {
	if r.headersOut.status != httpOK {
		return headerFilter(r)
	}

	if r.headersIn.known[headerIfUnmodifiedSince].Key != nil {
		return filterFinalizeRequest(r, httpPreconditionFailed)
	}

	if h := r.headersIn.known[headerIfMatch]; h.Key != nil && string(h.Value) != "*" {
		return filterFinalizeRequest(r, httpPreconditionFailed)
	}

	if h := r.headersIn.known[headerIfNoneMatch]; string(h.Value) == "*" &&
		r.headersIn.known[headerIfModifiedSince].Key == nil {

		r.headersOut.status = httpNotModified
		r.headersOut.contentType = ""
		r.headersOut.contentLengthN = -1
	}

	return headerFilter(r)
}
