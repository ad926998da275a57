package shmtx

import (
	"testing"

	"herd/nginxref/sys"
)

func TestSemaphoreOverflows(t *testing.T) {
	var s Shared
	k := processes(t, &s, 1)[0].k
	s.Sem.Value.Store(semValueMax - 1)
	if err := s.Sem.Post(k); err != 0 {
		t.Errorf("post to the largest value: %v", err)
	}
	if err := s.Sem.Post(k); err.Error() != "value too large for defined data type" {
		t.Errorf("post beyond it: %v, want EOVERFLOW", err)
	}
	wantShared(t, &s, 0, 0, semValueMax)
}

// Between the load and the compare-and-set another process changes the value.
func TestSemaphoreTriesAgainWhenItLosesARace(t *testing.T) {
	var s Shared
	k := processes(t, &s, 1)[0].k
	s.Sem.Value.Store(2)
	k.before("cmpset sem", 1, func() { s.Sem.Value.Add(1) })
	if err := s.Sem.Wait(k); err != 0 {
		t.Errorf("wait: %v", err)
	}
	wantShared(t, &s, 0, 0, 2)
	k.before("cmpset sem", 3, func() { s.Sem.Value.Add(1) })
	if err := s.Sem.Post(k); err != 0 {
		t.Errorf("post: %v", err)
	}
	wantShared(t, &s, 0, 0, 4)
}

func TestSemaphoreWaitReportsASignal(t *testing.T) {
	var s Shared
	k := processes(t, &s, 1)[0].k
	k.errnos = []sys.Errno{sys.EINTR}
	if err := s.Sem.Wait(k); err != sys.EINTR {
		t.Errorf("wait: %v, want EINTR", err)
	}
}
