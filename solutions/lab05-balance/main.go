// The solution of lab 05: balance.
package main

import "herd/tools/lab/lab05"

// functions are the solution.
var functions = lab05.Functions{
	Disabled: Disabled,
	Turn:     Turn,
	RoomTurn: RoomTurn,
}

func main() { lab05.Experiments("solutions/lab05-balance", functions).Main() }
