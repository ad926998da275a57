package event

import (
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"herd/nginxref/core"
	"herd/nginxref/sys"
)

// OpenListeningSockets opens the sockets that are not open. An address in use
// is tried five times, half a second apart: its owner may be about to leave.
//
// To test a configuration (test is set) an address in use is good enough, and
// no socket joins a reuseport group: connections that the kernel gave to it
// would be reset when the test is over.
//
// Mirrors ngx_open_listening_sockets.
func (cycle *Cycle) OpenListeningSockets(test bool) core.Status {
	failed := false

	log := cycle.Log

	for tries := 5; tries > 0; tries-- {
		failed = false

		for _, ls := range cycle.Listening {

			if ls.Ignore {
				continue
			}

			if ls.AddReuseport {

				// The old socket must have it before new ones can be
				// bound to its address.
				if err := unix.SetsockoptInt(ls.Fd, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1); err != nil {
					cycle.Log.Error(core.LogAlert, core.ErrnoOf(err),
						"setsockopt(SO_REUSEPORT) %s failed, ignored", ls.AddrText)
				}

				ls.AddReuseport = false
			}

			if ls.Fd != -1 {
				continue
			}

			if ls.Inherited {
				continue
			}

			switch cycle.openListening(ls, test) {

			case core.Error:
				return core.Error

			case core.Again:
				failed = true
			}
		}

		if !failed {
			break
		}

		log.Error(core.LogNotice, 0, "try again to bind() after 500ms")

		time.Sleep(500 * time.Millisecond)
	}

	if failed {
		log.Error(core.LogEmerg, 0, "still could not bind()")
		return core.Error
	}

	return core.OK
}

// openListening opens one socket. It returns Again if the address is in use
// and Declined if that does not matter.
//
// DIVERGES: its own function; in nginx it is the body of the loop in
// ngx_open_listening_sockets. The socket is close-on-exec: who inherits it is
// given it by number.
func (cycle *Cycle) openListening(ls *Listening, test bool) core.Status {
	log := cycle.Log

	s, err := unix.Socket(ls.Sockaddr.Family(), ls.Type|unix.SOCK_CLOEXEC, 0)

	if err != nil {
		log.Error(core.LogEmerg, core.ErrnoOf(err), "socket() %s failed", ls.AddrText)
		return core.Error
	}

	if cycle.setOptions(s, ls, test) != core.OK {
		return core.Error
	}

	log.Debug(core.LogDebugCore, 0, "bind() %s #%d ", ls.AddrText, s)

	errno := bind(s, &ls.Sockaddr)

	if errno == syscall.EADDRINUSE && !test && cycle.removeStale(ls) {
		errno = bind(s, &ls.Sockaddr)
	}

	if errno != 0 {
		if errno != syscall.EADDRINUSE || !test {
			log.Error(core.LogEmerg, errno, "bind() to %s failed", ls.AddrText)
		}

		return cycle.notOpened(s, ls, errno, test)
	}

	if ls.Sockaddr.Family() == sys.AF_UNIX {
		cycle.initSocketFile(ls.Sockaddr.Path(), test)
	}

	if ls.Type != unix.SOCK_STREAM {
		ls.Fd = s
		return core.OK
	}

	if err := unix.Listen(s, ls.Backlog); err != nil {
		errno := core.ErrnoOf(err)

		if errno != syscall.EADDRINUSE || !test {
			log.Error(core.LogEmerg, errno, "listen() to %s, backlog %d failed", ls.AddrText, ls.Backlog)
		}

		return cycle.notOpened(s, ls, errno, test)
	}

	ls.Listen = true

	ls.Fd = s

	return core.OK
}

