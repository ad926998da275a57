package http

import "herd/nginxref/core"

// enoent is what opening a file that is not there returns.
const enoent = 2

// staticHandler answers for files. Mirrors ngx_http_static_handler.
//
// DIVERGES: no files are served. Each is said not to be there, without
// looking.
func staticHandler(r *Request) core.Status {
	if r.method&(methodGet|methodHead|methodPost) == 0 {
		return httpNotAllowed
	}

	log := r.connection.Log

	log.Debug(core.LogDebugHTTP, 0, "http filename: \"%s%s\"", r.locConf.Root, r.uri)

	log.Error(core.LogErr, enoent, "open() \"%s%s\" failed", r.locConf.Root, r.uri)

	return httpNotFound
}
