//go:build linux

package main

import (
	"cmp"
	"os"
	"slices"
	"strings"

	"herd/nginxref/conf"
	"herd/nginxref/core"
	"herd/nginxref/http"
)

// serverConf is a server block, as far as it is configured
// (ngx_http_core_srv_conf_t).
type serverConf struct {
	names               []string
	listen              bool // there was a listen directive
	clientHeaderTimeout core.Msec

	loc    *locationConf // the server's own
	server *http.Server  // what comes of it
}

func newServerConf() *serverConf {
	return &serverConf{clientHeaderTimeout: conf.UnsetMsec, loc: newLocationConf()}
}

// locationConf is a location block, or the part of a server that locations
// inherit (ngx_http_core_loc_conf_t and those of the other modules).
type locationConf struct {
	name       string
	exactMatch bool
	named      bool
	place      string // in the configuration
	locations  []*locationConf

	keepaliveTimeout  core.Msec
	keepaliveHeader   int // seconds
	keepaliveRequests int

	errorLog   *core.Log
	accessLogs []*http.AccessLog
	accessOff  bool

	// Not inherited.
	ret        *http.Return
	stubStatus bool
}

func newLocationConf() *locationConf {
	return &locationConf{
		keepaliveTimeout:  conf.UnsetMsec,
		keepaliveHeader:   conf.Unset,
		keepaliveRequests: conf.Unset,
	}
}

const httpAnyBlock = httpMainBlock | httpSrvBlock | httpLocBlock

// httpCoreModule is ngx_http_core_module.
var httpCoreModule = &conf.Module{
	Name: "http_core",
	Type: httpModuleType,
	Commands: []conf.Command{
		{Name: "server", Type: httpMainBlock | conf.Block | conf.NoArgs, Set: httpServer},
		{Name: "client_header_timeout", Type: httpMainBlock | httpSrvBlock | conf.Take1,
			Set: conf.MsecSlot(func(ctx *httpCtx) *core.Msec { return &ctx.srv.clientHeaderTimeout })},
		{Name: "location", Type: httpSrvBlock | httpLocBlock | conf.Block | conf.Take12, Set: httpLocation},
		{Name: "listen", Type: httpSrvBlock | conf.OneMore, Set: httpListen},
		{Name: "server_name", Type: httpSrvBlock | conf.OneMore, Set: httpServerName},
		{Name: "keepalive_timeout", Type: httpAnyBlock | conf.Take12, Set: httpKeepalive},
		{Name: "keepalive_requests", Type: httpAnyBlock | conf.Take1,
			Set: conf.NumSlot(func(ctx *httpCtx) *int { return &ctx.loc.keepaliveRequests })},
		{Name: "error_log", Type: httpAnyBlock | conf.OneMore, Set: httpErrorLog},
	},
}

// httpServer mirrors ngx_http_core_server.
func httpServer(cf *conf.Conf, _ *conf.Command) error {
	ctx := *cf.Ctx.(*httpCtx)

	ctx.srv = newServerConf()
	ctx.loc = ctx.srv.loc

	ctx.main.servers = append(ctx.main.servers, ctx.srv)

	if err := cf.Block(&ctx, httpModuleType, httpSrvBlock); err != nil {
		return err
	}

	if ctx.srv.listen {
		return nil
	}

	port := "80"
	if os.Getuid() != 0 {
		port = "8000"
	}

	return ctx.listen(cf, port, newListenOpt())
}

// httpLocation mirrors ngx_http_core_location.
func httpLocation(cf *conf.Conf, _ *conf.Command) error {
	ctx := *cf.Ctx.(*httpCtx)
	pclcf := ctx.loc

	clcf := newLocationConf()
	clcf.place = cf.Place()

	if err := clcf.parseName(cf); err != nil {
		return err
	}

	if cf.CmdType == httpLocBlock {

		if pclcf.exactMatch {
			return cf.Errorf("location \"%s\" cannot be inside the exact location \"%s\"", clcf.name, pclcf.name)
		}

		if pclcf.named {
			return cf.Errorf("location \"%s\" cannot be inside the named location \"%s\"", clcf.name, pclcf.name)
		}

		if clcf.named {
			return cf.Errorf("named location \"%s\" can be on the server level only", clcf.name)
		}

		if !strings.HasPrefix(clcf.name, pclcf.name) {
			return cf.Errorf("location \"%s\" is outside location \"%s\"", clcf.name, pclcf.name)
		}
	}

	pclcf.locations = append(pclcf.locations, clcf)

	ctx.loc = clcf

	return cf.Block(&ctx, httpModuleType, httpLocBlock)
}

// parseName reads a location's modifier, which may be joined to its name, and
// its name.
//
// DIVERGES: its own function; in nginx it is part of ngx_http_core_location.
func (clcf *locationConf) parseName(cf *conf.Conf) error {
	mod, name := "", cf.Args[1]

	if len(cf.Args) == 3 {
		mod, name = cf.Args[1], cf.Args[2]

		if mod == "" {
			return cf.Errorf("invalid location modifier \"\"")
		}

	} else {
		for _, m := range []string{"=", "^~", "~*", "~"} {
			if rest, ok := strings.CutPrefix(name, m); ok {
				mod, name = m, rest
				break
			}
		}
	}

	clcf.name = name

	switch mod {

	case "=":
		clcf.exactMatch = true

	case "^~": // before regular expressions, of which there are none

	case "~", "~*":
		return cf.Errorf("using regex \"%s\" requires PCRE library", name)

	case "":
		clcf.named = strings.HasPrefix(name, "@")

	default:
		return cf.Errorf("invalid location modifier \"%s\"", mod)
	}

	return nil
}

