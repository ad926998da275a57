// Lab 04: posted events. Start with README.md.
package main

import "herd/tools/lab/lab04"

// functions are what you wrote.
var functions = lab04.Functions{
	PostEvent:      PostEvent,
	ProcessPosted:  ProcessPosted,
	MovePostedNext: MovePostedNext,
	Turn:           Turn,
	FairTurn:       FairTurn,
	FairAccept:     FairAccept,
}

func main() { lab04.Experiments("labs/lab04-posted", functions).Main() }
