// The solution of lab 08: passing descriptors.
package main

import "herd/tools/lab/lab08"

// functions are the solution.
var functions = lab08.Functions{
	Dispatch: Dispatch,
	Receive:  Receive,
	Least:    Least,
	Restart:  Restart,
}

func main() { lab08.Experiments("solutions/lab08-fdpass", functions).Main() }
