package main

import (
	"herd/tools/lab"
	"herd/tools/lab/lab10"
)

// ChangeBinary is USR2. It is refused (false) while a new binary runs, and in
// the new binary while its parent lives. Otherwise it renames lab10.Pidfile to
// lab10.Oldbin, starts the program anew (m.Host.Exec) and keeps its process id in
// m.NewBinary; if it could not be started, the name is given back.
func ChangeBinary(m *lab10.Master) bool {
	lab.TODO("ChangeBinary")
	return false
}

// Winch is WINCH: tell all workers to leave and stay without (m.Noaccepting).
func Winch(m *lab10.Master) {
	lab.TODO("Winch")
}

// NewBinaryEnded is called when the process m.NewBinary has ended: the pid
// file gets its name back, and if the workers were sent away they are started
// again.
func NewBinaryEnded(m *lab10.Master) {
	lab.TODO("NewBinaryEnded")
}
