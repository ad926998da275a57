package main

import (
	"syscall"
	"testing"

	"herd/nginxref/sys"
	"herd/tools/lab"
	"herd/tools/lab/lab02"
)

// wrong returns the lab with a change to the solution.
func wrong(change func(f *lab02.Functions)) *lab.Lab {
	f := functions
	change(&f)
	return lab02.Lab(f)
}

// wrongGuard returns the lab with another guard.
func wrongGuard(other func(g *guard) lab02.Guard) *lab.Lab {
	return wrong(func(f *lab02.Functions) {
		f.NewGuard = func(k sys.Kernel, fd int, same func(fd int) bool) lab02.Guard {
			return other(&guard{k: k, fd: fd, same: same})
		}
	})
}

// impatient is a guard whose Lock is nginx's.
type impatient struct{ *guard }

func (g impatient) Lock() {
	g.k.FcntlLock(g.fd, true, true)
	g.held = true
}

// careless closes at once.
type careless struct{ *guard }

func (g careless) Close(fd int) sys.Errno { return g.k.Close(fd) }

// hoarder closes nothing that is put off.
type hoarder struct{ *guard }

func (g hoarder) Unlock() {
	g.k.FcntlLock(g.fd, false, false)
	g.held = false
}

// timid puts everything off while it has the lock.
type timid struct{ *guard }

func (g timid) Close(fd int) sys.Errno {
	if g.held {
		g.putOff = append(g.putOff, fd)
		return 0
	}
	return g.k.Close(fd)
}

// forgetful does not note that it has let go.
type forgetful struct{ *guard }

func (g forgetful) Unlock() {
	g.guard.Unlock()
	g.held = true
}

// presumptuous takes a try for the lock.
type presumptuous struct{ *guard }

func (g presumptuous) Trylock() bool {
	won := g.guard.Trylock()
	g.held = true
	return won
}

func TestMutants(t *testing.T) {
	lab.TestMutants(t, []lab.Mutant{
		{
			Name:     "the lock file keeps its name",
			KilledBy: "A/open-leaves-no-name",
			Lab: wrong(func(f *lab02.Functions) {
				f.Open = func(name string) (int, error) {
					return syscall.Open(name, syscall.O_RDWR|syscall.O_CREAT|syscall.O_CLOEXEC, 0644)
				}
			}),
		},
		{
			Name:     "the descriptor is not close-on-exec",
			KilledBy: "A/open-leaves-no-name",
			Lab: wrong(func(f *lab02.Functions) {
				f.Open = func(name string) (int, error) {
					fd, err := syscall.Open(name, syscall.O_RDWR|syscall.O_CREAT, 0644)
					if err == nil {
						err = syscall.Unlink(name)
					}
					return fd, err
				}
			}),
		},
		{
			Name:     "the lock file is opened for reading",
			KilledBy: "A/open-leaves-no-name",
			Lab: wrong(func(f *lab02.Functions) {
				f.Open = func(name string) (int, error) {
					fd, err := syscall.Open(name, syscall.O_RDONLY|syscall.O_CREAT|syscall.O_CLOEXEC, 0644)
					if err == nil {
						err = syscall.Unlink(name)
					}
					return fd, err
				}
			}),
		},
		{
			Name:     "Trylock waits",
			KilledBy: "A/trylock-does-not-wait",
			Lab: wrong(func(f *lab02.Functions) {
				f.Trylock = func(k sys.Kernel, fd int) bool { return k.FcntlLock(fd, true, true) == 0 }
			}),
		},
		{
			Name:     "Trylock does not look at the error",
			KilledBy: "A/one-at-a-time",
			Lab: wrong(func(f *lab02.Functions) {
				f.Trylock = func(k sys.Kernel, fd int) bool {
					k.FcntlLock(fd, true, false)
					return true
				}
			}),
		},
		{
			Name:     "Lock tries and goes on",
			KilledBy: "A/one-at-a-time",
			Lab: wrong(func(f *lab02.Functions) {
				f.Lock = func(k sys.Kernel, fd int) { k.FcntlLock(fd, true, false) }
			}),
		},
		{
			Name:     "Lock tries again and again, and never sleeps",
			KilledBy: "A/a-waiter-sleeps",
			Lab: wrong(func(f *lab02.Functions) {
				f.Lock = func(k sys.Kernel, fd int) {
					for !Trylock(k, fd) {
						k.SchedYield()
					}
				}
			}),
		},
		{
			Name:     "Unlock closes the file",
			KilledBy: "A/one-at-a-time",
			Lab: wrong(func(f *lab02.Functions) {
				f.Unlock = func(k sys.Kernel, fd int) { k.Close(fd) }
			}),
		},
		{
			Name:     "the lock is remembered, not asked for",
			KilledBy: "A/a-child-does-not-inherit-it",
			Lab: wrong(func(f *lab02.Functions) {
				// What a forked child finds in its memory, with a descriptor
				// for which the parent has the lock.
				holders := map[int]bool{}
				f.Trylock = func(k sys.Kernel, fd int) bool {
					if !holders[fd] {
						holders[fd] = Trylock(k, fd)
					}
					return holders[fd]
				}
			}),
		},
		{
			Name:     "ForceUnlock claims what the kernel did",
			KilledBy: "A/a-dead-holder-holds-nothing",
			Lab: wrong(func(f *lab02.Functions) {
				f.ForceUnlock = func(k sys.Kernel, fd, pid int) bool { return k.FcntlLock(fd, false, false) == 0 }
			}),
		},
		{
			Name:     "ForceUnlock takes the lock from the dead, and keeps it",
			KilledBy: "A/a-dead-holder-holds-nothing",
			Lab: wrong(func(f *lab02.Functions) {
				f.ForceUnlock = func(k sys.Kernel, fd, pid int) bool {
					k.FcntlLock(fd, true, false)
					return false
				}
			}),
		},
		{
			Name:     "nobody ever unlocks",
			KilledBy: "A/a-waiter-sleeps",
			Lab: wrong(func(f *lab02.Functions) {
				f.Unlock = func(sys.Kernel, int) {}
			}),
		},
		{
			Name:     "nginx's Lock, which a signal ends",
			KilledBy: "B/a-signal-lets-nobody-in",
			Lab:      wrongGuard(func(g *guard) lab02.Guard { return impatient{g} }),
		},
		{
			Name:     "Close closes",
			KilledBy: "B/closing-keeps-the-lock",
			Lab:      wrongGuard(func(g *guard) lab02.Guard { return careless{g} }),
		},
		{
			Name:     "what is put off is never closed",
			KilledBy: "B/all-is-closed-in-the-end",
			Lab:      wrongGuard(func(g *guard) lab02.Guard { return hoarder{g} }),
		},
		{
			Name:     "any descriptor is put off",
			KilledBy: "B/all-is-closed-in-the-end",
			Lab:      wrongGuard(func(g *guard) lab02.Guard { return timid{g} }),
		},
		{
			Name:     "descriptors are put off after Unlock too",
			KilledBy: "B/all-is-closed-in-the-end",
			Lab:      wrongGuard(func(g *guard) lab02.Guard { return forgetful{g} }),
		},
		{
			Name:     "descriptors are put off after a Trylock that failed",
			KilledBy: "B/all-is-closed-in-the-end",
			Lab:      wrongGuard(func(g *guard) lab02.Guard { return presumptuous{g} }),
		},
	})
}
