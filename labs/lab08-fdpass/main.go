// Lab 08: passing descriptors. Start with README.md.
package main

import "herd/tools/lab/lab08"

// functions are what you wrote.
var functions = lab08.Functions{
	Dispatch: Dispatch,
	Receive:  Receive,
	Least:    Least,
	Restart:  Restart,
}

func main() { lab08.Experiments("labs/lab08-fdpass", functions).Main() }
