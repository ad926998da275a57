package event

import (
	"unsafe"

	"herd/nginxref/core"
	"herd/nginxref/queue"
)

// Link is ev's place in a posted queue. An event is in one at most, and is
// then Posted.
func (ev *Event) Link() *queue.Queue { return &ev.queue }

// EventOfQueue returns the event that q is the link of.
func EventOfQueue(q *queue.Queue) *Event {
	return queue.Data[Event](q, unsafe.Offsetof(Event{}.queue))
}

// PostEvent queues ev to be handled later in this turn, unless it is queued
// already. Mirrors ngx_post_event.
//
//nginx:src/event/ngx_event_posted.h ngx_post_event
func PostEvent(ev *Event, q *queue.Queue) {
	if !ev.Posted { // 19
		ev.Posted = true        // 20
		q.InsertTail(&ev.queue) // 21

		ev.Log.Debug(core.LogDebugCore, 0, "post event %p", unsafe.Pointer(ev)) // 23

	} else {
		ev.Log.Debug(core.LogDebugCore, 0, "update posted event %p", unsafe.Pointer(ev)) // 26
	}
}

// DeletePostedEvent takes ev off the queue it is in. Mirrors
// ngx_delete_posted_event.
//
//nginx:src/event/ngx_event_posted.h ngx_delete_posted_event
func DeletePostedEvent(ev *Event) {
	ev.Posted = false // 33
	ev.queue.Remove() // 34

	ev.Log.Debug(core.LogDebugCore, 0, "delete posted event %p", unsafe.Pointer(ev)) // 36
}

// ProcessPosted handles the events of a queue in the order they came, those
// that are posted meanwhile included. Mirrors ngx_event_process_posted.
//
//nginx:src/event/ngx_event_posted.c ngx_event_process_posted
func (cycle *Cycle) ProcessPosted(posted *queue.Queue) {
	for !posted.Empty() { // 24

		q := posted.Head()    // 26
		ev := EventOfQueue(q) // 27

		cycle.Log.Debug(core.LogDebugEvent, 0, "posted event %p", unsafe.Pointer(ev)) // 29

		DeletePostedEvent(ev) // 32

		ev.Handler(ev) // 34
	}
}

// MovePostedNext makes the events that were put off to the next turn this
// turn's. It runs before the wait, so that the kernel is asked for news
// between two runs of such an event. Mirrors ngx_event_move_posted_next.
//
//nginx:src/event/ngx_event_posted.c ngx_event_move_posted_next
func (cycle *Cycle) MovePostedNext() {
	next := &cycle.PostedNextEvents // DIVERGES: a shorter name

	for q := next.Head(); q != next.Sentinel(); q = q.Next() { // 45
		ev := EventOfQueue(q) // 49

		cycle.Log.Debug(core.LogDebugEvent, 0, "posted next event %p", unsafe.Pointer(ev)) // 51

		ev.Ready = true   // 54
		ev.Available = -1 // 55
	}

	cycle.PostedEvents.Add(next) // 58
	next.Init()                  // 59
}
