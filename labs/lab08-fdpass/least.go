package main

import (
	"herd/nginxref/core"
	"herd/nginxref/sys"
	"herd/tools/fdpass"
	"herd/tools/lab"
)

// Least is part B: Dispatch, but the connection goes to the worker with the
// fewest open connections that can take it; of equal ones, the first.
// open(i) is how many worker i has open now.
func Least(d *fdpass.Dispatcher, open func(worker int) int) core.Status {
	lab.TODO("Least")
	return core.OK
}

// Restart is part B too: a worker has died, and its successor is about to be
// forked. masterEnd and workerEnd are the two ends of its channel, both open
// in the master. Return the ends that the successor shall have.
func Restart(kernel sys.Kernel, masterEnd, workerEnd int) (newMasterEnd, newWorkerEnd int) {
	lab.TODO("Restart")
	return masterEnd, workerEnd
}
