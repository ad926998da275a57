package main

import "herd/nginxref/sys"

// LevelTriggered is the life of a worker that waits in epoll_wait and takes
// one connection each time it is told that there is one.
func LevelTriggered(k sys.Kernel, listener int, serve func(conn int)) {
	ep, _ := k.EpollCreate()
	k.EpollCtl(ep, sys.EPOLL_CTL_ADD, listener, sys.MakeEpollEvent(sys.EPOLLIN, 0))

	list := make([]sys.EpollEvent, 8)
	var addr sys.Sockaddr
	for {
		if n, _ := k.EpollWait(ep, list, -1); n < 1 {
			continue // EINTR
		}
		if conn, err := k.Accept4(listener, &addr); err == 0 {
			serve(conn)
		}
	}
}

// EdgeTriggered is the life of a worker that is told of a connection once, and
// then takes all that there are.
func EdgeTriggered(k sys.Kernel, listener int, serve func(conn int)) {
	ep, _ := k.EpollCreate()
	k.EpollCtl(ep, sys.EPOLL_CTL_ADD, listener, sys.MakeEpollEvent(sys.EPOLLIN|sys.EPOLLET, 0))

	list := make([]sys.EpollEvent, 8)
	for {
		if n, _ := k.EpollWait(ep, list, -1); n > 0 {
			acceptAll(k, listener, serve)
		}
	}
}

// acceptAll takes connections until the queue is empty. Any other error says
// something of one connection only.
func acceptAll(k sys.Kernel, listener int, serve func(conn int)) {
	var addr sys.Sockaddr
	for {
		conn, err := k.Accept4(listener, &addr)
		if err == sys.EAGAIN {
			return
		}
		if err == 0 {
			serve(conn)
		}
	}
}

// Blocking is the life of a worker that sleeps in accept4.
func Blocking(k sys.Kernel, listener int, serve func(conn int)) {
	var addr sys.Sockaddr
	for {
		if conn, err := k.Accept4(listener, &addr); err == 0 {
			serve(conn)
		}
	}
}
