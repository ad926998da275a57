// Lab 06: exclusive wakeups. Start with README.md.
package main

import "herd/tools/lab/lab06"

// functions are what you wrote.
var functions = lab06.Functions{
	AddExclusive:        AddExclusive,
	MoveToEnd:           MoveToEnd,
	ReorderAcceptEvents: ReorderAcceptEvents,
	Accept:              Accept,
}

func main() { lab06.Experiments("labs/lab06-exclusive", functions).Main() }
