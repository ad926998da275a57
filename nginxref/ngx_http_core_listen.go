//go:build linux

package main

import (
	"strings"

	"herd/nginxref/conf"
	"herd/nginxref/sys"
)

// newListenOpt returns the parameters of a listen directive that has none.
func newListenOpt() listenOpt {
	return listenOpt{
		backlog:  511, // NGX_LISTEN_BACKLOG
		rcvbuf:   -1,
		sndbuf:   -1,
		fastopen: -1,
		ipv6only: true,
	}
}

// httpListen mirrors ngx_http_core_listen.
func httpListen(cf *conf.Conf, _ *conf.Command) error {
	ctx := cf.Ctx.(*httpCtx)

	ctx.srv.listen = true

	// An address is looked at before its parameters are.
	if _, err := conf.ParseListen(cf.Args[1]); err != nil {
		return cf.Errorf("%s in \"%s\" of the \"listen\" directive", err, cf.Args[1])
	}

	lsopt := newListenOpt()

	for _, value := range cf.Args[2:] {
		if err := lsopt.parameter(cf, value); err != nil {
			return err
		}
	}

	return ctx.listen(cf, cf.Args[1], lsopt)
}

// listen has the server listen on the addresses of url.
//
// DIVERGES: its own function; in nginx it is the end of ngx_http_core_listen.
func (ctx *httpCtx) listen(cf *conf.Conf, url string, lsopt listenOpt) error {
	addrs, _ := conf.ParseListen(url) // a good one

	for _, sa := range addrs {
		lsopt.sockaddr = sa
		lsopt.wildcard = isWildcard(&sa)

		if err := ctx.main.addListen(cf, ctx.srv, &lsopt); err != nil {
			return err
		}
	}

	return nil
}

// isWildcard reports whether sa stands for all of the machine's addresses.
// Mirrors ngx_inet_wildcard.
func isWildcard(sa *sys.Sockaddr) bool {
	switch sa.Family() {

	case sys.AF_INET:
		return [4]byte(sa.Raw[4:8]) == [4]byte{}

	case sys.AF_INET6:
		return [16]byte(sa.Raw[8:24]) == [16]byte{}
	}

	return false
}

// parameter reads one parameter.
//
// DIVERGES: its own function; in nginx it is the loop of
// ngx_http_core_listen. nginx can do without ssl and http2 as well, and then
// says the same of them.
func (lsopt *listenOpt) parameter(cf *conf.Conf, value string) error {
	name, arg, _ := strings.Cut(value, "=")

	switch value {

	case "default_server", "default":
		lsopt.defaultServer = true
		return nil

	case "bind":

	case "deferred":
		lsopt.deferredAccept = true

	case "ipv6only=on":
		lsopt.ipv6only = true

	case "ipv6only=off":
		lsopt.ipv6only = false

	case "reuseport":
		lsopt.reuseport = true

	case "ssl":
		return cf.Errorf("the \"ssl\" parameter requires ngx_http_ssl_module")

	case "http2":
		return cf.Errorf("the \"http2\" parameter requires ngx_http_v2_module")

	default:
		if err := lsopt.valued(cf, name, arg, value); err != nil {
			return err
		}
	}

	lsopt.set = true
	lsopt.bind = true
	return nil
}

// cInt returns what is left of n in a C int, which nginx keeps these in.
func cInt(n int) int { return int(int32(n)) }

// valued reads a parameter of the form name=arg.
//
// DIVERGES: its own function; in nginx it is part of ngx_http_core_listen.
func (lsopt *listenOpt) valued(cf *conf.Conf, name, arg, value string) error {
	ok := true

	switch {

	case strings.HasPrefix(value, "fastopen="):
		lsopt.fastopen = cInt(conf.Atoi(arg))
		ok = lsopt.fastopen != conf.Unset

	case strings.HasPrefix(value, "backlog="):
		lsopt.backlog = cInt(conf.Atoi(arg))
		ok = lsopt.backlog != conf.Unset && lsopt.backlog != 0

	case strings.HasPrefix(value, "rcvbuf="):
		lsopt.rcvbuf = cInt(conf.ParseSize(arg))
		ok = lsopt.rcvbuf != conf.Unset

	case strings.HasPrefix(value, "sndbuf="):
		lsopt.sndbuf = cInt(conf.ParseSize(arg))
		ok = lsopt.sndbuf != conf.Unset

	case strings.HasPrefix(value, "ipv6only=o"):
		return cf.Errorf("invalid ipv6only flags \"%s\"", arg)

	case strings.HasPrefix(value, "so_keepalive="):
		if !lsopt.keepalive(arg) {
			return cf.Errorf("invalid so_keepalive value: \"%s\"", arg)
		}

	default:
		return cf.Errorf("invalid parameter \"%s\"", value)
	}

	if !ok {
		return cf.Errorf("invalid %s \"%s\"", name, value)
	}

	return nil
}

// keepalive reads on, off or idle:interval:count, any of which may be left
// out but not all, and reports whether it could.
//
// DIVERGES: its own function; in nginx it is part of ngx_http_core_listen.
func (lsopt *listenOpt) keepalive(arg string) bool {
	switch arg {

	case "on":
		lsopt.soKeepalive = 1
		return true

	case "off":
		lsopt.soKeepalive = 2
		return true
	}

	idle, rest, _ := strings.Cut(arg, ":")
	intvl, cnt, _ := strings.Cut(rest, ":")

	if idle != "" {
		lsopt.tcpKeepidle = cInt(conf.ParseTime(idle, true))
		if lsopt.tcpKeepidle == conf.Unset {
			return false
		}
	}

	if intvl != "" {
		lsopt.tcpKeepintvl = cInt(conf.ParseTime(intvl, true))
		if lsopt.tcpKeepintvl == conf.Unset {
			return false
		}
	}

	if cnt != "" {
		lsopt.tcpKeepcnt = cInt(conf.Atoi(cnt))
		if lsopt.tcpKeepcnt == conf.Unset {
			return false
		}
	}

	if lsopt.tcpKeepidle == 0 && lsopt.tcpKeepintvl == 0 && lsopt.tcpKeepcnt == 0 {
		return false
	}

	lsopt.soKeepalive = 1
	return true
}
