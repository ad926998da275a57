package main

import (
	"herd/tools/lab"
	"herd/tools/lab/lab09"
)

// Reap is called when SIGCHLD has come. Pending signals of a kind are one: there
// may be many dead children, or none. For each that m.Host.Wait gives: note
// Exited and Code in its slot (a child may be unknown to all slots); if its code
// is lab09.FatalCode, it is not to be started again (Respawn = false); and
// force the accept mutex out of its hands: m.Mutex.ForceUnlock(pid).
func Reap(m *lab09.Master) {
	lab.TODO("Reap")
}

// Respawn starts each worker that has Exited again, in its slot: the same slot
// number to m.Host.Spawn, the new process id in Pid, Exited false. A slot that
// is not to be filled again (Respawn is false, or m.Stopping) becomes free:
// the zero Slot. It returns how many workers live.
func Respawn(m *lab09.Master) (live int) {
	lab.TODO("Respawn")
	return 0
}

// Terminate is called when the master has been told to stop, and then each time
// it wakes; alarm says that its timer has gone off. The first call sets
// m.Delay to lab09.FirstDelay; each alarm doubles it, and nothing else does.
// On the first call and on each alarm: set the timer (m.Host.Alarm) and send
// every worker that lives SIGTERM, or SIGKILL once m.Delay is more than
// lab09.LastDelay. On any other call: nothing.
func Terminate(m *lab09.Master, alarm bool) {
	lab.TODO("Terminate")
}
