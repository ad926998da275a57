package main

import (
	"testing"

	"herd/nginxref/sys"
	"herd/tools/lab"
	"herd/tools/lab/lab00"
)

// wrong returns the lab with a change to the solution.
func wrong(change func(f *lab00.Functions)) *lab.Lab {
	f := functions
	change(&f)
	return lab00.Lab(f)
}

// loop is a worker that registers the listener with bits and calls turn with
// what each wait returned.
func loop(bits uint32, turn func(k sys.Kernel, listener int, serve func(conn int), n int, err sys.Errno)) lab00.Loop {
	return func(k sys.Kernel, listener int, serve func(conn int)) {
		ep, _ := k.EpollCreate()
		k.EpollCtl(ep, sys.EPOLL_CTL_ADD, listener, sys.MakeEpollEvent(bits, 0))
		list := make([]sys.EpollEvent, 8)
		for {
			n, err := k.EpollWait(ep, list, -1)
			turn(k, listener, serve, n, err)
		}
	}
}

// acceptOnce takes one connection, if there is one.
func acceptOnce(k sys.Kernel, listener int, serve func(conn int)) sys.Errno {
	var addr sys.Sockaddr
	conn, err := k.Accept4(listener, &addr)
	if err == 0 {
		serve(conn)
	}
	return err
}

// counting is Counted with a mistake: count has to keep t after each wait,
// and failed after an accept that failed.
func counting(count func(t *lab00.Tally, n, sleeps int), failed func(t *lab00.Tally, err sys.Errno)) func(sys.Kernel, int, func(int), *lab00.Tally) {
	return func(k sys.Kernel, listener int, serve func(conn int), t *lab00.Tally) {
		ep, _ := k.EpollCreate()
		k.EpollCtl(ep, sys.EPOLL_CTL_ADD, listener, sys.MakeEpollEvent(sys.EPOLLIN, 0))
		list := make([]sys.EpollEvent, 8)
		var w sys.Wait
		for {
			n, _ := k.EpollWaitCounted(ep, list, -1, &w)
			count(t, n, int(w.SleepsAfter-w.SleepsBefore))
			if n > 0 {
				if err := acceptOnce(k, listener, serve); err != 0 {
					failed(t, err)
				}
			}
		}
	}
}

// onlyEagain is what counting should do of a failed accept.
func onlyEagain(t *lab00.Tally, err sys.Errno) {
	if err == sys.EAGAIN {
		t.Eagain++
	}
}

