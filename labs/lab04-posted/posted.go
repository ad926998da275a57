package main

import (
	"herd/nginxref/event"
	"herd/nginxref/queue"
	"herd/tools/lab"
)

// PostEvent puts ev at the end of q and sets ev.Posted, unless it is set
// already. ev.Link() is ev's place in a queue.
func PostEvent(ev *event.Event, q *queue.Queue) {
	lab.TODO("PostEvent")
}

// ProcessPosted handles the events of a queue in the order they came, until
// the queue is empty: takes one off with event.DeletePostedEvent, and then
// calls ev.Handler(ev). event.EventOfQueue undoes ev.Link().
func ProcessPosted(cycle *event.Cycle, posted *queue.Queue) {
	lab.TODO("ProcessPosted")
}

// MovePostedNext moves the events of cycle.PostedNextEvents, which has some, to
// the end of cycle.PostedEvents. Each is made Ready, with Available -1: how
// much there is to read is not known.
func MovePostedNext(cycle *event.Cycle) {
	lab.TODO("MovePostedNext")
}
