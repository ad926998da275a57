// Lab 02: a file lock as the mutex. Start with README.md.
package main

import "herd/tools/lab/lab02"

// functions are what you wrote.
var functions = lab02.Functions{
	Open:        Open,
	Trylock:     Trylock,
	Lock:        Lock,
	Unlock:      Unlock,
	ForceUnlock: ForceUnlock,
	NewGuard:    NewGuard,
}

func main() { lab02.Experiments("labs/lab02-filelock", functions).Main() }
