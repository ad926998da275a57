package shmtx

import (
	"slices"
	"testing"

	"herd/nginxref/core"
	"herd/nginxref/sys"
)

func TestTrylockWritesThePidAndUnlockClearsTheSharedWord(t *testing.T) {
	var s Shared
	p := processes(t, &s, 2)
	if !p[0].Trylock() {
		t.Fatal("process 1 did not get the free lock")
	}
	wantShared(t, &s, 1, 0, 0)
	if p[1].Trylock() || p[0].Trylock() {
		t.Error("a taken lock was taken again")
	}
	p[0].Unlock()
	wantShared(t, &s, 0, 0, 0)
	if !p[1].Trylock() {
		t.Error("process 2 did not get the lock that process 1 let go")
	}
}

// Both read the lock free; the compare-and-set lets one in.
func TestTrylockLosesBetweenReadAndSet(t *testing.T) {
	var s Shared
	p := processes(t, &s, 2)
	p[1].k.before("cmpset lock", 1, func() { p[0].Trylock() })
	if p[1].Trylock() {
		t.Error("process 2 got the lock that process 1 took first")
	}
	wantShared(t, &s, 1, 0, 0)
}

func TestUnlockByANonOwnerDoesNothing(t *testing.T) {
	var s Shared
	p := processes(t, &s, 2)
	p[0].Trylock()
	s.Wait.Store(1) // a waiter that must not be woken
	p[1].Unlock()
	wantShared(t, &s, 1, 1, 0)
}

// CASES B07. The holder unlocks just before the increment and sees no waiter.
func TestWaiterThatWinsAfterItsIncrementTakesItBack(t *testing.T) {
	var s Shared
	p := processes(t, &s, 2)
	p[0].Trylock()
	p[1].k.before("add wait 1", 1, p[0].Unlock)
	p[1].Lock()
	wantShared(t, &s, 2, 0, 0)
	wantEqual(t, "calls", p[1].k.calls,
		[]string{"load lock", "add wait 1", "load lock", "cmpset lock", "add wait -1"})
}

// CASES B07. The holder unlocks just after the increment and posts for a
// process that takes the lock without sleeping. The next one that waits
// consumes the post, at the cost of one turn.
func TestLeftOverPostIsConsumedByTheNextWaiter(t *testing.T) {
	var s Shared
	p := processes(t, &s, 3)
	p[0].Trylock()
	p[1].k.before("load lock", 2, p[0].Unlock)
	p[1].Lock()
	wantShared(t, &s, 2, -1, 1)

	p[2].k.before("load lock", 3, p[1].Unlock)
	p[2].Lock()
	wantShared(t, &s, 3, 0, 0)
	wantEqual(t, "calls", p[2].k.calls, []string{
		"load lock", "add wait 1", "load lock", "load wait", "load sem", "cmpset sem",
		"load lock", "cmpset lock",
	})
}

// Wait is then below 0: whoever waits next will find that post.
func TestUnlockDoesNotPostWhileAPostIsLeftOver(t *testing.T) {
	var s Shared
	p := processes(t, &s, 1)[0]
	s.Wait.Store(^uint64(0))
	s.Sem.Value.Store(1)
	p.Trylock()
	p.Unlock()
	wantShared(t, &s, 0, -1, 1)
}

func TestSleeperIsWokenByUnlock(t *testing.T) {
	var s Shared
	p := processes(t, &s, 2)
	p[0].Trylock()
	p[1].k.before("futex wait", 1, p[0].Unlock)
	p[1].Lock()
	wantShared(t, &s, 2, 0, 0)
	wantEqual(t, "unlocker's calls", p[0].k.calls[2:], []string{
		"cmpset lock", "load wait", "cmpset wait", "load sem", "cmpset sem", "futex wake",
	})
	wantEqual(t, "sleeper's log", p[1].messages(), []string{"shmtx lock", "shmtx wait 1", "shmtx awoke"})
	wantEqual(t, "unlocker's log", p[0].messages(), []string{"shmtx unlock", "shmtx wake 1"})
}

// Each of two unlocks wakes its own waiter.
func TestUnlockersThatRaceForTheWaiterCountPostOnceEach(t *testing.T) {
	var s Shared
	p := processes(t, &s, 2)
	s.Wait.Store(2)
	p[0].Trylock()
	p[0].k.before("cmpset wait", 1, func() {
		p[1].Trylock()
		p[1].Unlock()
	})
	p[0].Unlock()
	wantShared(t, &s, 0, 0, 2)
}

func TestSignalDoesNotEndTheWait(t *testing.T) {
	var s Shared
	p := processes(t, &s, 2)
	p[0].Trylock()
	p[1].k.errnos = []sys.Errno{sys.EINTR, sys.EINTR}
	p[1].k.before("futex wait", 3, p[0].Unlock)
	p[1].Lock()
	wantShared(t, &s, 2, 0, 0)
	if n := p[1].k.count("add wait 1"); n != 1 {
		t.Errorf("%d increments of the waiter count, want 1", n)
	}
	wantEqual(t, "log", p[1].messages(), []string{"shmtx lock", "shmtx wait 1", "shmtx awoke"})
}

