// Package fake is a deterministic kernel behind [sys.Kernel]: nginx's event
// core, its mutexes and the labs run on it unchanged, on any system. Tests can
// try every interleaving, make any call fail or any process die at any call,
// and count wakeups exactly.
//
// A scenario is a function of a [World]. It makes listeners, processes and
// clients, lets time pass, and says what must be true:
//
//	fake.Run(func(w *fake.World) {
//		s0 := w.Listen()
//		w1 := w.Start("worker 1", worker, s0)  // worker is a func(*fake.Process)
//		w2 := w.Start("worker 2", worker, s0)
//		w.Always("only one accepts", func() string { ... })  // after every step
//		w.Settle()                             // they run until all sleep
//		before := w.Total()
//		w.Connect(s0)
//		w.Settle()
//		w.Expect("a connection wakes all", w.Total().Since(before).Wakeups, 2)
//		w1.Kill()                              // SIGKILL
//		w2.Fail(fake.Accept4, 1, sys.EMFILE)   // its next accept4
//		w.Connect(s0).Send("GET / HTTP/1.0\r\n\r\n")
//		w.Advance(500 * time.Millisecond)
//		w.Until("the client is served", func() bool { ... })
//	}, fake.Options{}).Check(t)
//
// # Who runs
//
// The code of a process is one goroutine, and one process at a time has the
// processor. Before every kernel call, an atomic operation included, and when
// a process sleeps, a [Policy] may give it to another that can run. Between
// two calls nobody else runs. (A call that nobody else could notice, as on a
// connection of one's own, is no point to switch at.) [Explore] runs a
// scenario under every schedule that departs from the default at most a given
// number of times, and under every value of [World.Choose], and prints the
// steps that led to the first wrong one. [Replay] repeats a schedule.
//
// # Time
//
// The clock moves only when every process sleeps and the scenario waits:
// computing takes no time. Settle leaves the clock alone, Advance and Until
// move it from one thing that is due to the next. Wall-clock time is used only
// to catch a process that loops without ever calling the kernel.
//
// # What is modelled
//
//   - epoll: ready lists and wait queues as Linux keeps them; level- and
//     edge-triggered, EXCLUSIVE, ONESHOT; who hears of an event in which order;
//     the silent wakeup, of a process that finds nothing and sleeps again
//   - listeners with their queues, SO_REUSEPORT groups, tcp_migrate_req;
//     TCP connections with limited room, FIN and RST; clients without processes
//   - AF_UNIX stream pairs that pass descriptors, eventfds, futexes, record
//     locks of fcntl, descriptors shared by fork, RLIMIT_NOFILE
//   - SIGKILL, SIGSTOP, a signal that interrupts, exit, wait
//
// The package's tests run the same scripts on this kernel and on Linux. Left
// out are epoll sets within epoll sets, datagrams, OFD locks and flock, the
// detection of deadlocks by F_SETLKW, and the effect of socket options.
package fake
