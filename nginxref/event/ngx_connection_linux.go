package event

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"herd/nginxref/core"
	"herd/nginxref/sys"
)

// listenBacklog is the length of a listener's queue, in connections, if it is
// not configured (NGX_LISTEN_BACKLOG of Linux).
const listenBacklog = 511

// CreateListening adds a listening socket, yet to be opened, to the cycle.
// Mirrors ngx_create_listening.
func (cycle *Cycle) CreateListening(sockaddr sys.Sockaddr) *Listening {
	ls := &Listening{}
	cycle.Listening = append(cycle.Listening, ls)

	ls.Sockaddr = sockaddr

	ls.AddrText = sockaddr.String()

	ls.Fd = -1
	ls.Type = unix.SOCK_STREAM

	ls.Backlog = listenBacklog
	ls.Rcvbuf = -1
	ls.Sndbuf = -1

	ls.Fastopen = -1

	return ls
}

// SetInheritedSockets finds out what the sockets are that came from another
// process, of which only the descriptors are known. Mirrors
// ngx_set_inherited_sockets.
func (cycle *Cycle) SetInheritedSockets() core.Status {
	for _, ls := range cycle.Listening {

		if err := getsockname(ls.Fd, &ls.Sockaddr); err != 0 {
			cycle.Log.Error(core.LogCrit, err, "getsockname() of the inherited socket #%d failed", ls.Fd)
			ls.Ignore = true
			continue
		}

		switch ls.Sockaddr.Family() {

		case sys.AF_INET6, sys.AF_UNIX, sys.AF_INET:

		default:
			cycle.Log.Error(core.LogCrit, 0,
				"the inherited socket #%d has an unsupported protocol family", ls.Fd)
			ls.Ignore = true
			continue
		}

		ls.AddrText = ls.Sockaddr.String()

		ls.Backlog = listenBacklog

		typ, err := unix.GetsockoptInt(ls.Fd, unix.SOL_SOCKET, unix.SO_TYPE)

		if err != nil {
			cycle.Log.Error(core.LogCrit, core.ErrnoOf(err), "getsockopt(SO_TYPE) %s failed", ls.AddrText)
			ls.Ignore = true
			continue
		}
		ls.Type = typ

		ls.Rcvbuf = cycle.getBuf(ls, unix.SO_RCVBUF, "SO_RCVBUF")

		ls.Sndbuf = cycle.getBuf(ls, unix.SO_SNDBUF, "SO_SNDBUF")

		reuseport, err := unix.GetsockoptInt(ls.Fd, unix.SOL_SOCKET, unix.SO_REUSEPORT)

		if err != nil {
			cycle.Log.Error(core.LogAlert, core.ErrnoOf(err),
				"getsockopt(SO_REUSEPORT) %s failed, ignored", ls.AddrText)

		} else {
			ls.Reuseport = reuseport != 0
		}

		if ls.Type != unix.SOCK_STREAM {
			continue
		}

		ls.Fastopen = cycle.getFastopen(ls)

		timeout, err := unix.GetsockoptInt(ls.Fd, unix.IPPROTO_TCP, unix.TCP_DEFER_ACCEPT)

		if err != nil {
			if err == syscall.EOPNOTSUPP {
				continue
			}

			cycle.Log.Error(core.LogNotice, core.ErrnoOf(err),
				"getsockopt(TCP_DEFER_ACCEPT) for %s failed, ignored", ls.AddrText)
			continue
		}

		if timeout == 0 {
			continue
		}

		ls.DeferredAccept = true
	}

	return core.OK
}

// getBuf returns the size of one of a socket's buffers, in bytes, or -1.
//
// DIVERGES: its own function; nginx has it twice in
// ngx_set_inherited_sockets.
func (cycle *Cycle) getBuf(ls *Listening, opt int, name string) int {
	size, err := unix.GetsockoptInt(ls.Fd, unix.SOL_SOCKET, opt)

	if err != nil {
		cycle.Log.Error(core.LogAlert, core.ErrnoOf(err),
			"getsockopt(%s) %s failed, ignored", name, ls.AddrText)

		return -1
	}

	return size
}

