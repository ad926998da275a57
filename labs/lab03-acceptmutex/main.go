// Lab 03: the accept mutex. Start with README.md.
package main

import "herd/tools/lab/lab03"

// functions are what you wrote.
var functions = lab03.Functions{
	TrylockAcceptMutex:  TrylockAcceptMutex,
	EnableAcceptEvents:  EnableAcceptEvents,
	DisableAcceptEvents: DisableAcceptEvents,
	Turn:                Turn,
}

func main() { lab03.Experiments("labs/lab03-acceptmutex", functions).Main() }
