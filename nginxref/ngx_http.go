//go:build linux

package main

import (
	"cmp"
	"slices"

	"herd/nginxref/conf"
	"herd/nginxref/core"
	"herd/nginxref/event"
	"herd/nginxref/http"
	"herd/nginxref/sys"
)

// The blocks of http.
const (
	httpModuleType conf.ModuleType = "HTTP"

	httpMainBlock = 0x02000000
	httpSrvBlock  = 0x04000000
	httpLocBlock  = 0x08000000
)

// httpConf is the http block (ngx_http_core_main_conf_t).
type httpConf struct {
	ports   []*httpPort
	servers []*serverConf
}

// httpCtx is what the directives of a block in http configure
// (ngx_http_conf_ctx_t). In http itself srv and loc hold what servers and
// locations inherit.
type httpCtx struct {
	cycle *cycle
	main  *httpConf
	srv   *serverConf
	loc   *locationConf
}

// httpPort is a port and the addresses with it that servers listen on
// (ngx_http_conf_port_t).
type httpPort struct {
	family int
	port   int
	addrs  []*httpAddr
}

// httpAddr is an address and the servers that listen on it
// (ngx_http_conf_addr_t).
type httpAddr struct {
	opt           listenOpt
	defaultServer *serverConf
	servers       []*serverConf
}

// httpModule is ngx_http_module.
var httpModule = &conf.Module{
	Name:     "http",
	Type:     conf.CoreModule,
	Commands: []conf.Command{{Name: "http", Type: conf.MainConf | conf.Block | conf.NoArgs, Set: httpBlock}},
}

// httpBlock mirrors ngx_http_block.
func httpBlock(cf *conf.Conf, _ *conf.Command) error {
	cycle := cf.Ctx.(*cycle)

	if cycle.http != nil {
		return conf.ErrDuplicate
	}

	ctx := &httpCtx{cycle: cycle, main: &httpConf{}, srv: newServerConf(), loc: newLocationConf()}

	cycle.http = ctx.main

	if err := cf.Block(ctx, httpModuleType, httpMainBlock); err != nil {
		return err
	}

	for _, cscf := range ctx.main.servers {
		ctx.initLogs(cscf.loc)
		cscf.merge(ctx.srv)
		cscf.loc.merge(ctx.loc)

		if err := cscf.loc.initLocations(cf.Log); err != nil {
			return err
		}

		cscf.server = cscf.build()
	}

	return ctx.optimizeServers(cf.Log)
}

// addListen notes that a server listens on an address. Mirrors
// ngx_http_add_listen.
func (main *httpConf) addListen(cf *conf.Conf, cscf *serverConf, lsopt *listenOpt) error {
	p := lsopt.sockaddr.Port()

	for _, port := range main.ports {

		if p != port.port || lsopt.sockaddr.Family() != port.family {
			continue
		}

		return port.addAddresses(cf, cscf, lsopt)
	}

	port := &httpPort{family: lsopt.sockaddr.Family(), port: p}
	main.ports = append(main.ports, port)

	return port.addAddress(cf, cscf, lsopt)
}

// addAddresses mirrors ngx_http_add_addresses.
func (port *httpPort) addAddresses(cf *conf.Conf, cscf *serverConf, lsopt *listenOpt) error {
	for _, addr := range port.addrs {

		if !conf.SameAddress(&lsopt.sockaddr, &addr.opt.sockaddr, false) {
			continue
		}

		if err := addr.addServer(cf, cscf); err != nil {
			return err
		}

		// It must outlive the change of options.
		defaultServer := addr.opt.defaultServer

		if lsopt.set {

			if addr.opt.set {
				return cf.Errorf("duplicate listen options for %s", addr.opt.sockaddr.String())
			}

			addr.opt = *lsopt
		}

		if lsopt.defaultServer {

			if defaultServer {
				return cf.Errorf("a duplicate default server for %s", addr.opt.sockaddr.String())
			}

			defaultServer = true
			addr.defaultServer = cscf
		}

		addr.opt.defaultServer = defaultServer

		return nil
	}

	return port.addAddress(cf, cscf, lsopt)
}

// addAddress mirrors ngx_http_add_address.
func (port *httpPort) addAddress(cf *conf.Conf, cscf *serverConf, lsopt *listenOpt) error {
	addr := &httpAddr{opt: *lsopt, defaultServer: cscf}
	port.addrs = append(port.addrs, addr)

	return addr.addServer(cf, cscf)
}

