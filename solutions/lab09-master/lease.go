package main

import (
	"herd/nginxref/sys"
	"herd/tools/lab/lab09"
)

// The lease's word: the holder's process id in the high 22 bits, the end in
// milliseconds (of 42 bits: 139 years of uptime) in the low ones. Both change
// in one compare-and-set. Had they a word each, one process could judge by the
// id of the new holder and the time of the old one, and take away a lease that
// had just begun.
const endBits = 42

func pack(pid int, end uint64) uint64 { return uint64(pid)<<endBits | end }

func unpack(word uint64) (pid int, end uint64) {
	return int(word >> endBits), word & (1<<endBits - 1)
}

// LeaseTrylock changes the word that it has judged, or none.
func LeaseTrylock(kernel sys.Kernel, lease *lab09.Lease, msec uint64) bool {
	word := kernel.AtomicLoad(&lease.Word)
	holder, end := unpack(word)
	now := kernel.MonotonicNsec() / 1e6

	if word != 0 && holder != kernel.Getpid() && now < end {
		return false
	}
	return kernel.AtomicCmpSet(&lease.Word, word, pack(kernel.Getpid(), now+msec))
}

// LeaseUnlock frees the lease if the word still names this process: another
// may have taken it over meanwhile.
func LeaseUnlock(kernel sys.Kernel, lease *lab09.Lease) {
	word := kernel.AtomicLoad(&lease.Word)
	if holder, _ := unpack(word); holder == kernel.Getpid() {
		kernel.AtomicCmpSet(&lease.Word, word, 0)
	}
}
