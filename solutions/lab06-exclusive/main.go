// The solution of lab 06: exclusive wakeups.
package main

import "herd/tools/lab/lab06"

// functions are the solution.
var functions = lab06.Functions{
	AddExclusive:        AddExclusive,
	MoveToEnd:           MoveToEnd,
	ReorderAcceptEvents: ReorderAcceptEvents,
	Accept:              Accept,
}

func main() { lab06.Experiments("solutions/lab06-exclusive", functions).Main() }
