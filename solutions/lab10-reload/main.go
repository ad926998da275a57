// The solution of lab 10: reload and upgrade.
package main

import "herd/tools/lab/lab10"

// functions are the solution.
var functions = lab10.Functions{
	Reload:          Reload,
	ChangeBinary:    ChangeBinary,
	Winch:           Winch,
	NewBinaryEnded:  NewBinaryEnded,
	ReloadWhenReady: ReloadWhenReady,
}

func main() { lab10.Experiments("solutions/lab10-reload", functions).Main() }
