// Lab 10: reload and upgrade. Start with README.md.
package main

import "herd/tools/lab/lab10"

// functions are what you wrote.
var functions = lab10.Functions{
	Reload:          Reload,
	ChangeBinary:    ChangeBinary,
	Winch:           Winch,
	NewBinaryEnded:  NewBinaryEnded,
	ReloadWhenReady: ReloadWhenReady,
}

func main() { lab10.Experiments("labs/lab10-reload", functions).Main() }
