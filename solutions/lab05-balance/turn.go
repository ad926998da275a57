package main

import "herd/nginxref/event"

// Turn is the reference's.
var Turn = (*event.Cycle).ProcessEventsAndTimers
