package main

import (
	"herd/tools/lab"
	"herd/tools/lab/lab10"
)

// ReloadWhenReady is part B: HUP without the guess of 100 ms. It tells the old
// workers to leave when m.Host.Ready says so of every new one, and not much
// later: look again every few milliseconds (m.Host.Sleep). If a new worker ends
// before it is ready, the other new ones are told to leave and the old ones
// stay. It reports whether the new workers serve.
func ReloadWhenReady(m *lab10.Master) bool {
	lab.TODO("ReloadWhenReady")
	return false
}