// getFastopen returns the length of a socket's queue for TCP Fast Open, or
// -1.
//
// DIVERGES: its own function; in nginx it is part of
// ngx_set_inherited_sockets.
func (cycle *Cycle) getFastopen(ls *Listening) int {
	fastopen, err := unix.GetsockoptInt(ls.Fd, unix.IPPROTO_TCP, unix.TCP_FASTOPEN)

	if err != nil {
		if err != syscall.EOPNOTSUPP && err != syscall.ENOPROTOOPT && err != syscall.EINVAL {
			cycle.Log.Error(core.LogNotice, core.ErrnoOf(err),
				"getsockopt(TCP_FASTOPEN) %s failed, ignored", ls.AddrText)
		}

		return -1
	}

	return fastopen
}

// ConfigureListeningSockets sets what may change while a socket is open.
// Mirrors ngx_configure_listening_sockets.
func (cycle *Cycle) ConfigureListeningSockets() {
	for _, ls := range cycle.Listening {

		ls.Log = *ls.LogP

		if ls.Rcvbuf != -1 {
			cycle.setOption(ls, unix.SOL_SOCKET, unix.SO_RCVBUF, "SO_RCVBUF", ls.Rcvbuf)
		}

		if ls.Sndbuf != -1 {
			cycle.setOption(ls, unix.SOL_SOCKET, unix.SO_SNDBUF, "SO_SNDBUF", ls.Sndbuf)
		}

		if ls.Keepalive != 0 {
			value := 0
			if ls.Keepalive == 1 {
				value = 1
			}

			cycle.setOption(ls, unix.SOL_SOCKET, unix.SO_KEEPALIVE, "SO_KEEPALIVE", value)
		}

		if ls.Keepidle != 0 {
			cycle.setOption(ls, unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, "TCP_KEEPIDLE", ls.Keepidle)
		}

		if ls.Keepintvl != 0 {
			cycle.setOption(ls, unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, "TCP_KEEPINTVL", ls.Keepintvl)
		}

		if ls.Keepcnt != 0 {
			cycle.setOption(ls, unix.IPPROTO_TCP, unix.TCP_KEEPCNT, "TCP_KEEPCNT", ls.Keepcnt)
		}

		if ls.Fastopen != -1 {
			cycle.setOption(ls, unix.IPPROTO_TCP, unix.TCP_FASTOPEN, "TCP_FASTOPEN", ls.Fastopen)
		}

		if ls.Listen {

			// listen on a listening socket changes its backlog.
			if err := unix.Listen(ls.Fd, ls.Backlog); err != nil {
				cycle.Log.Error(core.LogAlert, core.ErrnoOf(err),
					"listen() to %s, backlog %d failed, ignored", ls.AddrText, ls.Backlog)
			}
		}

		if ls.AddDeferred || ls.DeleteDeferred {

			value := 0
			if ls.AddDeferred {
				// How long a connection was in the queue cannot be
				// found out, so the wait is kept to a second.
				value = 1
			}

			if err := unix.SetsockoptInt(ls.Fd, unix.IPPROTO_TCP, unix.TCP_DEFER_ACCEPT, value); err != nil {
				cycle.Log.Error(core.LogAlert, core.ErrnoOf(err),
					"setsockopt(TCP_DEFER_ACCEPT, %d) for %s failed, ignored", value, ls.AddrText)

				continue
			}
		}

		if ls.AddDeferred {
			ls.DeferredAccept = true
		}
	}
}

// setOption sets one integer option; a failure is only logged.
//
// DIVERGES: its own function; nginx writes it out for each option.
func (cycle *Cycle) setOption(ls *Listening, level, opt int, name string, value int) {
	if err := unix.SetsockoptInt(ls.Fd, level, opt, value); err != nil {
		cycle.Log.Error(core.LogAlert, core.ErrnoOf(err),
			"setsockopt(%s, %d) %s failed, ignored", name, value, ls.AddrText)
	}
}

// getsockname is unix.Getsockname, but that returns another form of address.
func getsockname(fd int, sa *sys.Sockaddr) sys.Errno {
	sa.Len = uint32(len(sa.Raw))
	_, _, err := unix.RawSyscall(unix.SYS_GETSOCKNAME, uintptr(fd),
		uintptr(unsafe.Pointer(&sa.Raw)), uintptr(unsafe.Pointer(&sa.Len)))
	return err
}
