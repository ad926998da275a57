package main

import (
	"herd/nginxref/sys"
	"herd/tools/lab/lab00"
)

// Counted is LevelTriggered that counts what it is woken for. A wait of s
// sleeps was woken s times; all but the last wakeup were silent.
func Counted(k sys.Kernel, listener int, serve func(conn int), t *lab00.Tally) {
	ep, _ := k.EpollCreate()
	k.EpollCtl(ep, sys.EPOLL_CTL_ADD, listener, sys.MakeEpollEvent(sys.EPOLLIN, 0))

	list := make([]sys.EpollEvent, 8)
	var (
		addr sys.Sockaddr
		w    sys.Wait
	)
	for {
		n, _ := k.EpollWaitCounted(ep, list, -1, &w)

		sleeps := int(w.SleepsAfter - w.SleepsBefore)
		t.Wakeups += sleeps
		t.Silent += max(0, sleeps-1)
		if n < 1 {
			continue // EINTR
		}
		t.Returns++

		switch conn, err := k.Accept4(listener, &addr); err {
		case 0:
			serve(conn)
		case sys.EAGAIN:
			t.Eagain++
		}
	}
}
