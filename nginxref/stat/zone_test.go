package stat

import (
	"strings"
	"testing"
	"unsafe"
)

// ngx_event_module_init lays the words out 128 bytes apart, in this order.
func TestWordsStandAtNginxsOffsets(t *testing.T) {
	var z Zone
	for i, word := range []struct {
		name   string
		offset uintptr
	}{
		{"accept mutex", unsafe.Offsetof(z.AcceptMutex)},
		{"connection counter", unsafe.Offsetof(z.ConnectionCounter)},
		{"temp number", unsafe.Offsetof(z.TempNumber)},
		{"accepted", unsafe.Offsetof(z.Accepted)},
		{"handled", unsafe.Offsetof(z.Handled)},
		{"requests", unsafe.Offsetof(z.Requests)},
		{"active", unsafe.Offsetof(z.Active)},
		{"reading", unsafe.Offsetof(z.Reading)},
		{"writing", unsafe.Offsetof(z.Writing)},
		{"waiting", unsafe.Offsetof(z.Waiting)},
	} {
		if want := uintptr(i) * 128; word.offset != want {
			t.Errorf("%s at %d, want %d", word.name, word.offset, want)
		}
	}
	if got := unsafe.Sizeof(z); got != 10*128 {
		t.Errorf("the words take %d bytes, want 1280", got)
	}
	if unsafe.Offsetof(z.Accepted.Word) != 0 || unsafe.Offsetof(z.AcceptMutex.Lock) != 0 {
		t.Error("a word is not at the start of its line")
	}
}

func TestWorkersShareNoLine(t *testing.T) {
	if size := unsafe.Sizeof(Worker{}); size%128 != 0 {
		t.Errorf("a worker's slot takes %d bytes, not a multiple of 128", size)
	}
	mem := make([]byte, ZoneSize(3))
	zone, workers, err := ZoneAt(mem)
	if err != nil {
		t.Fatal(err)
	}
	base := uintptr(unsafe.Pointer(zone))
	if base != uintptr(unsafe.Pointer(&mem[0])) {
		t.Error("the zone is not at the start of the memory")
	}
	for i := range workers {
		offset := uintptr(unsafe.Pointer(&workers[i])) - base
		if want := 1280 + uintptr(i)*unsafe.Sizeof(Worker{}); offset != want {
			t.Errorf("slot %d at %d, want %d", i, offset, want)
		}
	}
}

func TestZoneHoldsAsManyWorkersAsItWasSizedFor(t *testing.T) {
	if _, workers, err := ZoneAt(make([]byte, ZoneSize(0))); err != nil || len(workers) != 0 {
		t.Errorf("ZoneSize(0): %d workers, %v", len(workers), err)
	}
	for _, n := range []int{1, 64, 1024} {
		for _, more := range []int{0, 127} {
			_, workers, err := ZoneAt(make([]byte, ZoneSize(n)+more))
			if err != nil || len(workers) != n {
				t.Errorf("ZoneSize(%d) and %d bytes: %d workers, %v", n, more, len(workers), err)
			}
		}
	}
	if _, _, err := ZoneAt(make([]byte, 1279)); err == nil || !strings.Contains(err.Error(), "1279 bytes is smaller than its header of 1280") {
		t.Errorf("too small: %v", err)
	}
}

// The last byte of the last slot must be inside the memory.
func TestLastSlotIsInsideTheZone(t *testing.T) {
	mem := make([]byte, ZoneSize(2))
	_, workers, err := ZoneAt(mem)
	if err != nil {
		t.Fatal(err)
	}
	last := uintptr(unsafe.Pointer(&workers[1])) + unsafe.Sizeof(Worker{})
	if end := uintptr(unsafe.Pointer(&mem[0])) + uintptr(len(mem)); last != end {
		t.Errorf("the last slot ends %d bytes before the zone", end-last)
	}
}
