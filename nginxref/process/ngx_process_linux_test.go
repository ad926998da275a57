package process

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// CASES D35: the same slot, the same number, and it counts on where the dead
// one stopped.
func TestKilledWorkerIsRespawnedInItsSlot(t *testing.T) {
	s := start(t, conf{Workers: 4})
	old := s.pids(0, 3)
	accepted := s.slots(4)[2].Accepted

	syscall.Kill(old[2], syscall.SIGKILL)
	now := s.pids(0, 3, old[2])

	for _, slot := range []int{0, 1, 3} {
		if now[slot] != old[slot] {
			t.Errorf("slot %d: worker %d, was %d", slot, now[slot], old[slot])
		}
	}
	s.until("the new worker greets", func() bool {
		c := s.greeted()
		defer s.bye(c)
		if c.pid == now[2] && c.worker != 2 {
			t.Errorf("the worker in slot 2 has number %d", c.worker)
		}
		return c.pid == now[2]
	})
	if got := s.slots(4)[2].Accepted; got < accepted+1 {
		t.Errorf("slot 2 has counted %d connections, and %d before the worker died", got, accepted)
	}
}

// CASES D15: equal signals merge, and the master waits for all that have died.
func TestSixteenDeathsOneSIGCHLD(t *testing.T) {
	s := start(t, conf{Workers: 16})
	old := s.pids(0, 15)

	s.signal(syscall.SIGSTOP)
	s.until("the master has stopped", func() bool { return state(s.pid()) == 'T' })
	for _, pid := range old {
		syscall.Kill(pid, syscall.SIGKILL)
	}
	for _, pid := range old {
		s.until("the worker is dead", func() bool { return dead(pid) })
	}
	s.signal(syscall.SIGCONT)

	s.pids(0, 15, old...)
	s.logged(1, `signal 17 \(SIGCHLD\) received`)
	s.logged(16, `worker process \d+ exited on signal 9`)
	s.logged(32, `start worker process \d+`)
}

// state returns a process's state as ps has it: 'S', 'T', 'Z'; 0 if there is
// no such process.
func state(pid int) byte {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	return text[strings.LastIndexByte(string(text), ')')+2]
}

// CASES D14.
func TestExitCode2IsNotRespawned(t *testing.T) {
	s := start(t, conf{Workers: 3, FailInit: []int{1}})
	first := s.pids(0, 0)[0]
	s.logged(1, `\[emerg\] .* told to fail`)
	s.logged(1, `exited with fatal code 2 and cannot be respawned`)

	// Another's death makes the master talk to all that are left.
	syscall.Kill(first, syscall.SIGKILL)
	s.pids(0, 0, first)
	s.logged(4, `start worker process \d+`)
	s.logged(1, `exited with code 2`)

	s.signal(syscall.SIGTERM)
	s.gone()
	s.logged(3, `\[(alert|emerg)\]`) // the failure, code 2, signal 9: nothing sent to the empty slot
}

// Go's own exit code for a panic is 2; it must not pass for a failed start.
func TestPanicIsACrash(t *testing.T) {
	s := start(t, conf{Workers: 1})
	old := s.pids(0, 0)

	fmt.Fprint(s.greeted(), "crash\n")
	s.pids(0, 0, old...)
	s.logged(1, `worker process \d+ exited on signal 6`)
}

// CASES B01. The worker dies in its accept handler, so while it holds the
// mutex; nobody else could ever accept if nobody unlocked it.
func TestDeathOfTheMutexHolderDoesNotStopService(t *testing.T) {
	for _, variant := range []string{"atomic", "file"} {
		t.Run(variant, func(t *testing.T) {
			dir := t.TempDir()
			c := conf{Workers: 4, AcceptMutex: true, DieOnAccept: filepath.Join(dir, "die")}
			if variant == "file" {
				c.LockFile = filepath.Join(dir, "lock")
			}
			s := start(t, c)
			s.pids(0, 3)

			for kill := range 3 {
				if err := os.WriteFile(c.DieOnAccept, nil, 0o644); err != nil {
					t.Fatal(err)
				}
				if s.dial() != nil {
					t.Fatal("the first to accept did not die")
				}
				for range 5 {
					s.bye(s.greeted())
				}
				s.logged(kill+1, `exited on signal 9`)
			}
			s.logged(4+3, `start worker process \d`)
		})
	}
}

// Every worker has a channel to every other, also to one that came later; a
// death closes it. Nothing leaks.
func TestWorkersKnowEachOther(t *testing.T) {
	const n = 4
	s := start(t, conf{Workers: n})
	pids := s.pids(0, n-1)
	s.logged(n*(n-1)/2, `get channel s:\d+`)
	base := descriptors(s.pid(), pids[0])

	for death := 1; death <= 5; death++ {
		old := pids[n-1]
		syscall.Kill(old, syscall.SIGKILL)
		pids = s.pids(0, n-1, old)
		s.logged(death*(n-1), `: close channel s:3`)
		s.logged(n*(n-1)/2+death*(n-1), `get channel s:\d+`)
	}
	if now := descriptors(s.pid(), pids[0]); !slices.Equal(now, base) {
		t.Errorf("master and worker 0 have %v descriptors open, and %v before the deaths", now, base)
	}
	// The youngest was born with channels to all the others.
	if born, old := descriptors(pids[n-1]), descriptors(pids[0]); !slices.Equal(born, old) {
		t.Errorf("the new worker has %v descriptors open, worker 0 %v", born, old)
	}
}

// dead reports whether a process has ended, waited for or not: a main thread
// is a zombie while other threads are still on their way out.
func dead(pid int) bool {
	threads, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	return state(pid) == 0 || state(pid) == 'Z' && len(threads) == 1
}

func descriptors(pids ...int) []int {
	var counts []int
	for _, pid := range pids {
		entries, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
		counts = append(counts, len(entries))
	}
	return counts
}

// CASES D32: nginx's workers outlive their master; a program may ask for the
// opposite.
func TestMasterKilled(t *testing.T) {
	t.Run("workers stay", func(t *testing.T) {
		s := start(t, conf{Workers: 2, Orphans: true})
		pids := s.pids(0, 1)
		s.signal(syscall.SIGKILL)
		<-s.done
		for range 10 {
			s.bye(s.greeted())
		}
		syscall.Kill(pids[0], syscall.SIGTERM)
		s.logged(1, by(pids[0])+"exit$")
	})
	t.Run("workers die with it", func(t *testing.T) {
		s := start(t, conf{Workers: 2})
		pids := s.pids(0, 1)
		s.signal(syscall.SIGKILL)
		<-s.done
		for _, pid := range pids {
			s.until("the worker is dead", func() bool { return dead(pid) })
		}
	})
}
