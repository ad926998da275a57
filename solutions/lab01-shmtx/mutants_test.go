package main

import (
	"testing"

	"herd/nginxref/shmtx"
	"herd/nginxref/sys"
	"herd/tools/lab"
	"herd/tools/lab/lab01"
)

// wrong returns the lab with a change to the solution.
func wrong(change func(f *lab01.Functions)) *lab.Lab {
	f := functions
	change(&f)
	return lab01.Lab(f)
}

// wakeup posts for one waiter, if there is one, as nginx does.
func wakeup(k sys.Kernel, m *shmtx.Shared) {
	for {
		wait := k.AtomicLoad(&m.Wait)
		if int64(wait) <= 0 {
			return
		}
		if k.AtomicCmpSet(&m.Wait, wait, wait-1) {
			m.Sem.Post(k)
			return
		}
	}
}

// postAlways is ForceUnlock that also posts if the dead did not hold the lock.
func postAlways(k sys.Kernel, m *shmtx.Shared, pid int) bool {
	if ForceUnlock(k, m, pid) {
		return true
	}
	m.Sem.Post(k)
	return false
}

func TestMutants(t *testing.T) {
	lab.TestMutants(t, []lab.Mutant{
		{
			Name:     "Trylock looks, and then writes",
			KilledBy: "A/one-at-a-time",
			Lab: wrong(func(f *lab01.Functions) {
				f.Trylock = func(k sys.Kernel, m *shmtx.Shared) bool {
					if k.AtomicLoad(&m.Lock) != 0 {
						return false
					}
					k.AtomicFetchAdd(&m.Lock, int64(k.Getpid()))
					return true
				}
			}),
		},
		{
			Name:     "the word does not say who holds it",
			KilledBy: "A/trylock-takes-a-free-lock-only",
			Lab: wrong(func(f *lab01.Functions) {
				f.Trylock = func(k sys.Kernel, m *shmtx.Shared) bool { return k.AtomicCmpSet(&m.Lock, 0, 1) }
			}),
		},
		{
			Name:     "Unlock frees the lock of another process",
			KilledBy: "A/only-the-holder-unlocks",
			Lab: wrong(func(f *lab01.Functions) {
				f.Unlock = func(k sys.Kernel, m *shmtx.Shared) {
					k.AtomicCmpSet(&m.Lock, k.AtomicLoad(&m.Lock), 0)
					wakeup(k, m)
				}
			}),
		},
		{
			Name:     "Unlock clears a copy of the word",
			KilledBy: "A/only-the-holder-unlocks",
			Lab: wrong(func(f *lab01.Functions) {
				f.Unlock = func(k sys.Kernel, m *shmtx.Shared) {
					lock := k.AtomicLoad(&m.Lock)
					if lock == uint64(k.Getpid()) {
						lock = 0 // as nginx 0.3.3 cleared its pointer
						wakeup(k, m)
					}
				}
			}),
		},
		{
			Name:     "Lock does not try again before it sleeps",
			KilledBy: "A/nobody-sleeps-for-ever",
			Lab: wrong(func(f *lab01.Functions) {
				f.Lock = func(k sys.Kernel, m *shmtx.Shared) {
					for !Trylock(k, m) {
						k.AtomicFetchAdd(&m.Wait, 1)
						for m.Sem.Wait(k) != 0 {
						}
					}
				}
			}),
		},
		{
			Name:     "Lock keeps its increment when it gets the lock at once",
			KilledBy: "A/posts-and-waiters-balance",
			Lab: wrong(func(f *lab01.Functions) {
				f.Lock = func(k sys.Kernel, m *shmtx.Shared) { // nginx before 1.7.12
					for !Trylock(k, m) {
						k.AtomicFetchAdd(&m.Wait, 1)
						if Trylock(k, m) {
							return
						}
						for m.Sem.Wait(k) != 0 {
						}
					}
				}
			}),
		},
		{
			Name:     "a post is taken for the lock",
			KilledBy: "A/one-at-a-time",
			Lab: wrong(func(f *lab01.Functions) {
				f.Lock = func(k sys.Kernel, m *shmtx.Shared) {
					if Trylock(k, m) {
						return
					}
					k.AtomicFetchAdd(&m.Wait, 1)
					if Trylock(k, m) {
						k.AtomicFetchAdd(&m.Wait, -1)
						return
					}
					for m.Sem.Wait(k) != 0 {
					}
				}
			}),
		},
		{
			Name:     "a signal lets a waiter in",
			KilledBy: "A/a-waiter-sleeps",
			Lab: wrong(func(f *lab01.Functions) {
				f.Lock = func(k sys.Kernel, m *shmtx.Shared) {
					for !Trylock(k, m) {
						k.AtomicFetchAdd(&m.Wait, 1)
						if Trylock(k, m) {
							k.AtomicFetchAdd(&m.Wait, -1)
							return
						}
						if m.Sem.Wait(k) != 0 {
							return
						}
					}
				}
			}),
		},
		{
			Name:     "Lock never sleeps",
			KilledBy: "A/a-waiter-sleeps",
			Lab: wrong(func(f *lab01.Functions) {
				f.Lock = func(k sys.Kernel, m *shmtx.Shared) {
					for !Trylock(k, m) {
						k.SchedYield()
					}
				}
			}),
		},
		{
			Name:     "Unlock posts for a waiter without taking it off Wait",
			KilledBy: "A/posts-and-waiters-balance",
			Lab: wrong(func(f *lab01.Functions) {
				f.Unlock = func(k sys.Kernel, m *shmtx.Shared) {
					if k.AtomicCmpSet(&m.Lock, uint64(k.Getpid()), 0) && int64(k.AtomicLoad(&m.Wait)) > 0 {
						m.Sem.Post(k)
					}
				}
			}),
		},
		{
			Name:     "ForceUnlock wakes nobody",
			KilledBy: "A/a-dead-holder-is-survived",
			Lab: wrong(func(f *lab01.Functions) {
				f.ForceUnlock = func(k sys.Kernel, m *shmtx.Shared, pid int) bool {
					return k.AtomicCmpSet(&m.Lock, uint64(pid), 0)
				}
			}),
		},
		{
			Name:     "ForceUnlock frees the lock of the living",
			KilledBy: "A/a-dead-holder-is-survived",
			Lab: wrong(func(f *lab01.Functions) {
				f.ForceUnlock = func(k sys.Kernel, m *shmtx.Shared, pid int) bool {
					return ForceUnlock(k, m, int(k.AtomicLoad(&m.Lock)))
				}
			}),
		},
		{
			Name:     "no forced unlock",
			KilledBy: "A/a-dead-holder-is-survived",
			Lab: wrong(func(f *lab01.Functions) {
				f.ForceUnlock = func(sys.Kernel, *shmtx.Shared, int) bool { return false }
			}),
		},
		{
			Name:     "nginx's mutex, and its sleepers",
			KilledBy: "B/the-woken-may-die",
			Lab: wrong(func(f *lab01.Functions) {
				f.SturdyLock, f.SturdyUnlock, f.Bury = Lock, Unlock, ForceUnlock
			}),
		},
		{
			Name:     "Bury helps only while the lock is free",
			KilledBy: "B/any-death-is-survived",
			Lab: wrong(func(f *lab01.Functions) {
				f.SturdyLock, f.SturdyUnlock = Lock, Unlock
				f.Bury = func(k sys.Kernel, m *shmtx.Shared, pid int) bool {
					held := ForceUnlock(k, m, pid)
					if !held && k.AtomicLoad(&m.Lock) == 0 {
						wakeup(k, m)
					}
					return held
				}
			}),
		},
		{
			Name:     "a post for each death",
			KilledBy: "B/deaths-leave-no-debt",
			Lab: wrong(func(f *lab01.Functions) {
				f.SturdyLock, f.SturdyUnlock, f.Bury = Lock, Unlock, postAlways
			}),
		},
		{
			Name:     "the occasion is read after the last try",
			KilledBy: "B/any-death-is-survived",
			Lab: wrong(func(f *lab01.Functions) {
				f.SturdyLock = func(k sys.Kernel, m *shmtx.Shared) {
					for !Trylock(k, m) {
						k.AtomicFetchAdd(&m.Wait, 1)
						locked := Trylock(k, m)
						if !locked {
							k.FutexWait(&m.Sem.Value, k.FutexLoad(&m.Sem.Value))
						}
						k.AtomicFetchAdd(&m.Wait, -1)
						if locked {
							return
						}
					}
				}
			}),
		},
		{
			Name:     "Bury lets a holder's lock alone",
			KilledBy: "B/any-death-is-survived",
			Lab: wrong(func(f *lab01.Functions) {
				f.Bury = func(k sys.Kernel, m *shmtx.Shared, pid int) bool {
					wakeOne(k, m)
					return false
				}
			}),
		},
	})
}
