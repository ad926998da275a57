// Lab 05: balance. Start with README.md.
package main

import "herd/tools/lab/lab05"

// functions are what you wrote.
var functions = lab05.Functions{
	Disabled: Disabled,
	Turn:     Turn,
	RoomTurn: RoomTurn,
}

func main() { lab05.Experiments("labs/lab05-balance", functions).Main() }
