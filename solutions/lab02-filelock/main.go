// The solution of lab 02: a file lock as the mutex.
package main

import "herd/tools/lab/lab02"

// functions are the solution.
var functions = lab02.Functions{
	Open:        Open,
	Trylock:     Trylock,
	Lock:        Lock,
	Unlock:      Unlock,
	ForceUnlock: ForceUnlock,
	NewGuard:    NewGuard,
}

func main() { lab02.Experiments("solutions/lab02-filelock", functions).Main() }
