// The solution of lab 01: a mutex in shared memory.
package main

import "herd/tools/lab/lab01"

// functions are the solution.
var functions = lab01.Functions{
	Trylock:      Trylock,
	Lock:         Lock,
	Unlock:       Unlock,
	ForceUnlock:  ForceUnlock,
	SturdyLock:   SturdyLock,
	SturdyUnlock: SturdyUnlock,
	Bury:         Bury,
}

func main() { lab01.Experiments("solutions/lab01-shmtx", functions).Main() }
