package main

import "herd/tools/lab"

// Disabled is called after each accept with the size of the worker's table of
// connections (worker_connections) and how many of them are free: before the
// new connection takes one. What it returns becomes cycle.AcceptDisabled.
func Disabled(connections, free int) int {
	lab.TODO("Disabled")
	return 0
}