// httpServerName mirrors ngx_http_core_server_name.
func httpServerName(cf *conf.Conf, _ *conf.Command) error {
	cscf := cf.Ctx.(*httpCtx).srv

	for _, value := range cf.Args[1:] {

		if strings.HasPrefix(value, "*") && (len(value) < 3 || value[1] != '.') || value == "." {
			return cf.Errorf("server name \"%s\" is invalid", value)
		}

		if strings.Contains(value, "/") {
			cf.LogError(core.LogWarn, 0, "server name \"%s\" has suspicious symbols", value)
		}

		if strings.EqualFold(value, "$hostname") {
			value, _ = os.Hostname()
		}

		if strings.HasPrefix(value, "~") {
			return cf.Errorf("using regex \"%s\" requires PCRE library", value)
		}

		cscf.names = append(cscf.names, http.Lower(value))
	}

	return nil
}

// httpKeepalive mirrors ngx_http_core_keepalive.
func httpKeepalive(cf *conf.Conf, _ *conf.Command) error {
	clcf := cf.Ctx.(*httpCtx).loc

	if clcf.keepaliveTimeout != conf.UnsetMsec {
		return conf.ErrDuplicate
	}

	clcf.keepaliveTimeout = core.Msec(conf.ParseTime(cf.Args[1], false))

	if clcf.keepaliveTimeout == conf.UnsetMsec {
		return conf.ErrInvalidValue
	}

	if len(cf.Args) == 2 {
		return nil
	}

	clcf.keepaliveHeader = conf.ParseTime(cf.Args[2], true)

	if clcf.keepaliveHeader == conf.Unset {
		return conf.ErrInvalidValue
	}

	return nil
}

// httpErrorLog mirrors ngx_http_core_error_log.
func httpErrorLog(cf *conf.Conf, _ *conf.Command) error {
	ctx := cf.Ctx.(*httpCtx)

	if ctx.loc.errorLog == nil {
		ctx.loc.errorLog = &core.Log{}
	}

	return ctx.cycle.setLog(cf, ctx.loc.errorLog)
}

// merge takes over from the http block what the server does not configure.
// Mirrors ngx_http_core_merge_srv_conf.
func (cscf *serverConf) merge(prev *serverConf) {
	initMsec(&cscf.clientHeaderTimeout, prev.clientHeaderTimeout)
}

// merge takes over from the block around it what the location does not
// configure, and has the locations in it do the same. Mirrors
// ngx_http_core_merge_loc_conf, ngx_http_log_merge_loc_conf and
// ngx_http_merge_locations.
func (clcf *locationConf) merge(prev *locationConf) {
	initMsec(&clcf.keepaliveTimeout, prev.keepaliveTimeout)
	initValue(&clcf.keepaliveHeader, prev.keepaliveHeader)
	initValue(&clcf.keepaliveRequests, prev.keepaliveRequests)

	if clcf.errorLog == nil {
		clcf.errorLog = prev.errorLog
	}

	if clcf.accessLogs == nil && !clcf.accessOff {
		clcf.accessLogs = prev.accessLogs
		clcf.accessOff = prev.accessOff
	}

	for _, inner := range clcf.locations {
		inner.merge(clcf)
	}
}

// initLocations sorts the locations and finds those that are there twice.
// Mirrors ngx_http_init_static_location_trees and
// ngx_http_join_exact_locations.
func (clcf *locationConf) initLocations(log *core.Log) error {
	slices.SortStableFunc(clcf.locations, func(a, b *locationConf) int { return cmp.Compare(a.name, b.name) })

	for i, inner := range clcf.locations {
		if err := inner.initLocations(log); err != nil {
			return err
		}

		if inner.named {
			continue
		}

		if slices.ContainsFunc(clcf.locations[:i], func(other *locationConf) bool {
			return other.name == inner.name && other.exactMatch == inner.exactMatch
		}) {
			log.Error(core.LogEmerg, 0, "duplicate location \"%s\" in %s", inner.name, inner.place)
			return conf.ErrLogged
		}
	}

	return nil
}

// build returns the server that is configured, once it is merged.
func (cscf *serverConf) build() *http.Server {
	server := http.NewServer(cscf.names...)

	if cscf.clientHeaderTimeout != conf.UnsetMsec {
		server.ClientHeaderTimeout = cscf.clientHeaderTimeout
	}

	server.Location = cscf.loc.build()
	server.Locations = cscf.loc.buildInner()

	return server
}

// buildInner returns the locations in a block. Those in a location come
// before it, because of two with equal names the inner one serves.
func (clcf *locationConf) buildInner() []*http.Location {
	var all []*http.Location

	for _, inner := range clcf.locations {
		if inner.named {
			continue // nothing leads to it
		}
		all = append(all, inner.buildInner()...)
		all = append(all, inner.build())
	}

	return all
}

// build returns the location that is configured, once it is merged.
func (clcf *locationConf) build() *http.Location {
	loc := http.NewLocation(clcf.name)

	loc.Exact = clcf.exactMatch
	loc.ErrorLog = clcf.errorLog
	loc.AccessLogs = clcf.accessLogs
	loc.Return = clcf.ret

	if clcf.stubStatus {
		loc.Handler = http.StubStatusHandler
	}
	if clcf.keepaliveTimeout != conf.UnsetMsec {
		loc.KeepaliveTimeout = clcf.keepaliveTimeout
	}
	if clcf.keepaliveHeader != conf.Unset {
		loc.KeepaliveHeader = clcf.keepaliveHeader
	}
	if clcf.keepaliveRequests != conf.Unset {
		loc.KeepaliveRequests = clcf.keepaliveRequests
	}

	return loc
}
