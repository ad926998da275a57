// Lab 01: a mutex in shared memory. Start with README.md.
package main

import "herd/tools/lab/lab01"

// functions are what you wrote.
var functions = lab01.Functions{
	Trylock:      Trylock,
	Lock:         Lock,
	Unlock:       Unlock,
	ForceUnlock:  ForceUnlock,
	SturdyLock:   SturdyLock,
	SturdyUnlock: SturdyUnlock,
	Bury:         Bury,
}

func main() { lab01.Experiments("labs/lab01-shmtx", functions).Main() }
