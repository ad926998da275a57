package shmtx

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestZoneIsSharedAndStartsAsZeros(t *testing.T) {
	const size = 3 * 128

	shm := must(Alloc("zeros", size))
	defer shm.Free()
	for i, b := range shm.Addr {
		if b != 0 {
			t.Fatalf("byte %d is %d", i, b)
		}
	}
	other := must(Attach(must(unix.Dup(shm.Fd)), size))
	defer other.Free()
	if len(shm.Addr) != size || len(other.Addr) != size {
		t.Errorf("%d and %d bytes, want %d", len(shm.Addr), len(other.Addr), size)
	}
	shm.Addr[size-1] = 7
	if other.Addr[size-1] != 7 {
		t.Error("a write through one mapping does not show in the other")
	}
}

func TestZoneDescriptorsAreCloseOnExec(t *testing.T) {
	shm := must(Alloc("cloexec", 128))
	defer shm.Free()
	inherited := must(Attach(must(unix.Dup(shm.Fd)), 128)) // Dup clears the flag, as exec does
	defer inherited.Free()
	for _, fd := range []int{shm.Fd, inherited.Fd} {
		if flags := must(unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)); flags&unix.FD_CLOEXEC == 0 {
			t.Errorf("descriptor %d is not close-on-exec", fd)
		}
	}
}

func TestFreeGivesBackMappingAndDescriptor(t *testing.T) {
	mapped := func() bool {
		return strings.Contains(string(must(os.ReadFile("/proc/self/maps"))), "memfd:freed")
	}
	shm := must(Alloc("freed", 128))
	if !mapped() {
		t.Fatal("the zone is not mapped under its name")
	}
	fd := shm.Fd
	if err := shm.Free(); err != nil {
		t.Fatal(err)
	}
	if mapped() {
		t.Error("the zone is still mapped")
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != unix.EBADF {
		t.Errorf("the descriptor is still open: %v", err)
	}
}

func TestAttachRefusesWhatIsNotTheZone(t *testing.T) {
	shm := must(Alloc("small", 128))
	defer shm.Free()
	if _, err := Attach(shm.Fd, 4096); err == nil || !strings.Contains(err.Error(), "it holds 128 bytes, not 4096") {
		t.Errorf("a zone that is too small: %v", err)
	}
	if _, err := Attach(-1, 128); err == nil || !strings.Contains(err.Error(), "descriptor -1: bad file descriptor") {
		t.Errorf("no descriptor: %v", err)
	}
}

func TestAllocReportsAnImpossibleSize(t *testing.T) {
	for _, size := range []int{0, -1} {
		if _, err := Alloc("bad", size); err == nil || !strings.Contains(err.Error(), `shared zone "bad"`) {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}
