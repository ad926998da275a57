package fake

import "slices"

// waitQueue is a list of those who want to hear of an event: processes that
// sleep, and epoll registrations.
type waitQueue []*waiter

// waiter is a place in a waitQueue.
type waiter struct {
	exclusive bool
	// f hears of the event and reports whether somebody was woken for it. key
	// holds the EPOLL bits that came about; 0 is for any of them.
	f func(key uint32) bool
}

// add puts a waiter where Linux does: at the head, exclusive ones at the tail.
// So those that are not exclusive hear first, the latest of them at the head.
func (q *waitQueue) add(e *waiter) {
	if e.exclusive {
		*q = append(*q, e)
	} else {
		q.addHead(e)
	}
}

func (q *waitQueue) addHead(e *waiter) { *q = slices.Insert(*q, 0, e) }

func (q *waitQueue) remove(e *waiter) {
	if i := slices.Index(*q, e); i >= 0 {
		*q = slices.Delete(*q, i, i+1)
	}
}

// wake walks the queue from its head and stops after the first exclusive
// waiter that woke somebody (__wake_up_common with nr_exclusive 1).
func (q *waitQueue) wake(key uint32) {
	for _, e := range slices.Clone(*q) {
		if e.f(key) && e.exclusive {
			return
		}
	}
}

// wakeAll walks all of the queue, exclusive waiters or not.
func (q *waitQueue) wakeAll(key uint32) {
	for _, e := range slices.Clone(*q) {
		e.f(key)
	}
}
