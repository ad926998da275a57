//go:build linux

package main

import (
	"net/netip"
	"slices"

	"herd/nginxref/conf"
	"herd/nginxref/core"
	"herd/nginxref/event"
	"herd/nginxref/sys"
)

// The events block.
const (
	eventModuleType conf.ModuleType = "EVNT"

	eventBlock = 0x02000000 // NGX_EVENT_CONF
)

// eventConf is what is configured in the events block, as far as it was
// (ngx_event_conf_t and ngx_epoll_conf_t). What comes of it is
// event.EventConf.
type eventConf struct {
	connections      int
	used             bool // there was a use directive
	multiAccept      int
	acceptMutex      int
	acceptMutexDelay core.Msec

	exclusiveAccept int
	acceptMutexLock int

	events int // most that one wait returns

	debugUnix       bool
	debugConnection []netip.Prefix
}

// The values of accept_mutex_lock.
const (
	lockAtomic = iota
	lockFile
)

// eventsModule is ngx_events_module.
var eventsModule = &conf.Module{
	Name:     "events",
	Type:     conf.CoreModule,
	Commands: []conf.Command{{Name: "events", Type: conf.MainConf | conf.Block | conf.NoArgs, Set: eventsBlock}},
}

// eventCoreModule is ngx_event_core_module, with two directives of our own:
// accept_exclusive off registers listeners without EPOLLEXCLUSIVE, for the
// classic herd, and accept_mutex_lock file has the accept mutex lock a file,
// as it does where there are no atomic operations.
var eventCoreModule = &conf.Module{
	Name: "event_core",
	Type: eventModuleType,
	Commands: []conf.Command{
		{Name: "worker_connections", Type: eventBlock | conf.Take1, Set: setConnections},
		{Name: "use", Type: eventBlock | conf.Take1, Set: setUse},
		{Name: "multi_accept", Type: eventBlock | conf.Flag, Set: conf.FlagSlot(func(e *eventConf) *int { return &e.multiAccept })},
		{Name: "accept_mutex", Type: eventBlock | conf.Flag, Set: conf.FlagSlot(func(e *eventConf) *int { return &e.acceptMutex })},
		{Name: "accept_mutex_delay", Type: eventBlock | conf.Take1, Set: conf.MsecSlot(func(e *eventConf) *core.Msec { return &e.acceptMutexDelay })},
		{Name: "debug_connection", Type: eventBlock | conf.Take1, Set: setDebugConnection},

		{Name: "accept_exclusive", Type: eventBlock | conf.Flag, Set: conf.FlagSlot(func(e *eventConf) *int { return &e.exclusiveAccept })},
		{Name: "accept_mutex_lock", Type: eventBlock | conf.Take1, Set: conf.EnumSlot(func(e *eventConf) *int { return &e.acceptMutexLock },
			[]conf.Enum{{Name: "atomic", Value: lockAtomic}, {Name: "file", Value: lockFile}})},
	},
}

// epollModule is ngx_epoll_module.
var epollModule = &conf.Module{
	Name: "epoll",
	Type: eventModuleType,
	Commands: []conf.Command{
		{Name: "epoll_events", Type: eventBlock | conf.Take1, Set: conf.NumSlot(func(e *eventConf) *int { return &e.events })},
	},
}

// eventsBlock mirrors ngx_events_block and ngx_event_core_create_conf.
func eventsBlock(cf *conf.Conf, _ *conf.Command) error {
	cycle := cf.Ctx.(*cycle)

	if cycle.events != nil {
		return conf.ErrDuplicate
	}

	cycle.events = &eventConf{
		connections:      conf.Unset,
		multiAccept:      conf.Unset,
		acceptMutex:      conf.Unset,
		acceptMutexDelay: conf.UnsetMsec,

		exclusiveAccept: conf.Unset,
		acceptMutexLock: conf.Unset,

		events: conf.Unset,
	}

	if err := cf.Block(cycle.events, eventModuleType, eventBlock); err != nil {
		return err
	}

	cycle.events.init()

	return nil
}

// init mirrors ngx_event_core_init_conf and ngx_epoll_init_conf.
func (ecf *eventConf) init() {
	initValue(&ecf.connections, 512)

	initValue(&ecf.multiAccept, 0)
	initValue(&ecf.acceptMutex, 0)
	initMsec(&ecf.acceptMutexDelay, 500)

	initValue(&ecf.exclusiveAccept, 1)
	initValue(&ecf.acceptMutexLock, lockAtomic)

	initValue(&ecf.events, 512)
}

