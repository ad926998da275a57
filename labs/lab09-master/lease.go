package main

import (
	"herd/nginxref/sys"
	"herd/tools/lab"
	"herd/tools/lab/lab09"
)

// LeaseTrylock is part B. It takes the lease for msec milliseconds
// (kernel.MonotonicNsec tells the time) if it is free, or if this process
// (kernel.Getpid) holds it, who thereby renews it, or if the holder's time is
// over. It reports whether this process now holds it. Who holds it and until when
// are both in lease.Word, because two words cannot be changed at once: choose how
// to put them there (a process id has at most 22 bits). Change the word with
// kernel.AtomicCmpSet alone: between two calls another process may come.
func LeaseTrylock(kernel sys.Kernel, lease *lab09.Lease, msec uint64) bool {
	lab.TODO("LeaseTrylock")
	return false
}

// LeaseUnlock gives the lease back, if this process still holds it.
func LeaseUnlock(kernel sys.Kernel, lease *lab09.Lease) {
	lab.TODO("LeaseUnlock")
}
