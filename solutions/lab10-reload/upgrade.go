package main

import "herd/tools/lab/lab10"

// ChangeBinary frees the pid file's name before the new program needs it.
func ChangeBinary(m *lab10.Master) bool {
	if m.NewBinary != 0 || m.Host.ParentIsMaster() {
		return false
	}
	m.Host.Rename(lab10.Pidfile, lab10.Oldbin)
	m.NewBinary = m.Host.Exec()
	if m.NewBinary == 0 {
		m.Host.Rename(lab10.Oldbin, lab10.Pidfile)
	}
	return true
}

// Winch leaves the master, and with it the listeners: what the new binary does
// not take stays queued.
func Winch(m *lab10.Master) {
	quit(m, m.Workers)
	m.Workers = nil
	m.Noaccepting = true
}

// NewBinaryEnded takes the old master back to where it was.
func NewBinaryEnded(m *lab10.Master) {
	m.Host.Rename(lab10.Oldbin, lab10.Pidfile)
	m.NewBinary = 0
	if m.Noaccepting {
		m.Noaccepting = false
		m.Workers = spawn(m)
	}
}
