package http

import "herd/nginxref/core"

// rewriteHandler runs the return directive of the server, in the first phase,
// or of the location. Mirrors ngx_http_rewrite_handler.
func rewriteHandler(r *Request) core.Status {
	if r.phaseHandler != 0 && r.locConf == r.srvConf.Location {
		// The server's own has been run.
		return core.Declined
	}

	if r.locConf.Return == nil {
		return core.Declined
	}

	return scriptReturnCode(r, r.locConf.Return)
}

// scriptReturnCode answers as a return directive says: with a status and its
// page, or with a text, or sends the client elsewhere. Mirrors
// ngx_http_script_return_code.
func scriptReturnCode(r *Request, code *Return) core.Status {
	if code.Status < httpBadRequest || len(code.Text) != 0 {
		return sendResponse(r, code.Status, code.Text)
	}

	return code.Status
}