func TestMutants(t *testing.T) {
	lab.TestMutants(t, []lab.Mutant{
		{
			Name:     "the worker leaves at the first error",
			KilledBy: "A/level-serves-every-connection",
			Lab: wrong(func(f *lab00.Functions) {
				f.LevelTriggered = func(k sys.Kernel, listener int, serve func(conn int)) {
					ep, _ := k.EpollCreate()
					k.EpollCtl(ep, sys.EPOLL_CTL_ADD, listener, sys.MakeEpollEvent(sys.EPOLLIN, 0))
					list := make([]sys.EpollEvent, 8)
					for {
						if _, err := k.EpollWait(ep, list, -1); err != 0 {
							return
						}
						acceptOnce(k, listener, serve)
					}
				}
			}),
		},
		{
			Name:     "a failed accept is served",
			KilledBy: "A/level-serves-every-connection",
			Lab: wrong(func(f *lab00.Functions) {
				f.LevelTriggered = loop(sys.EPOLLIN, func(k sys.Kernel, listener int, serve func(int), n int, _ sys.Errno) {
					var addr sys.Sockaddr
					conn, _ := k.Accept4(listener, &addr)
					serve(conn)
				})
			}),
		},
		{
			Name:     "level-triggered, and accepts until EAGAIN",
			KilledBy: "A/level-takes-one-a-turn",
			Lab: wrong(func(f *lab00.Functions) {
				f.LevelTriggered = loop(sys.EPOLLIN, func(k sys.Kernel, listener int, serve func(int), n int, _ sys.Errno) {
					acceptAll(k, listener, serve)
				})
			}),
		},
		{
			Name:     "the herd is fixed before it is seen: EPOLLEXCLUSIVE",
			KilledBy: "A/level-wakes-all",
			Lab: wrong(func(f *lab00.Functions) {
				f.LevelTriggered = loop(sys.EPOLLIN|sys.EPOLLEXCLUSIVE, func(k sys.Kernel, listener int, serve func(int), n int, _ sys.Errno) {
					if n > 0 {
						acceptOnce(k, listener, serve)
					}
				})
			}),
		},
		{
			Name:     "edge-triggered, and accepts once",
			KilledBy: "A/edge-serves-every-connection",
			Lab: wrong(func(f *lab00.Functions) {
				f.EdgeTriggered = loop(sys.EPOLLIN|sys.EPOLLET, func(k sys.Kernel, listener int, serve func(int), n int, _ sys.Errno) {
					acceptOnce(k, listener, serve)
				})
			}),
		},
		{
			Name:     "edge-triggered, and takes any error for an empty queue",
			KilledBy: "A/edge-serves-every-connection",
			Lab: wrong(func(f *lab00.Functions) {
				f.EdgeTriggered = loop(sys.EPOLLIN|sys.EPOLLET, func(k sys.Kernel, listener int, serve func(int), n int, _ sys.Errno) {
					for acceptOnce(k, listener, serve) == 0 {
					}
				})
			}),
		},
		{
			Name:     "EPOLLET is forgotten",
			KilledBy: "A/edge-is-told-once",
			Lab: wrong(func(f *lab00.Functions) {
				f.EdgeTriggered = loop(sys.EPOLLIN, func(k sys.Kernel, listener int, serve func(int), n int, _ sys.Errno) {
					acceptAll(k, listener, serve)
				})
			}),
		},
		{
			Name:     "the blocking worker waits in epoll first",
			KilledBy: "A/blocking-wakes-one",
			Lab: wrong(func(f *lab00.Functions) {
				f.Blocking = f.LevelTriggered
			}),
		},
		{
			Name:     "a return counts as the wakeup",
			KilledBy: "B/no-wakeup-is-missed",
			Lab: wrong(func(f *lab00.Functions) {
				f.Counted = counting(func(t *lab00.Tally, n, sleeps int) {
					if n > 0 {
						t.Returns++
						t.Wakeups++
					}
				}, onlyEagain)
			}),
		},
		{
			Name:     "silent is wakeups less returns",
			KilledBy: "B/silent-ones-are-told-apart",
			Lab: wrong(func(f *lab00.Functions) {
				f.Counted = counting(func(t *lab00.Tally, n, sleeps int) {
					t.Wakeups += sleeps
					if n > 0 {
						t.Returns++
					}
					t.Silent = t.Wakeups - t.Returns
				}, onlyEagain)
			}),
		},
		{
			Name:     "a return without a sleep takes a silent wakeup back",
			KilledBy: "B/silent-ones-are-told-apart",
			Lab: wrong(func(f *lab00.Functions) {
				f.Counted = counting(func(t *lab00.Tally, n, sleeps int) {
					t.Wakeups += sleeps
					t.Silent += sleeps - 1
					if n > 0 {
						t.Returns++
					}
				}, onlyEagain)
			}),
		},
		{
			Name:     "every failed accept is an EAGAIN",
			KilledBy: "B/silent-ones-are-told-apart",
			Lab: wrong(func(f *lab00.Functions) {
				f.Counted = counting(func(t *lab00.Tally, n, sleeps int) {
					t.Wakeups += sleeps
					t.Silent += max(0, sleeps-1)
					if n > 0 {
						t.Returns++
					}
				}, func(t *lab00.Tally, err sys.Errno) { t.Eagain++ })
			}),
		},
	})
}
