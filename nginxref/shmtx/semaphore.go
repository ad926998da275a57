package shmtx

import (
	"syscall"

	"herd/nginxref/sys"
)

// semValueMax is the largest value of a semaphore (SEM_VALUE_MAX).
const semValueMax = 1<<31 - 1

// Semaphore is a POSIX semaphore shared between processes (sem_overview(7)),
// made of one futex word: how many waits may still pass without sleeping.
// Fresh shared memory, all zeros, is a semaphore of value 0.
type Semaphore struct {
	Value sys.Futex
}

// Wait takes 1 off the value, sleeping while it is 0. It returns EINTR, with
// nothing taken, if a signal came first. Stands for sem_wait.
func (sem *Semaphore) Wait(kernel sys.Kernel) sys.Errno {
	for {
		value := kernel.FutexLoad(&sem.Value)
		if value > 0 {
			if kernel.FutexCmpSet(&sem.Value, value, value-1) {
				return 0
			}
			continue
		}
		// A post between the load and this call makes the kernel return
		// EAGAIN instead of sleeping: the post is not missed.
		if err := kernel.FutexWait(&sem.Value, 0); err != 0 && err != sys.EAGAIN {
			return err
		}
	}
}

// Post adds 1 to the value and wakes one sleeper. It returns EOVERFLOW, with
// nothing added, at the largest value. Stands for sem_post.
func (sem *Semaphore) Post(kernel sys.Kernel) sys.Errno {
	for {
		value := kernel.FutexLoad(&sem.Value)
		if value == semValueMax {
			return syscall.EOVERFLOW
		}
		if kernel.FutexCmpSet(&sem.Value, value, value+1) {
			break
		}
	}
	_, err := kernel.FutexWake(&sem.Value, 1)
	return err
}
