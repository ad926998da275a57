package main

import "herd/tools/lab/lab09"

// Reap takes every child that has ended.
func Reap(m *lab09.Master) {
	for {
		pid, code, ok := m.Host.Wait()
		if !ok || pid == 0 {
			return
		}
		for i := range m.Slots {
			if s := &m.Slots[i]; s.Pid == pid {
				s.Exited = true
				s.Code = code
				s.Respawn = s.Respawn && code != lab09.FatalCode
			}
		}
		m.Mutex.ForceUnlock(pid)
	}
}

// Respawn fills or frees the slots of those that have ended.
func Respawn(m *lab09.Master) (live int) {
	for i := range m.Slots {
		s := &m.Slots[i]
		if s.Pid == 0 {
			continue
		}
		if s.Exited && (m.Stopping || !s.Respawn) {
			*s = lab09.Slot{}
			continue
		}
		if s.Exited {
			s.Pid = m.Host.Spawn(i)
			s.Exited = false
		}
		live++
	}
	return live
}

// Terminate repeats the signal on the alarm only: the children that leave wake
// the master too, and must not bring SIGKILL closer for the others.
func Terminate(m *lab09.Master, alarm bool) {
	switch {
	case m.Delay == 0:
		m.Delay = lab09.FirstDelay
	case alarm:
		m.Delay *= 2
	default:
		return
	}
	m.Host.Alarm(m.Delay)
	for _, s := range m.Slots {
		if s.Pid == 0 || s.Exited {
			continue
		}
		if m.Delay > lab09.LastDelay {
			m.Host.Kill(s.Pid)
		} else {
			m.Host.Terminate(s.Pid)
		}
	}
}
