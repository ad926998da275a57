// Lab 07: reuseport. Start with README.md.
package main

import "herd/tools/lab/lab07"

// functions are what you wrote.
var functions = lab07.Functions{
	CloneListening: CloneListening,
	InitListening:  InitListening,
	Leave:          Leave,
	Adopt:          Adopt,
}

func main() { lab07.Experiments("labs/lab07-reuseport", functions).Main() }
