package main

import (
	"herd/nginxref/sys"
	"herd/tools/lab"
)

// LevelTriggered is the life of a worker, and does not return. It watches
// listener for input with an epoll set of its own. Then, again and again, it
// waits for an event without a time limit, accepts one connection and hands it
// to serve, which answers and closes it.
func LevelTriggered(k sys.Kernel, listener int, serve func(conn int)) {
	lab.TODO("LevelTriggered")
}

// EdgeTriggered is the same, but registered edge-triggered: an event is
// reported once, whatever the worker makes of it. So it accepts, after each
// wait, until accept says EAGAIN: the queue is empty. Another error says
// nothing of the queue.
func EdgeTriggered(k sys.Kernel, listener int, serve func(conn int)) {
	lab.TODO("EdgeTriggered")
}

// Blocking is the life of a worker without epoll. Its listener is a blocking
// one: Accept4 sleeps until there is a connection.
func Blocking(k sys.Kernel, listener int, serve func(conn int)) {
	lab.TODO("Blocking")
}
