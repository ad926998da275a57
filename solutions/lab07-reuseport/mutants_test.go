package main

import (
	"testing"

	"herd/nginxref/core"
	"herd/nginxref/event"
	"herd/tools/lab"
	"herd/tools/lab/lab07"
)

// wrong returns the lab with a change to the solution.
func wrong(change func(f *lab07.Functions)) *lab.Lab {
	f := functions
	change(&f)
	return lab07.Lab(f)
}

// cloning returns the lab with clones that change has gone over, of those
// listeners that want it, from worker first on.
func cloning(first int, wants func(ls *event.Listening) bool, change func(ls *event.Listening)) *lab.Lab {
	return wrong(func(f *lab07.Functions) {
		f.CloneListening = func(cycle *event.Cycle, ls *event.Listening) {
			if !wants(ls) {
				return
			}
			for n := first; n < cycle.Conf.WorkerProcesses; n++ {
				clone := *ls
				clone.Worker = n
				change(&clone)
				cycle.Listening = append(cycle.Listening, &clone)
			}
		}
	})
}

func reuseport(ls *event.Listening) bool { return ls.Reuseport && ls.Worker == 0 }

// initListening registers ls, if it is to be, and returns what GetConnection
// and AddEvent leave it to return.
func initListening(cycle *event.Cycle, ls *event.Listening, register bool) core.Status {
	c := cycle.GetConnection(ls.Fd, cycle.Log)
	if c == nil {
		return core.Error
	}
	c.Log, c.Listening, ls.Connection = &ls.Log, ls, c
	c.Read.Log, c.Read.Accept, c.Read.Handler = c.Log, true, cycle.Actions.Accept
	if !register {
		return core.OK
	}
	return cycle.AddEvent(c.Read, event.ReadEvent, 0)
}

// mine reports whether ls is one that this worker accepts from.
func mine(cycle *event.Cycle, ls *event.Listening) bool {
	return !ls.Reuseport || ls.Worker == cycle.Worker
}

// drain accepts all that waits in the worker's own socket.
func drain(cycle *event.Cycle) {
	for _, ls := range cycle.Listening {
		if ls.Connection != nil {
			cycle.Event.MultiAccept = true
			event.EventAccept(ls.Connection.Read)
		}
	}
}

