package main

import (
	"testing"

	"herd/nginxref/sys"
	"herd/tools/lab"
	"herd/tools/lab/lab09"
)

// wrong returns the lab with a change to the solution.
func wrong(change func(f *lab09.Functions)) *lab.Lab {
	f := functions
	change(&f)
	return lab09.Lab(f)
}

// reapOne waits for one child, and does with it what forced says.
func reapOne(m *lab09.Master, force bool) bool {
	pid, code, ok := m.Host.Wait()
	if !ok || pid == 0 {
		return false
	}
	for i := range m.Slots {
		if s := &m.Slots[i]; s.Pid == pid {
			s.Exited, s.Code = true, code
			s.Respawn = s.Respawn && code != lab09.FatalCode
		}
	}
	if force {
		m.Mutex.ForceUnlock(pid)
	}
	return true
}

func TestMutants(t *testing.T) {
	lab.TestMutants(t, []lab.Mutant{
		{
			Name:     "one child a SIGCHLD",
			KilledBy: "A/one-signal-many-deaths",
			Lab:      wrong(func(f *lab09.Functions) { f.Reap = func(m *lab09.Master) { reapOne(m, true) } }),
		},
		{
			Name:     "a child that no slot knows ends the loop",
			KilledBy: "A/no-child-is-no-error",
			Lab: wrong(func(f *lab09.Functions) {
				f.Reap = func(m *lab09.Master) {
					for {
						exited := 0
						for _, s := range m.Slots {
							if s.Exited {
								exited++
							}
						}
						if !reapOne(m, true) {
							return
						}
						for _, s := range m.Slots {
							if s.Exited {
								exited--
							}
						}
						if exited == 0 {
							return
						}
					}
				}
			}),
		},
		{
			Name:     "no force-unlock",
			KilledBy: "A/the-dead-holder-loses-the-lock",
			Lab: wrong(func(f *lab09.Functions) {
				f.Reap = func(m *lab09.Master) {
					for reapOne(m, false) {
					}
				}
			}),
		},
		{
			Name:     "the lock is cleared whoever died",
			KilledBy: "A/the-dead-holder-loses-the-lock",
			Lab: wrong(func(f *lab09.Functions) {
				f.Reap = func(m *lab09.Master) {
					for reapOne(m, true) {
						for _, s := range m.Slots {
							m.Mutex.ForceUnlock(s.Pid)
						}
					}
				}
			}),
		},
		{
			Name:     "a fatal exit is repeated",
			KilledBy: "A/fatal-is-not-repeated",
			Lab: wrong(func(f *lab09.Functions) {
				f.Reap = func(m *lab09.Master) {
					Reap(m)
					for i := range m.Slots {
						m.Slots[i].Respawn = true
					}
				}
			}),
		},
		{
			Name:     "workers are started while the master stops",
			KilledBy: "A/nobody-is-replaced-while-stopping",
			Lab: wrong(func(f *lab09.Functions) {
				f.Respawn = func(m *lab09.Master) int {
					stopping := m.Stopping
					m.Stopping = false
					defer func() { m.Stopping = stopping }()
					return Respawn(m)
				}
			}),
		},
		{
			Name:     "the dead one stays in its slot and is replaced again",
			KilledBy: "A/each-is-replaced-in-its-slot",
			Lab: wrong(func(f *lab09.Functions) {
				f.Respawn = func(m *lab09.Master) (live int) {
					for i := range m.Slots {
						if m.Slots[i].Exited {
							m.Slots[i].Pid = m.Host.Spawn(i)
						}
						live++
					}
					return live
				}
			}),
		},
		{
			Name:     "any signal doubles the delay, as in nginx before 2009",
			KilledBy: "A/only-the-alarm-doubles",
			Lab: wrong(func(f *lab09.Functions) {
				f.Terminate = func(m *lab09.Master, alarm bool) { Terminate(m, true) }
			}),
		},
		{
			Name:     "the lease's owner is not checked on unlock",
			KilledBy: "B/a-late-unlock-harms-nobody",
			Lab: wrong(func(f *lab09.Functions) {
				f.LeaseUnlock = func(kernel sys.Kernel, lease *lab09.Lease) {
					kernel.AtomicCmpSet(&lease.Word, kernel.AtomicLoad(&lease.Word), 0)
				}
			}),
		},
		{
			Name:     "the lease never ends",
			KilledBy: "B/a-stopped-holder-does-not-freeze",
			Lab: wrong(func(f *lab09.Functions) {
				f.LeaseTrylock = func(kernel sys.Kernel, lease *lab09.Lease, msec uint64) bool {
					word := kernel.AtomicLoad(&lease.Word)
					if holder, _ := unpack(word); word != 0 && holder != kernel.Getpid() {
						return false
					}
					return LeaseTrylock(kernel, lease, msec)
				}
			}),
		},
		{
			Name:     "the word is stored, not compared and set",
			KilledBy: "B/a-lease-excludes",
			Lab: wrong(func(f *lab09.Functions) {
				f.LeaseTrylock = func(kernel sys.Kernel, lease *lab09.Lease, msec uint64) bool {
					now := kernel.MonotonicNsec() / 1e6
					holder, end := unpack(kernel.AtomicLoad(&lease.Word))
					if holder != 0 && holder != kernel.Getpid() && now < end {
						return false
					}
					lease.Word.Store(pack(kernel.Getpid(), now+msec))
					return true
				}
			}),
		},
		{
			Name:     "the master is woken by anything and signals again",
			KilledBy: "A/only-the-alarm-doubles",
			Lab: wrong(func(f *lab09.Functions) {
				f.Terminate = func(m *lab09.Master, alarm bool) {
					if m.Delay > 0 && !alarm {
						m.Delay /= 2
						Terminate(m, true)
						return
					}
					Terminate(m, alarm)
				}
			}),
		},
		{
			Name:     "only the end of the children ends the loop",
			KilledBy: "A/no-child-is-no-error",
			Lab: wrong(func(f *lab09.Functions) {
				f.Reap = func(m *lab09.Master) {
					for {
						if _, _, ok := m.Host.Wait(); !ok {
							return
						}
					}
				}
			}),
		},
		{
			Name:     "the word is judged, and then written without looking",
			KilledBy: "B/a-lease-excludes",
			Lab: wrong(func(f *lab09.Functions) {
				f.LeaseTrylock = func(kernel sys.Kernel, lease *lab09.Lease, msec uint64) bool {
					now := kernel.MonotonicNsec() / 1e6
					holder, end := unpack(kernel.AtomicLoad(&lease.Word))
					if holder != 0 && holder != kernel.Getpid() && now < end {
						return false
					}
					old := kernel.AtomicLoad(&lease.Word)
					kernel.AtomicCmpSet(&lease.Word, old, pack(kernel.Getpid(), now+msec))
					return true
				}
			}),
		},
	})
}
