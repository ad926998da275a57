package main

import "herd/tools/lab/lab10"

// lookAgain is how often the new workers are asked, in milliseconds.
const lookAgain = 5

// ReloadWhenReady waits for a fact where nginx waits for a time.
func ReloadWhenReady(m *lab10.Master) bool {
	if !m.Host.Configure() {
		return false
	}
	fresh := spawn(m)
	for {
		switch ready, ended := look(m, fresh); {
		case ended || len(fresh) < m.N:
			quit(m, fresh)
			return false
		case ready:
			quit(m, m.Workers)
			m.Workers = fresh
			return true
		}
		m.Host.Sleep(lookAgain)
	}
}

// look reports whether all workers are ready, and whether one has ended.
func look(m *lab10.Master, workers []int) (allReady, anyEnded bool) {
	allReady = true
	for _, pid := range workers {
		ready, ended := m.Host.Ready(pid)
		allReady = allReady && ready
		anyEnded = anyEnded || ended
	}
	return allReady, anyEnded
}