// addServer mirrors ngx_http_add_server.
func (addr *httpAddr) addServer(cf *conf.Conf, cscf *serverConf) error {
	if slices.Contains(addr.servers, cscf) {
		return cf.Errorf("a duplicate listen %s", addr.opt.sockaddr.String())
	}

	addr.servers = append(addr.servers, cscf)

	return nil
}

// optimizeServers makes the listeners. Mirrors ngx_http_optimize_servers.
func (ctx *httpCtx) optimizeServers(log *core.Log) error {
	main := http.NewMain()

	for _, port := range ctx.main.ports {

		slices.SortStableFunc(port.addrs, func(a, b *httpAddr) int { return cmp.Compare(a.rank(), b.rank()) })

		if err := ctx.initListening(main, port, log); err != nil {
			return err
		}
	}

	return nil
}

// rank is the address's place among those of its port: those that are bound
// explicitly come first, and a wildcard, as the last resort, last. Mirrors
// ngx_http_cmp_conf_addrs.
func (addr *httpAddr) rank() int {
	switch {
	case addr.opt.wildcard:
		return 2
	case addr.opt.bind:
		return 0
	}
	return 1
}

// initListening makes the listeners of one port. If one is bound to all of
// the machine's addresses, only it and those that are bound explicitly are
// made; who connected to which of the others it tells by the connection's own
// address. Mirrors ngx_http_init_listening.
func (ctx *httpCtx) initListening(main *http.Main, port *httpPort, log *core.Log) error {
	addr := port.addrs
	last := len(port.addrs)

	bindWildcard := false

	if addr[last-1].opt.wildcard {
		addr[last-1].opt.bind = true
		bindWildcard = true
	}

	i := 0

	for i < last {

		if bindWildcard && !addr[i].opt.bind {
			i++
			continue
		}

		ls := ctx.addListening(addr[i])

		addrs, err := newAddrs(addr[:i+1], log)
		if err != nil {
			return err
		}
		main.AddListening(ls, addrs...)

		addr = addr[1:]
		last--
	}

	return nil
}

// newAddrs mirrors ngx_http_add_addrs and ngx_http_add_addrs6.
func newAddrs(addrs []*httpAddr, log *core.Log) ([]*http.Addr, error) {
	var all []*http.Addr

	for _, addr := range addrs {
		var servers []*http.Server
		for _, cscf := range addr.servers {
			servers = append(servers, cscf.server)
		}

		a, err := http.NewAddr(addr.opt.sockaddr, addr.defaultServer.server, servers, log)
		if err != nil {
			log.Error(core.LogEmerg, 0, "%s", err.Error())
			return nil, conf.ErrLogged
		}
		all = append(all, a)
	}

	return all, nil
}

// addListening mirrors ngx_http_add_listening.
func (ctx *httpCtx) addListening(addr *httpAddr) *event.Listening {
	ls := ctx.cycle.CreateListening(addr.opt.sockaddr)

	ls.LogP = addr.defaultServer.loc.errorLog

	ls.Backlog = addr.opt.backlog
	ls.Rcvbuf = addr.opt.rcvbuf
	ls.Sndbuf = addr.opt.sndbuf

	ls.Keepalive = addr.opt.soKeepalive
	ls.Keepidle = addr.opt.tcpKeepidle
	ls.Keepintvl = addr.opt.tcpKeepintvl
	ls.Keepcnt = addr.opt.tcpKeepcnt

	ls.DeferredAccept = addr.opt.deferredAccept

	ls.Ipv6only = addr.opt.ipv6only

	ls.Fastopen = addr.opt.fastopen

	ls.Reuseport = addr.opt.reuseport

	return ls
}

// listenOpt is one address of a listen directive, with its parameters
// (ngx_http_listen_opt_t).
type listenOpt struct {
	sockaddr sys.Sockaddr

	set            bool // there are parameters that only one directive may have
	defaultServer  bool
	bind           bool // do not share the wildcard's socket
	wildcard       bool
	ipv6only       bool
	deferredAccept bool
	reuseport      bool

	soKeepalive  int // 1 is on, 2 is off
	backlog      int
	rcvbuf       int // bytes
	sndbuf       int // bytes
	fastopen     int
	tcpKeepidle  int // seconds
	tcpKeepintvl int // seconds
	tcpKeepcnt   int
}
