// The solution of lab 00: the herd.
package main

import "herd/tools/lab/lab00"

// functions are the solution.
var functions = lab00.Functions{
	LevelTriggered: LevelTriggered,
	EdgeTriggered:  EdgeTriggered,
	Blocking:       Blocking,
	Counted:        Counted,
}

func main() { lab00.Experiments("solutions/lab00-herd", functions).Main() }
