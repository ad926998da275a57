package http

import "herd/nginxref/core"

// indexHandler answers for directories. Mirrors ngx_http_index_handler.
//
// DIVERGES: as staticHandler.
func indexHandler(r *Request) core.Status {
	if r.uri[len(r.uri)-1] != '/' {
		return core.Declined
	}

	if r.method&(methodGet|methodHead|methodPost) == 0 {
		return core.Declined
	}

	log := r.connection.Log

	log.Debug(core.LogDebugHTTP, 0, "open index \"%s%sindex.html\"", r.locConf.Root, r.uri)

	log.Error(core.LogErr, enoent, "\"%s%sindex.html\" is not found", r.locConf.Root, r.uri)

	return httpNotFound
}
