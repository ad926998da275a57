package main

import (
	"testing"

	"herd/nginxref/core"
	"herd/nginxref/sys"
	"herd/tools/fdpass"
	"herd/tools/lab"
	"herd/tools/lab/lab08"
)

// wrong returns the lab with a change to the solution.
func wrong(change func(f *lab08.Functions)) *lab.Lab {
	f := functions
	change(&f)
	return lab08.Lab(f)
}

// careless is a kernel that leaves out or changes one thing.
type careless struct {
	sys.Kernel
	keep   int       // a descriptor that is not closed, or -1
	errors sys.Errno // what every failed send counts as; 0: itself
}

func (k *careless) Close(fd int) sys.Errno {
	if fd == k.keep {
		return 0
	}
	return k.Kernel.Close(fd)
}

func (k *careless) Accept4(fd int, sa *sys.Sockaddr) (int, sys.Errno) {
	s, err := k.Kernel.Accept4(fd, sa)
	if err == 0 && k.keep == 0 {
		k.keep = s
	}
	return s, err
}

func (k *careless) Sendmsg(fd int, p []byte, pass int) (int, sys.Errno) {
	n, err := k.Kernel.Sendmsg(fd, p, pass)
	if err != 0 && k.errors != 0 {
		err = k.errors
	}
	return n, err
}

// with runs Dispatch on a careless kernel.
func with(k careless) func(d *fdpass.Dispatcher) core.Status {
	return func(d *fdpass.Dispatcher) core.Status {
		real := d.Kernel
		defer func() { d.Kernel = real }()
		mine := k
		mine.Kernel = real
		d.Kernel = &mine
		return d.Dispatch()
	}
}

func TestMutants(t *testing.T) {
	lab.TestMutants(t, []lab.Mutant{
		{
			Name:     "the master keeps its descriptor, as Node once did",
			KilledBy: "A/the-master-keeps-no-descriptor",
			Lab:      wrong(func(f *lab08.Functions) { f.Dispatch = with(careless{keep: 0}) }),
		},
		{
			Name:     "every connection goes to the first worker",
			KilledBy: "A/the-shares-are-exact",
			Lab: wrong(func(f *lab08.Functions) {
				f.Dispatch = func(d *fdpass.Dispatcher) core.Status {
					d.Next = 0
					return d.Dispatch()
				}
			}),
		},
		{
			Name:     "a dead worker is taken for a full one",
			KilledBy: "A/a-dead-worker-is-passed-over",
			Lab:      wrong(func(f *lab08.Functions) { f.Dispatch = with(careless{keep: -1, errors: sys.EAGAIN}) }),
		},
		{
			Name:     "a full channel is taken for a dead worker",
			KilledBy: "A/a-full-channel-loses-nothing",
			Lab:      wrong(func(f *lab08.Functions) { f.Dispatch = with(careless{keep: -1, errors: sys.EPIPE}) }),
		},
		{
			Name:     "more is accepted while a connection is pending",
			KilledBy: "A/a-full-channel-loses-nothing",
			Lab: wrong(func(f *lab08.Functions) {
				f.Dispatch = func(d *fdpass.Dispatcher) core.Status {
					pending := d.Pending
					d.Pending = -1
					status := d.Dispatch()
					if pending != -1 {
						d.Pending = pending
					}
					return status
				}
			}),
		},
		{
			Name:     "one connection a wakeup, and the rest is thrown away",
			KilledBy: "A/one-message-one-descriptor",
			Lab: wrong(func(f *lab08.Functions) {
				f.Receive = func(kernel sys.Kernel, channel int, got func(int)) core.Status {
					var buf [16]byte
					m, err := kernel.Recvmsg(channel, buf[:])
					if err != 0 {
						return core.Again
					}
					if m.N == 0 {
						return core.Error
					}
					if m.Fd != -1 {
						got(m.Fd)
					}
					var rest [16]byte
					kernel.Recvmsg(channel, rest[:])
					return core.OK
				}
			}),
		},
		{
			Name:     "a message without descriptor is passed on as one",
			KilledBy: "A/a-message-without-descriptor-is-an-error",
			Lab: wrong(func(f *lab08.Functions) {
				f.Receive = func(kernel sys.Kernel, channel int, got func(int)) core.Status {
					for {
						var buf [1]byte
						m, err := kernel.Recvmsg(channel, buf[:])
						if err != 0 {
							return core.Again
						}
						if m.N == 0 {
							return core.Error
						}
						got(m.Fd)
					}
				}
			}),
		},
		{
			Name:     "round robin for least connections",
			KilledBy: "B/the-least-busy-worker-gets-it",
			Lab: wrong(func(f *lab08.Functions) {
				f.Least = func(d *fdpass.Dispatcher, open func(int) int) core.Status { return d.Dispatch() }
			}),
		},
		{
			Name:     "a new channel for the successor",
			KilledBy: "B/a-restart-loses-nothing",
			Lab: wrong(func(f *lab08.Functions) {
				f.Restart = func(kernel sys.Kernel, masterEnd, workerEnd int) (int, int) {
					kernel.Close(masterEnd)
					kernel.Close(workerEnd)
					pair, _ := kernel.Socketpair()
					return pair[0], pair[1]
				}
			}),
		},
	})
}