func TestMutants(t *testing.T) {
	lab.TestMutants(t, []lab.Mutant{
		{
			Name:     "one socket, made before the workers and shared by them",
			KilledBy: "A/a-socket-for-each-worker",
			Lab:      wrong(func(f *lab07.Functions) { f.CloneListening = func(*event.Cycle, *event.Listening) {} }),
		},
		{
			Name:     "worker 0 gets a second socket",
			KilledBy: "A/a-socket-for-each-worker",
			Lab:      cloning(0, reuseport, func(*event.Listening) {}),
		},
		{
			Name:     "the clones do not say whose they are",
			KilledBy: "A/a-socket-for-each-worker",
			Lab:      cloning(1, reuseport, func(ls *event.Listening) { ls.Worker = 0 }),
		},
		{
			Name:     "every listener is cloned",
			KilledBy: "A/only-reuseport-is-cloned",
			Lab:      cloning(1, func(ls *event.Listening) bool { return ls.Worker == 0 }, func(*event.Listening) {}),
		},
		{
			Name:     "clones are cloned",
			KilledBy: "A/only-reuseport-is-cloned",
			Lab:      cloning(1, func(ls *event.Listening) bool { return ls.Reuseport }, func(*event.Listening) {}),
		},
		{
			Name:     "a worker registers all sockets",
			KilledBy: "A/a-worker-registers-its-own",
			Lab: wrong(func(f *lab07.Functions) {
				f.InitListening = func(cycle *event.Cycle, ls *event.Listening) core.Status {
					return initListening(cycle, ls, ls.Reuseport || !cycle.UseAcceptMutex)
				}
			}),
		},
		{
			Name:     "a slot for each socket, also those of the others",
			KilledBy: "A/a-worker-registers-its-own",
			Lab: wrong(func(f *lab07.Functions) {
				f.InitListening = func(cycle *event.Cycle, ls *event.Listening) core.Status {
					return initListening(cycle, ls, mine(cycle, ls) && (ls.Reuseport || !cycle.UseAcceptMutex))
				}
			}),
		},
		{
			Name:     "the order of start says which socket is a worker's own",
			KilledBy: "A/a-successor-has-the-same-socket",
			Lab: wrong(func(f *lab07.Functions) {
				f.InitListening = func(cycle *event.Cycle, ls *event.Listening) core.Status {
					const first = 102 // process id of the first worker
					nth := (cycle.Kernel.Getpid() - first) % cycle.Conf.WorkerProcesses
					if ls.Reuseport && ls.Worker != nth {
						return core.OK
					}
					return initListening(cycle, ls, ls.Reuseport || !cycle.UseAcceptMutex)
				}
			}),
		},
		{
			Name:     "with the mutex a worker's own socket waits for the lock",
			KilledBy: "A/the-mutex-is-not-asked",
			Lab: wrong(func(f *lab07.Functions) {
				f.InitListening = func(cycle *event.Cycle, ls *event.Listening) core.Status {
					if !mine(cycle, ls) {
						return core.OK
					}
					return initListening(cycle, ls, !cycle.UseAcceptMutex)
				}
			}),
		},
		{
			Name:     "with the mutex a shared socket is registered as well",
			KilledBy: "A/the-mutex-is-not-asked",
			Lab: wrong(func(f *lab07.Functions) {
				f.InitListening = func(cycle *event.Cycle, ls *event.Listening) core.Status {
					if !mine(cycle, ls) {
						return core.OK
					}
					return initListening(cycle, ls, true)
				}
			}),
		},
		{
			Name:     "the kernel's refusal is ignored",
			KilledBy: "A/no-slot-is-an-error",
			Lab: wrong(func(f *lab07.Functions) {
				f.InitListening = func(cycle *event.Cycle, ls *event.Listening) core.Status {
					cycle.InitListening(ls)
					return core.OK
				}
			}),
		},
		{
			Name:     "nginx: nobody adopts the sockets",
			KilledBy: "B/what-is-queued-is-served",
			Lab: wrong(func(f *lab07.Functions) {
				f.Adopt = func(*event.Cycle, int) core.Status { return core.OK }
			}),
		},
		{
			Name:     "drain, then close",
			KilledBy: "B/what-comes-meanwhile-is-served",
			Lab: wrong(func(f *lab07.Functions) {
				f.Adopt = func(*event.Cycle, int) core.Status { return core.OK }
				f.Leave = func(cycle *event.Cycle) {
					drain(cycle)
					cycle.CloseListeningSockets()
				}
			}),
		},
		{
			Name:     "adopted edge-triggered: one of ten is served",
			KilledBy: "B/what-is-queued-is-served",
			Lab: wrong(func(f *lab07.Functions) {
				f.Adopt = func(cycle *event.Cycle, worker int) core.Status {
					for _, ls := range cycle.Listening {
						if ls.Worker == worker && ls.Connection == nil {
							initListening(cycle, ls, false)
							cycle.AddEvent(ls.Connection.Read, event.ReadEvent, event.ClearEvent)
						}
					}
					return core.OK
				}
			}),
		},
		{
			Name:     "closed, and still registered: the others have it open",
			KilledBy: "B/who-has-left-sleeps",
			Lab: wrong(func(f *lab07.Functions) {
				f.Leave = func(cycle *event.Cycle) {
					for _, ls := range cycle.Listening {
						cycle.Kernel.Close(ls.Fd)
					}
				}
			}),
		},
		{
			Name:     "who leaves unregisters, and keeps the sockets",
			KilledBy: "B/who-has-left-sleeps",
			Lab: wrong(func(f *lab07.Functions) {
				f.Leave = func(cycle *event.Cycle) { event.DisableAcceptEvents(cycle, true) }
			}),
		},
		{
			Name:     "who leaves cuts its clients off",
			KilledBy: "B/who-has-left-sleeps",
			Lab: wrong(func(f *lab07.Functions) {
				f.Leave = func(cycle *event.Cycle) {
					cycle.CloseListeningSockets()
					for i := range cycle.Connections {
						if c := &cycle.Connections[i]; c.Fd != -1 {
							cycle.CloseConnection(c)
						}
					}
				}
			}),
		},
		{
			Name:     "a socket is adopted as often as one is told to",
			KilledBy: "B/one-adopts-once",
			Lab: wrong(func(f *lab07.Functions) {
				f.Adopt = func(cycle *event.Cycle, worker int) core.Status {
					for _, ls := range cycle.Listening {
						if ls.Worker == worker {
							initListening(cycle, ls, true)
						}
					}
					return core.OK
				}
			}),
		},
		{
			Name:     "the successor adopts every socket",
			KilledBy: "B/one-adopts-once",
			Lab: wrong(func(f *lab07.Functions) {
				f.Adopt = func(cycle *event.Cycle, worker int) core.Status {
					for _, ls := range cycle.Listening {
						if ls.Connection == nil {
							initListening(cycle, ls, true)
						}
					}
					return core.OK
				}
			}),
		},
	})
}