// setOptions sets what must be set before the socket has an address; if that
// fails it closes the socket.
//
// DIVERGES: its own function; in nginx it is part of
// ngx_open_listening_sockets.
func (cycle *Cycle) setOptions(s int, ls *Listening, test bool) core.Status {
	log := cycle.Log

	failed := func(call string, err error) core.Status {
		log.Error(core.LogEmerg, core.ErrnoOf(err), "%s %s failed", call, ls.AddrText)
		cycle.closeSocket(s, ls)
		return core.Error
	}

	if ls.Type != unix.SOCK_DGRAM || !test {

		if err := unix.SetsockoptInt(s, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1); err != nil {
			return failed("setsockopt(SO_REUSEADDR)", err)
		}
	}

	if ls.Reuseport && !test {

		if err := unix.SetsockoptInt(s, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1); err != nil {
			return failed("setsockopt(SO_REUSEPORT)", err)
		}
	}

	if ls.Sockaddr.Family() == sys.AF_INET6 {
		ipv6only := 0
		if ls.Ipv6only {
			ipv6only = 1
		}

		if err := unix.SetsockoptInt(s, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, ipv6only); err != nil {
			log.Error(core.LogEmerg, core.ErrnoOf(err), "setsockopt(IPV6_V6ONLY) %s failed, ignored", ls.AddrText)
		}
	}

	if err := unix.SetNonblock(s, true); err != nil {
		return failed("fcntl(O_NONBLOCK)", err)
	}

	return core.OK
}

// notOpened closes a socket that could not be bound or listen because of err,
// and returns what openListening is to return.
//
// DIVERGES: its own function; nginx has it twice in
// ngx_open_listening_sockets.
func (cycle *Cycle) notOpened(s int, ls *Listening, err sys.Errno, test bool) core.Status {
	cycle.closeSocket(s, ls)

	if err != syscall.EADDRINUSE {
		return core.Error
	}

	if !test {
		return core.Again
	}

	return core.Declined
}

// closeSocket closes a socket that was not to be ls.
func (cycle *Cycle) closeSocket(s int, ls *Listening) {
	if err := cycle.Kernel.Close(s); err != 0 {
		cycle.Log.Error(core.LogEmerg, err, "close() socket %s failed", ls.AddrText)
	}
}

// initSocketFile lets everyone connect to a Unix socket, or removes its file
// after a test.
//
// DIVERGES: its own function; in nginx it is part of
// ngx_open_listening_sockets.
func (cycle *Cycle) initSocketFile(name string, test bool) {
	if err := os.Chmod(name, 0666); err != nil {
		cycle.Log.Error(core.LogEmerg, core.ErrnoOf(err), "chmod() \"%s\" failed", name)
	}

	if test {
		if err := syscall.Unlink(name); err != nil {
			cycle.Log.Error(core.LogEmerg, core.ErrnoOf(err), "unlink() %s failed", name)
		}
	}
}

// removeStale removes the file of a Unix socket that nobody listens on, and
// reports whether it did: a master that was killed leaves its files behind. A
// file that is no socket is never removed.
//
// DIVERGES: nginx does not start until somebody removes the file.
func (cycle *Cycle) removeStale(ls *Listening) bool {
	if ls.Sockaddr.Family() != sys.AF_UNIX {
		return false
	}
	name := ls.Sockaddr.Path()

	info, err := os.Lstat(name)
	if err != nil || info.Mode().Type() != os.ModeSocket {
		return false
	}

	s, err := unix.Socket(unix.AF_UNIX, ls.Type|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer cycle.closeSocket(s, ls)

	if connect(s, &ls.Sockaddr) != syscall.ECONNREFUSED {
		return false
	}

	cycle.Log.Error(core.LogWarn, 0, "deleting stale socket %s", name)

	return syscall.Unlink(name) == nil
}

// The calls of package unix take their own form of address.

func bind(fd int, sa *sys.Sockaddr) sys.Errno {
	_, _, err := unix.RawSyscall(unix.SYS_BIND, uintptr(fd),
		uintptr(unsafe.Pointer(&sa.Raw)), uintptr(sa.Len))
	return err
}

func connect(fd int, sa *sys.Sockaddr) sys.Errno {
	_, _, err := unix.RawSyscall(unix.SYS_CONNECT, uintptr(fd),
		uintptr(unsafe.Pointer(&sa.Raw)), uintptr(sa.Len))
	return err
}