func TestUnexpectedSemaphoreErrorsAreLogged(t *testing.T) {
	var s Shared
	p := processes(t, &s, 2)
	p[0].Trylock()
	p[1].k.errnos = []sys.Errno{sys.EINVAL}
	p[1].k.before("load lock", 3, p[0].Unlock)
	p[1].Lock()
	want := "sem_wait() failed while waiting on shmtx (22: Invalid argument)"
	if !slices.Contains(p[1].messages(), want) {
		t.Errorf("log %q, want %q in it", p[1].messages(), want)
	}

	s.Wait.Store(1)
	s.Sem.Value.Store(semValueMax)
	p[1].Unlock()
	want = "sem_post() failed while wake shmtx (75: Value too large for defined data type)"
	if !slices.Contains(p[1].messages(), want) {
		t.Errorf("log %q, want %q in it", p[1].messages(), want)
	}
}

// 1 + 2 + 4 + ... + 1024 pauses with a try after each round, one try before
// them and one after the increment.
func TestSpinsOnlyWithMoreThanOneProcessor(t *testing.T) {
	for _, c := range []struct{ ncpu, pauses, tries int }{{1, 0, 2}, {2, 2047, 13}} {
		var s Shared
		p := processes(t, &s, 2)
		p[0].Trylock()
		p[1].Ncpu = c.ncpu
		p[1].k.before("add wait 1", 1, p[0].Unlock)
		p[1].Lock()
		if pauses, tries := p[1].k.count("pause"), p[1].k.count("load lock"); pauses != c.pauses || tries != c.tries {
			t.Errorf("%d processors: %d pauses, %d tries; want %d, %d",
				c.ncpu, pauses, tries, c.pauses, c.tries)
		}
	}
}

func TestSpinEndsAtTheFirstTryThatWins(t *testing.T) {
	var s Shared
	p := processes(t, &s, 2)
	p[0].Trylock()
	p[1].Ncpu = 2
	p[1].k.before("pause", 6, p[0].Unlock) // in the round of 4
	p[1].Lock()
	if n := p[1].k.count("pause"); n != 1+2+4 {
		t.Errorf("%d pauses, want 7", n)
	}
	wantShared(t, &s, 2, 0, 0)
}

// The accept mutex: no semaphore, and silent when it is let go.
func TestNoSpinTouchesTheLockWordOnly(t *testing.T) {
	var s Shared
	p := processes(t, &s, 1)[0]
	p.Atomic = Atomic{Kernel: p.k, Log: p.Log, Ncpu: 2, Spin: NoSpin}
	if p.Create(&s) != core.OK || p.Spin != NoSpin {
		t.Errorf("Create changed Spin to %d", p.Spin)
	}
	s.Wait.Store(1)
	p.Trylock()
	p.Unlock()
	wantShared(t, &s, 0, 1, 0)
	wantEqual(t, "calls", p.k.calls, []string{"load lock", "cmpset lock", "cmpset lock"})
	wantEqual(t, "log", p.messages(), nil)
}

func TestLockYieldsWithoutASemaphore(t *testing.T) {
	var s Shared
	p := processes(t, &s, 2)
	p[0].Trylock()
	p[1].Destroy()
	p[1].k.before("yield", 3, p[0].Unlock)
	p[1].Lock()
	wantShared(t, &s, 2, 0, 0)
	if n := p[1].k.count("yield"); n != 3 {
		t.Errorf("%d yields, want 3", n)
	}
}

func TestForceUnlockFreesTheLockOfThatPidOnly(t *testing.T) {
	var s Shared
	p := processes(t, &s, 2)
	p[0].Trylock()
	s.Wait.Store(1)
	if p[1].ForceUnlock(2) {
		t.Error("ForceUnlock(2) claims that process 2 held the lock")
	}
	wantShared(t, &s, 1, 1, 0)
	if !p[1].ForceUnlock(1) {
		t.Error("ForceUnlock(1) did not free process 1's lock")
	}
	wantShared(t, &s, 0, 0, 1)
	if p[1].ForceUnlock(1) {
		t.Error("ForceUnlock(1) freed a free lock")
	}
	wantShared(t, &s, 0, 0, 1)
}

// A respawned worker binds itself to a mutex that others are using.
func TestCreateKeepsTheStateOfTheOthers(t *testing.T) {
	var s Shared
	s.Lock.Store(7)
	s.Wait.Store(2)
	s.Sem.Value.Store(1)
	processes(t, &s, 1)
	wantShared(t, &s, 7, 2, 1)
}
