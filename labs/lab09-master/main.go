// Lab 09: the master. Start with README.md.
package main

import "herd/tools/lab/lab09"

// functions are what you wrote.
var functions = lab09.Functions{
	Reap:         Reap,
	Respawn:      Respawn,
	Terminate:    Terminate,
	LeaseTrylock: LeaseTrylock,
	LeaseUnlock:  LeaseUnlock,
}

func main() { lab09.Experiments("labs/lab09-master", functions).Main() }
