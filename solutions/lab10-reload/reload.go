package main

import "herd/tools/lab/lab10"

// Reload starts the new before the old leave: there is no moment without
// workers, and the listeners are the master's and stay open all the while.
func Reload(m *lab10.Master) {
	if m.NewBinary != 0 {
		m.Workers = spawn(m)
		m.Noaccepting = false
		return
	}
	if !m.Host.Configure() {
		return
	}
	old := m.Workers
	m.Workers = spawn(m)
	m.Host.Sleep(lab10.AllowToStart)
	quit(m, old)
}

// spawn starts as many workers as are configured.
func spawn(m *lab10.Master) (workers []int) {
	for range m.N {
		if pid := m.Host.Spawn(); pid != 0 {
			workers = append(workers, pid)
		}
	}
	return workers
}

func quit(m *lab10.Master, workers []int) {
	for _, pid := range workers {
		m.Host.Quit(pid)
	}
}
