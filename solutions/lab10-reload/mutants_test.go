package main

import (
	"testing"

	"herd/tools/lab"
	"herd/tools/lab/lab10"
)

// wrong returns the lab with a change to the solution.
func wrong(change func(f *lab10.Functions)) *lab.Lab {
	f := functions
	change(&f)
	return lab10.Lab(f)
}

func TestMutants(t *testing.T) {
	lab.TestMutants(t, []lab.Mutant{
		{
			Name:     "the old workers leave first",
			KilledBy: "A/new-before-old",
			Lab: wrong(func(f *lab10.Functions) {
				f.Reload = func(m *lab10.Master) {
					if m.NewBinary == 0 && m.Host.Configure() {
						quit(m, m.Workers)
						m.Workers = spawn(m)
						m.Host.Sleep(lab10.AllowToStart)
					}
				}
			}),
		},
		{
			Name:     "the new workers are told to leave too",
			KilledBy: "A/new-before-old",
			Lab: wrong(func(f *lab10.Functions) {
				f.Reload = func(m *lab10.Master) {
					if !m.Host.Configure() {
						return
					}
					old := m.Workers
					m.Workers = spawn(m)
					m.Host.Sleep(lab10.AllowToStart)
					quit(m, append(old, m.Workers...))
				}
			}),
		},
		{
			Name:     "a bad configuration is not noticed",
			KilledBy: "A/a-bad-configuration-changes-nothing",
			Lab: wrong(func(f *lab10.Functions) {
				f.Reload = func(m *lab10.Master) {
					m.Host.Configure()
					old := m.Workers
					m.Workers = spawn(m)
					m.Host.Sleep(lab10.AllowToStart)
					quit(m, old)
				}
			}),
		},
		{
			Name:     "HUP reads the configuration in the middle of an upgrade",
			KilledBy: "A/hup-after-winch-brings-the-workers-back",
			Lab: wrong(func(f *lab10.Functions) {
				f.Reload = func(m *lab10.Master) {
					new := m.NewBinary
					m.NewBinary = 0
					Reload(m)
					m.NewBinary = new
				}
			}),
		},
		{
			Name:     "the new binary starts before the pid file is renamed",
			KilledBy: "A/the-pid-files-are-right",
			Lab: wrong(func(f *lab10.Functions) {
				f.ChangeBinary = func(m *lab10.Master) bool {
					if m.NewBinary != 0 || m.Host.ParentIsMaster() {
						return false
					}
					m.NewBinary = m.Host.Exec()
					m.Host.Rename(lab10.Pidfile, lab10.Oldbin)
					return true
				}
			}),
		},
		{
			Name:     "a second USR2 starts a third master",
			KilledBy: "A/never-three-masters",
			Lab: wrong(func(f *lab10.Functions) {
				f.ChangeBinary = func(m *lab10.Master) bool {
					m.Host.Rename(lab10.Pidfile, lab10.Oldbin)
					m.NewBinary = m.Host.Exec()
					return m.NewBinary != 0
				}
			}),
		},
		{
			Name:     "the old master stays without workers",
			KilledBy: "A/the-old-one-returns-by-itself",
			Lab: wrong(func(f *lab10.Functions) {
				f.NewBinaryEnded = func(m *lab10.Master) {
					m.Noaccepting = false
					NewBinaryEnded(m)
				}
			}),
		},
		{
			Name:     "100 ms, however long it takes",
			KilledBy: "B/nobody-leaves-before-somebody-is-ready",
			Lab: wrong(func(f *lab10.Functions) {
				f.ReloadWhenReady = func(m *lab10.Master) bool {
					Reload(m)
					return true
				}
			}),
		},
		{
			Name:     "one that is ready is enough",
			KilledBy: "B/failed-workers-keep-the-old-ones",
			Lab: wrong(func(f *lab10.Functions) {
				f.ReloadWhenReady = func(m *lab10.Master) bool {
					if !m.Host.Configure() {
						return false
					}
					fresh := spawn(m)
					for {
						for _, pid := range fresh {
							if ready, _ := m.Host.Ready(pid); ready {
								quit(m, m.Workers)
								m.Workers = fresh
								return true
							}
						}
						m.Host.Sleep(lookAgain)
					}
				}
			}),
		},
	})
}
