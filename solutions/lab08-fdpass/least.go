package main

import (
	"herd/nginxref/core"
	"herd/nginxref/sys"
	"herd/tools/fdpass"
)

// Least is Dispatch with another order of asking: the least busy worker first,
// and a full or dead one not twice.
func Least(d *fdpass.Dispatcher, open func(worker int) int) core.Status {
	s := d.Pending
	if s == -1 {
		var (
			peer sys.Sockaddr
			err  sys.Errno
		)
		if s, err = d.Kernel.Accept4(d.Listener, &peer); err == sys.EAGAIN {
			return core.Again
		} else if err != 0 {
			return core.Error
		}
	}

	d.Pending = -1
	status := core.Error
	full := make([]bool, len(d.Channels))
	for i := leastBusy(d.Channels, full, open); i != -1; i = leastBusy(d.Channels, full, open) {
		_, err := d.Kernel.Sendmsg(d.Channels[i], []byte{'c'}, s)
		if err == 0 {
			status = core.OK
			break
		}
		if err == sys.EAGAIN {
			full[i] = true
			status = core.Again
			continue
		}
		d.Kernel.Close(d.Channels[i])
		d.Channels[i] = -1
	}
	if status == core.Again {
		d.Pending = s
		return core.Again
	}
	d.Kernel.Close(s)
	return status
}

// leastBusy returns the first worker with the fewest open connections among
// those that are neither gone nor full, or -1.
func leastBusy(channels []int, full []bool, open func(worker int) int) int {
	best := -1
	for i, channel := range channels {
		if channel != -1 && !full[i] && (best == -1 || open(i) < open(best)) {
			best = i
		}
	}
	return best
}

// Restart keeps the channel. What is queued in it belongs to the socket, which
// lives as long as anyone has it open, and the master has: a new channel would
// throw the queue away with the old one.
func Restart(kernel sys.Kernel, masterEnd, workerEnd int) (newMasterEnd, newWorkerEnd int) {
	return masterEnd, workerEnd
}
