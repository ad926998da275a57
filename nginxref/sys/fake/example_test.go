package fake_test

import (
	"fmt"
	"os"

	"herd/nginxref/sys"
	"herd/nginxref/sys/fake"
)

// Two workers watch one listener. A connection wakes both; the one that runs
// second finds nothing and sleeps again, and nothing in it notices.
func ExampleRun() {
	fake.Run(func(w *fake.World) {
		s0 := w.Listen()
		for _, name := range []string{"worker 1", "worker 2"} {
			w.Start(name, func(p *fake.Process) {
				ep, _ := p.EpollCreate()
				p.EpollCtl(ep, sys.EPOLL_CTL_ADD, p.Fd(s0), sys.MakeEpollEvent(sys.EPOLLIN, 0))
				for {
					var sa sys.Sockaddr
					p.EpollWait(ep, make([]sys.EpollEvent, 1), -1)
					p.Accept4(p.Fd(s0), &sa)
				}
			}, s0)
		}
		w.Settle()
		w.Connect(s0)
		w.Settle()
		fmt.Println("The steps:")
		w.PrintTrace(os.Stdout, len(w.Trace()), 11)
		fmt.Printf("%d wakeups, %d of them silent\n", w.Total().Wakeups, w.Total().Silent)
	}, fake.Options{})
	// Output:
	// The steps:
	//     1     0.000 ms  worker 1  epoll_create1() = 4
	//     2     0.000 ms  worker 1  epoll_ctl(4 epoll, ADD, 3 s0, IN) = 0
	//     3     0.000 ms  worker 1  epoll_wait(4 epoll, for ever) sleeps
	//     4     0.000 ms  worker 2  epoll_create1() = 4
	//     5     0.000 ms  worker 2  epoll_ctl(4 epoll, ADD, 3 s0, IN) = 0
	//     6     0.000 ms  worker 2  epoll_wait(4 epoll, for ever) sleeps
	//     7     0.000 ms  client 1  connects to s0  wakes worker 2, worker 1
	//     8     0.000 ms  worker 2  epoll_wait(4 epoll, for ever) = 1 [IN 3 s0]
	//     9     0.000 ms  worker 2  accept4(3 s0) = 5 client 1
	//    10     0.000 ms  worker 2  epoll_wait(4 epoll, for ever) sleeps
	// >  11     0.000 ms  worker 1  epoll_wait(4 epoll) wakes, finds nothing and sleeps again
	// 2 wakeups, 1 of them silent
}
