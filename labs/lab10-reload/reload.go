package main

import (
	"herd/tools/lab"
	"herd/tools/lab/lab10"
)

// Reload is HUP. While a new binary runs (m.NewBinary), it only starts m.N
// workers again and clears m.Noaccepting. Otherwise: m.Host.Configure; if that
// is good, start m.N new workers, sleep lab10.AllowToStart, then tell the old
// ones to leave. m.Workers are then the new ones.
func Reload(m *lab10.Master) {
	lab.TODO("Reload")
}
