// The solution of lab 07: reuseport.
package main

import "herd/tools/lab/lab07"

// functions are the solution.
var functions = lab07.Functions{
	CloneListening: CloneListening,
	InitListening:  InitListening,
	Leave:          Leave,
	Adopt:          Adopt,
}

func main() { lab07.Experiments("solutions/lab07-reuseport", functions).Main() }