// initEventConf checks that there is room for the listening sockets, and
// clones those of which each worker gets one: the number of workers may have
// been configured after them. Mirrors ngx_event_init_conf.
func (c *cycle) initEventConf(log *core.Log) core.Status {
	ecf := c.events

	if ecf == nil {
		log.Error(core.LogEmerg, 0, "no \"events\" section in configuration")
		return core.Error
	}

	c.ConnectionN = ecf.connections

	c.Event = event.EventConf{
		Connections:      ecf.connections,
		MultiAccept:      ecf.multiAccept == 1,
		AcceptMutex:      ecf.acceptMutex == 1,
		AcceptMutexDelay: ecf.acceptMutexDelay,
		EpollEvents:      ecf.events,
		ExclusiveAccept:  ecf.exclusiveAccept == 1,
	}
	if ecf.acceptMutexLock == lockFile {
		c.Event.LockFile = c.lockFile + ".accept"
	}

	// One more is for the channel.
	if c.ConnectionN < len(c.Listening)+1 {
		log.Error(core.LogEmerg, 0, "%d worker_connections are not enough "+
			"for %d listening sockets", c.ConnectionN, len(c.Listening))

		return core.Error
	}

	if ecf.debugUnix || len(ecf.debugConnection) != 0 {
		c.Event.DebugAccepted = ecf.debugAccepted
	}

	if !c.program.testConfig {

		for _, ls := range c.Listening {
			c.CloneListening(ls)
		}
	}

	return core.OK
}

// setConnections mirrors ngx_event_connections.
func setConnections(cf *conf.Conf, _ *conf.Command) error {
	ecf := cf.Ctx.(*eventConf)

	if ecf.connections != conf.Unset {
		return conf.ErrDuplicate
	}

	ecf.connections = conf.Atoi(cf.Args[1])
	if ecf.connections == conf.Unset {
		return cf.Errorf("invalid number \"%s\"", cf.Args[1])
	}

	return nil
}

// setUse mirrors ngx_event_use.
//
// DIVERGES: epoll is the only event method.
func setUse(cf *conf.Conf, _ *conf.Command) error {
	ecf := cf.Ctx.(*eventConf)

	if ecf.used {
		return conf.ErrDuplicate
	}

	if cf.Args[1] == "epoll" {
		ecf.used = true
		return nil
	}

	return cf.Errorf("invalid event type \"%s\"", cf.Args[1])
}

// setDebugConnection mirrors ngx_event_debug_connection.
func setDebugConnection(cf *conf.Conf, _ *conf.Command) error {
	ecf := cf.Ctx.(*eventConf)
	value := cf.Args[1]

	if value == "unix:" {
		ecf.debugUnix = true
		return nil
	}

	prefix, err := conf.ParseCIDR(value)

	if err == nil || err == conf.ErrLowBits {
		if err == conf.ErrLowBits {
			cf.LogError(core.LogWarn, 0, "low address bits of %s are meaningless", value)
		}

		ecf.debugConnection = append(ecf.debugConnection, prefix)
		return nil
	}

	addrs, err := conf.ResolveHost(value)

	if err != nil {
		return cf.Errorf("%s in debug_connection \"%s\"", err, value)
	}

	for _, addr := range addrs {
		ecf.debugConnection = append(ecf.debugConnection, netip.PrefixFrom(addr, addr.BitLen()))
	}

	return nil
}

// debugAccepted has a connection from a debug_connection address logged at
// all debug levels. Mirrors ngx_debug_accepted_connection.
func (ecf *eventConf) debugAccepted(c *event.Connection) {
	if ecf.debugs(&c.Sockaddr) {
		c.Log.Level = core.LogDebugConnection | core.LogDebugAll
	}
}

// debugs reports whether sa is one of the debug_connection addresses.
func (ecf *eventConf) debugs(sa *sys.Sockaddr) bool {
	var addr netip.Addr

	switch sa.Family() {
	case sys.AF_UNIX:
		return ecf.debugUnix
	case sys.AF_INET6:
		addr = netip.AddrFrom16([16]byte(sa.Raw[8:24]))
	default:
		addr = netip.AddrFrom4([4]byte(sa.Raw[4:8]))
	}

	return slices.ContainsFunc(ecf.debugConnection, func(cidr netip.Prefix) bool { return cidr.Contains(addr) })
}
