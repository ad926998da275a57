// The solution of lab 03: the accept mutex.
package main

import "herd/tools/lab/lab03"

// functions are the solution.
var functions = lab03.Functions{
	TrylockAcceptMutex:  TrylockAcceptMutex,
	EnableAcceptEvents:  EnableAcceptEvents,
	DisableAcceptEvents: DisableAcceptEvents,
	Turn:                Turn,
}

func main() { lab03.Experiments("solutions/lab03-acceptmutex", functions).Main() }
