package measure

import (
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"herd/nginxref/core"
	"herd/nginxref/event"
	"herd/nginxref/stat"
	"herd/nginxref/sys"
	"herd/tools/fdpass"
)

// openChannels gives each worker its end of a channel where it would have a
// listener, and returns the master's dispatcher.
func openChannels(cycle *event.Cycle) *fdpass.Dispatcher {
	var channels []int
	for _, ls := range cycle.Listening {
		pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			cycle.Log.Error(core.LogEmerg, core.ErrnoOf(err), "socketpair() failed")
			os.Exit(1)
		}
		channels = append(channels, pair[0])
		ls.Fd = pair[1]
	}
	unix.CloseOnExec(masterListenFd)
	return fdpass.New(nil, masterListenFd, channels)
}

// dispatchForever accepts and passes connections on. What it does is counted
// in the slot behind the workers', but that it accepted is not: the worker
// that serves the connection counts that.
//
// Lab[0] of the slot is how many descriptors the master has open.
func dispatchForever(cycle *event.Cycle, d *fdpass.Dispatcher, dispatch func(*fdpass.Dispatcher) core.Status) {
	kernel, _ := sys.New()
	_, slots, _ := stat.ZoneAt(cycle.Shm.Addr)
	slot := &slots[cycle.Conf.WorkerProcesses]
	counting := stat.NewKernel(kernel, slot, event.NotifyData, func() int { return 0 })
	d.Kernel = counting

	ep, err := kernel.EpollCreate()
	if err == 0 {
		err = kernel.EpollCtl(ep, sys.EPOLL_CTL_ADD, d.Listener, sys.MakeEpollEvent(sys.EPOLLIN, 0))
	}
	if err != 0 {
		cycle.Log.Error(core.LogEmerg, err, "epoll of the listener failed")
		os.Exit(1)
	}
	for i := range cycle.Conf.WorkerProcesses {
		for atomic.LoadUint64(&slots[i].Ready) == 0 {
			time.Sleep(time.Millisecond) // descriptors are still being opened
		}
	}
	list := make([]sys.EpollEvent, 1)
	for turn := 0; ; turn++ {
		if turn%64 == 0 {
			slot.Lab[0] = openFiles()
		}
		timeout := -1
		if d.Pending != -1 {
			timeout = 1 // all channels are full
		}
		if n, _ := counting.EpollWait(ep, list, timeout); n > 0 || d.Pending != -1 {
			dispatch(d)
			slot.Accepted = 0
		}
	}
}

// openFiles returns how many descriptors this process has open.
func openFiles() uint64 {
	entries, _ := os.ReadDir("/proc/self/fd")
	return uint64(len(entries))
}
