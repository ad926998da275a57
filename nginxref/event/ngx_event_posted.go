package event

import (
	"unsafe"

	"herd/nginxref/core"
	"herd/nginxref/queue"
)

// eventOfQueue returns the event that q is the link of.
func eventOfQueue(q *queue.Queue) *Event {
	return queue.Data[Event](q, unsafe.Offsetof(Event{}.queue))
}

// PostEvent queues ev to be handled later in this turn, unless it is queued
// already. Mirrors ngx_post_event.
func PostEvent(ev *Event, q *queue.Queue) {
	if !ev.Posted {
		ev.Posted = true
		q.InsertTail(&ev.queue)

		ev.Log.Debug(core.LogDebugCore, 0, "post event %p", unsafe.Pointer(ev))

	} else {
		ev.Log.Debug(core.LogDebugCore, 0, "update posted event %p", unsafe.Pointer(ev))
	}
}

// DeletePostedEvent takes ev off the queue it is in. Mirrors
// ngx_delete_posted_event.
func DeletePostedEvent(ev *Event) {
	ev.Posted = false
	ev.queue.Remove()

	ev.Log.Debug(core.LogDebugCore, 0, "delete posted event %p", unsafe.Pointer(ev))
}

// ProcessPosted handles the events of a queue in the order they came, those
// that are posted meanwhile included. Mirrors ngx_event_process_posted.
func (cycle *Cycle) ProcessPosted(posted *queue.Queue) {
	for !posted.Empty() {

		q := posted.Head()
		ev := eventOfQueue(q)

		cycle.Log.Debug(core.LogDebugEvent, 0, "posted event %p", unsafe.Pointer(ev))

		DeletePostedEvent(ev)

		ev.Handler(ev)
	}
}

// MovePostedNext makes the events that were put off to the next turn this
// turn's. It runs before the wait, so that the kernel is asked for news
// between two runs of such an event. Mirrors ngx_event_move_posted_next.
func (cycle *Cycle) MovePostedNext() {
	next := &cycle.PostedNextEvents

	for q := next.Head(); q != next.Sentinel(); q = q.Next() {
		ev := eventOfQueue(q)

		cycle.Log.Debug(core.LogDebugEvent, 0, "posted next event %p", unsafe.Pointer(ev))

		ev.Ready = true
		ev.Available = -1
	}

	cycle.PostedEvents.Add(next)
	next.Init()
}
