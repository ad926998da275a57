package main

import (
	"herd/nginxref/event"
	"herd/nginxref/sys"
)

// AddExclusive registers fd for input, to be woken alone. The kernel refuses
// EPOLLRDHUP and EPOLLONESHOT beside EPOLLEXCLUSIVE.
func AddExclusive(k sys.Kernel, ep, fd int, data uint64) sys.Errno {
	return k.EpollCtl(ep, sys.EPOLL_CTL_ADD, fd, sys.MakeEpollEvent(sys.EPOLLIN|sys.EPOLLEXCLUSIVE, data))
}

// MoveToEnd takes fd's registration back and makes it anew: EPOLL_CTL_MOD
// would leave it where it is, and is refused.
func MoveToEnd(k sys.Kernel, ep, fd int, data uint64) sys.Errno {
	if err := k.EpollCtl(ep, sys.EPOLL_CTL_DEL, fd, sys.EpollEvent{}); err != 0 {
		return err
	}
	return AddExclusive(k, ep, fd, data)
}

// ReorderAcceptEvents is nginx's own: the reference.
var ReorderAcceptEvents = event.ReorderAcceptEvents
