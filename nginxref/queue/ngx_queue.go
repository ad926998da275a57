// Package queue is nginx's intrusive doubly linked list (ngx_queue.h): the
// links live inside the things that are linked, so an insert allocates
// nothing and a removal needs no search.
//
// One Queue plays both parts. As the head (the sentinel) it stands between
// the last and the first element; as a link it is a field of an element:
//
//	    +------+     +---+     +---+
//	+-> | head | <-> | a | <-> | b | <-+
//	|   +------+     +---+     +---+   |
//	+----------------------------------+
//
// One thread uses a queue, the loop's; there is no lock.
package queue

import "unsafe"

// Queue is a link or a head, ngx_queue_t. The links of an element that is in
// no queue are nil; a head must be initialised.
type Queue struct {
	prev, next *Queue
}

// Init makes h an empty queue. Mirrors ngx_queue_init.
//
//nginx:src/core/ngx_queue.h ngx_queue_init
func (h *Queue) Init() {
	h.prev = h // 25
	h.next = h // 26
}

// Empty reports whether h has no elements. Mirrors ngx_queue_empty.
//
//nginx:src/core/ngx_queue.h ngx_queue_empty
func (h *Queue) Empty() bool { return h == h.prev } // 30

// InsertHead puts x first in h, or right after the element h. Mirrors
// ngx_queue_insert_head, which is also ngx_queue_insert_after.
//
//nginx:src/core/ngx_queue.h ngx_queue_insert_head
func (h *Queue) InsertHead(x *Queue) {
	x.next = h.next // 34
	x.next.prev = x // 35
	x.prev = h      // 36
	h.next = x      // 37
}

// InsertTail puts x last in h. Mirrors ngx_queue_insert_tail.
//
//nginx:src/core/ngx_queue.h ngx_queue_insert_tail
func (h *Queue) InsertTail(x *Queue) {
	x.prev = h.prev // 44
	x.prev.next = x // 45
	x.next = h      // 46
	h.prev = x      // 47
}

// Head returns the first element, or the sentinel of an empty queue. Mirrors
// ngx_queue_head.
//
//nginx:src/core/ngx_queue.h ngx_queue_head
func (h *Queue) Head() *Queue { return h.next } // 51

// Last returns the last element, or the sentinel of an empty queue. Mirrors
// ngx_queue_last.
//
//nginx:src/core/ngx_queue.h ngx_queue_last
func (h *Queue) Last() *Queue { return h.prev } // 55

// Sentinel returns what a walk from Head by Next, or from Last by Prev, ends
// at. Mirrors ngx_queue_sentinel.
//
//nginx:src/core/ngx_queue.h ngx_queue_sentinel
func (h *Queue) Sentinel() *Queue { return h } // 59

// Next returns the element after q. Mirrors ngx_queue_next.
//
//nginx:src/core/ngx_queue.h ngx_queue_next
func (q *Queue) Next() *Queue { return q.next } // 63

// Prev returns the element before q. Mirrors ngx_queue_prev.
//
//nginx:src/core/ngx_queue.h ngx_queue_prev
func (q *Queue) Prev() *Queue { return q.prev } // 67

// Remove takes x out of the queue it is in. It clears the links as nginx's
// debug build does: removing x again panics here, where the mistake is, and
// does not corrupt a neighbour. Mirrors ngx_queue_remove.
//
//nginx:src/core/ngx_queue.h ngx_queue_remove
func (x *Queue) Remove() {
	x.next.prev = x.prev // 73
	x.prev.next = x.next // 74
	x.prev = nil         // 75
	x.next = nil         // 76
}

// Split moves q and all that follow it from h to n, which need not be
// initialised. Mirrors ngx_queue_split.
//
//nginx:src/core/ngx_queue.h ngx_queue_split
func (h *Queue) Split(q, n *Queue) {
	n.prev = h.prev // 88
	n.prev.next = n // 89
	n.next = q      // 90
	h.prev = q.prev // 91
	h.prev.next = h // 92
	q.prev = n      // 93
}

// Add moves the elements of n, which must have some, to the end of h. n is
// left stale and must be initialised before it is used again. Mirrors
// ngx_queue_add.
//
//nginx:src/core/ngx_queue.h ngx_queue_add
func (h *Queue) Add(n *Queue) {
	h.prev.next = n.next // 97
	n.next.prev = h.prev // 98
	h.prev = n.prev      // 99
	h.prev.next = h      // 100
}

// Data returns the structure whose Queue field is q; offset is that field's
// unsafe.Offsetof. q must be such a field, never a head on its own. Mirrors
// ngx_queue_data.
//
//nginx:src/core/ngx_queue.h ngx_queue_data
func Data[T any](q *Queue, offset uintptr) *T {
	return (*T)(unsafe.Add(unsafe.Pointer(q), -int(offset))) // 104
}
