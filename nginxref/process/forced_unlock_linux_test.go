package process

import (
	"fmt"
	"slices"
	"syscall"
	"testing"

	"herd/nginxref/stat"
)

// CASES B18. A worker is killed that holds the accept mutex, or one that holds
// nothing: the others go on, and what is counted is right.
//
// nginx frees the locks of its shared memory zones too, and for each that the
// dead one really held it logs an alert, for the data may be half written.
// nginx 1.22.1, with its process id put into the lock of limit_req_zone's zone
// "one" before it is killed, says once: shared memory zone "one" was locked by
// PID; of a worker that holds nothing it says only that it exited. Here the accept
// mutex is the only lock in shared memory. It guards no data, and in both
// programs it is freed without a word. The counters need no lock: a slot has
// one writer, and the totals are single words.
func TestDeathWithTheAcceptMutexIsOneAlertLikeAnyOther(t *testing.T) {
	const n = 3
	s := start(t, conf{Workers: n, AcceptMutex: true})
	zone, _, err := stat.ZoneAt(s.shm.Addr)
	if err != nil {
		t.Fatal(err)
	}
	visits := uint64(0)

	for death, holds := range []bool{true, false, true, false} {
		workers := s.pids(0, n-1)
		holder := s.stopHolder(zone)
		victim := holder
		if !holds {
			victim = workers[(slices.Index(workers, holder)+1)%n]
		}
		syscall.Kill(victim, syscall.SIGKILL)
		s.logged(n+death+1, `: start worker process \d+$`)
		if now := int(zone.AcceptMutex.Lock.Load()); now == victim || !holds && now != holder {
			t.Errorf("%d died, and %d held the mutex: now %d does", victim, holder, now)
		}
		syscall.Kill(holder, syscall.SIGCONT)

		s.pids(0, n-1, victim)
		for range 5 {
			s.bye(s.greeted())
			visits++
		}
		s.logged(1, fmt.Sprintf(`\[alert\] .*: worker process %d exited on signal 9$`, victim))
		s.logged(death+1, `\[(emerg|alert|crit|error|warn)\]`)
	}
	if accepted := zone.Accepted.Word.Load(); accepted != visits {
		t.Errorf("%d connections were counted, want %d", accepted, visits)
	}
}

// stopHolder stops a worker while it holds the accept mutex, and returns it.
func (s *server) stopHolder(zone *stat.Zone) (pid int) {
	s.t.Helper()
	s.until("a worker is stopped with the mutex", func() bool {
		if pid = int(zone.AcceptMutex.Lock.Load()); pid == 0 {
			return false
		}
		s.stop(pid)
		if int(zone.AcceptMutex.Lock.Load()) == pid {
			return true
		}
		syscall.Kill(pid, syscall.SIGCONT)
		return false
	})
	return pid
}
