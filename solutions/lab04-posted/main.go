// The solution of lab 04: posted events.
package main

import "herd/tools/lab/lab04"

// functions are the solution.
var functions = lab04.Functions{
	PostEvent:      PostEvent,
	ProcessPosted:  ProcessPosted,
	MovePostedNext: MovePostedNext,
	Turn:           Turn,
	FairTurn:       FairTurn,
	FairAccept:     FairAccept,
}

func main() { lab04.Experiments("solutions/lab04-posted", functions).Main() }
