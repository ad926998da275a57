// The solution of lab 09: the master.
package main

import "herd/tools/lab/lab09"

// functions are the solution.
var functions = lab09.Functions{
	Reap:         Reap,
	Respawn:      Respawn,
	Terminate:    Terminate,
	LeaseTrylock: LeaseTrylock,
	LeaseUnlock:  LeaseUnlock,
}

func main() { lab09.Experiments("solutions/lab09-master", functions).Main() }
