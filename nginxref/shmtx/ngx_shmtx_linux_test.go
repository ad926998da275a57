package shmtx

import (
	"io"
	"testing"

	"herd/nginxref/sys"
)

// CASES B07: a million lock/unlock. Wait may end below 0, by as many as there
// are left-over posts; the next process that has to wait consumes them.
func TestFourProcessesExcludeOneAnother(t *testing.T) {
	const processes = 4

	g := newGroup(t, "atomic")
	s := &g.zone.mutex
	starter := newAtomic(must(sys.New()), io.Discard, s)
	starter.Lock()
	peers, sleeps := g.count(processes, 250_000, func() {
		g.waiters(processes)
		starter.Unlock()
	})
	if sleeps < 100 { // 15,000 on two processors
		t.Errorf("the processes slept for the lock %d times: they hardly met", sleeps)
	}

	lock, wait, sem := s.Lock.Load(), int64(s.Wait.Load()), int64(s.Sem.Value.Load())
	if lock != 0 || wait+sem != 0 || sem > processes {
		t.Errorf("lock %d, wait %d, semaphore %d; want lock 0, their sum 0, semaphore at most %d",
			lock, wait, sem, processes)
	}

	peers[0].want("trylock", "true")
	peers[1].send("lock")
	g.waiters(1)
	peers[0].want("unlock", "done")
	peers[1].answer()
	peers[1].want("unlock", "done")
	wantShared(t, s, 0, 0, 0)
}

// CASES B01: the master reaps the holder and frees the lock in its name.
func TestKilledOwnersLockIsForcedAndASleeperGetsIt(t *testing.T) {
	g := newGroup(t, "atomic")
	master := newAtomic(must(sys.New()), io.Discard, &g.zone.mutex)
	owner, sleeper := g.start(), g.start()
	owner.want("trylock", "true")
	sleeper.send("lock")
	g.waiters(1)

	owner.kill()
	wantShared(t, &g.zone.mutex, uint64(owner.pid()), 1, 0)
	if master.ForceUnlock(sleeper.pid()) {
		t.Error("ForceUnlock freed the lock in the name of a process that does not hold it")
	}
	if !master.ForceUnlock(owner.pid()) {
		t.Error("ForceUnlock did not free the dead owner's lock")
	}
	if got := sleeper.answer(); got != "done" {
		t.Error(got)
	}
	wantShared(t, &g.zone.mutex, uint64(sleeper.pid()), 0, 0)
	if master.ForceUnlock(owner.pid()) {
		t.Error("ForceUnlock freed the new owner's lock in the dead one's name")
	}
	sleeper.want("unlock", "done")
	wantShared(t, &g.zone.mutex, 0, 0, 0)
}

func TestUnlockByAnotherProcessDoesNothing(t *testing.T) {
	g := newGroup(t, "atomic")
	a, b := g.start(), g.start()
	a.want("trylock", "true")
	b.want("unlock", "done")
	b.want("trylock", "false")
	wantShared(t, &g.zone.mutex, uint64(a.pid()), 0, 0)
	a.want("unlock", "done")
	b.want("trylock", "true")
}

func TestUncontendedLockDoesNotAllocate(t *testing.T) {
	var s Shared
	mtx := newAtomic(must(sys.New()), io.Discard, &s)
	n := testing.AllocsPerRun(1000, func() {
		mtx.Lock()
		if mtx.Trylock() {
			t.Fatal("a taken lock was taken again")
		}
		mtx.Unlock()
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// The path through the semaphore: a post per wait is there already.
func TestWaitingDoesNotAllocate(t *testing.T) {
	var s Shared
	mtx := newAtomic(must(sys.New()), io.Discard, &s)
	n := testing.AllocsPerRun(1000, func() {
		s.Wait.Store(1)
		mtx.wakeup()
		if err := mtx.sem.Wait(mtx.Kernel); err != 0 {
			t.Fatal(err)
		}
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// BenchmarkTrylockUnlock is what a turn of the loop costs its holder.
func BenchmarkTrylockUnlock(b *testing.B) {
	var s Shared
	mtx := newAtomic(must(sys.New()), io.Discard, &s)
	b.ReportAllocs()
	for b.Loop() {
		if mtx.Trylock() {
			mtx.Unlock()
		}
	}
}
