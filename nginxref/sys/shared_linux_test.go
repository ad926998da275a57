package sys_test

import (
	"math"
	"testing"
	"time"

	"herd/nginxref/sys"
)

func TestAtomicOperations(t *testing.T) {
	var word sys.Atomic
	k := kernel(t)

	if got := k.AtomicFetchAdd(&word, 5); got != 0 {
		t.Errorf("FetchAdd returned %d, want the value before, 0", got)
	}
	if got := k.AtomicFetchAdd(&word, -6); got != 5 || k.AtomicLoad(&word) != math.MaxUint64 {
		t.Errorf("FetchAdd -6 returned %d and left %#x, want 5 and -1", got, k.AtomicLoad(&word))
	}
	if k.AtomicCmpSet(&word, 0, 1) || k.AtomicLoad(&word) != math.MaxUint64 {
		t.Error("CmpSet changed a word that holds another value")
	}
	if !k.AtomicCmpSet(&word, math.MaxUint64, 7) || k.AtomicLoad(&word) != 7 {
		t.Error("CmpSet did not change the word")
	}
}

func TestFutexWaitReturnsAtOnceIfTheWordDiffers(t *testing.T) {
	var word sys.Futex
	k := kernel(t)
	if err := k.FutexWait(&word, 1); err != sys.EAGAIN {
		t.Errorf("%v, want EAGAIN", err)
	}
	if n, err := k.FutexWake(&word, 1); n != 0 || err != 0 {
		t.Errorf("FutexWake of nobody: %d, %v", n, err)
	}
}

func TestFutexWakeWakesASleeper(t *testing.T) {
	var word sys.Futex
	k := kernel(t)
	done := make(chan sys.Errno)
	go func() {
		for {
			if err := k.FutexWait(&word, 0); err != sys.EINTR {
				done <- err
				return
			}
		}
	}()
	for end := time.Now().Add(patience * time.Millisecond); ; time.Sleep(time.Millisecond) {
		n, err := k.FutexWake(&word, 1)
		if err != 0 {
			t.Fatal(err)
		}
		if n == 1 {
			break
		}
		if time.Now().After(end) {
			t.Fatal("nobody sleeps on the word")
		}
	}
	if err := <-done; err != 0 {
		t.Errorf("FutexWait: %v", err)
	}
}
