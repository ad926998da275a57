// Lab 00: the herd. Start with README.md.
package main

import "herd/tools/lab/lab00"

// functions are what you wrote.
var functions = lab00.Functions{
	LevelTriggered: LevelTriggered,
	EdgeTriggered:  EdgeTriggered,
	Blocking:       Blocking,
	Counted:        Counted,
}

func main() { lab00.Experiments("labs/lab00-herd", functions).Main() }
