package measure

import (
	"context"
	"encoding/binary"
	"math"
	"os"
	"testing"
)

// timeline records conns connections, one by one.
func timeline(t *testing.T, fix string, conns int) *Timeline {
	t.Helper()
	needTracepoints(t)
	s := start(t, Conf{Fix: fix, Workers: 8, DelayMsec: 60_000})
	tl, err := s.Timeline(context.Background(), Load{Conns: conns}, func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	return tl
}

// count returns the number of spans of each activity.
func count(tl *Timeline) map[Activity]int {
	n := map[Activity]int{}
	for _, lane := range tl.Lanes {
		for doing, total := range lane.Totals {
			n[doing] += total.Count
		}
	}
	return n
}

// One worker accepts each connection; of the herd the other seven were woken
// for nothing, with a fix nobody is. Within 5 %: a thread may also sleep while
// it serves, and on a busy machine one that is still awake may accept the next
// connection in the same span.
func TestTimelineShowsWhoWasWokenForNothing(t *testing.T) {
	const conns = 50
	for fix, nothing := range map[string]int{"none": 7 * conns, "accept-mutex": 0, "exclusive": 0, "blocking": 0} {
		tl := timeline(t, fix, conns)
		n := count(tl)
		if n[Accepting] < conns-2 || n[Accepting] > conns || tl.Run.Accepted != conns {
			t.Errorf("%s: %d spans of accepting and %d connections, want %d", fix, n[Accepting], tl.Run.Accepted, conns)
		}
		if math.Abs(float64(n[Nothing]-nothing)) > 0.05*float64(nothing)+2 {
			t.Errorf("%s: %d spans of nothing, want %d", fix, n[Nothing], nothing)
		}
	}
}

// The holder of the accept mutex accepts everything: its lane and the hold
// name the same worker.
func TestTimelineShowsTheHolder(t *testing.T) {
	tl := timeline(t, "accept-mutex", 10)
	if len(tl.Holds) != 1 {
		t.Fatalf("holds %v, want one", tl.Holds)
	}
	h := tl.Holds[0]
	if tl.Run.Shares[h.Worker] != 10 || h.FromUs != 0 || h.ToUs != tl.DurationUs {
		t.Errorf("hold %+v of %d us, but the shares are %v", h, tl.DurationUs, tl.Run.Shares)
	}
	if none := timeline(t, "none", 10); none.Holds != nil {
		t.Errorf("without a lock somebody holds it: %v", none.Holds)
	}
}

// A buffer that is full says when, so that silence after it is not taken for
// sleep.
func TestFullBufferIsNoticed(t *testing.T) {
	record := func(kind, us uint64) []byte {
		rec := make([]byte, 16)
		binary.NativeEndian.PutUint32(rec, uint32(kind))
		binary.NativeEndian.PutUint16(rec[6:], 16)
		binary.NativeEndian.PutUint64(rec[8:], us*1e3)
		return rec
	}
	ring := func(records ...[]byte) *Recorder {
		page := os.Getpagesize()
		mem := make([]byte, page+ringSize)
		head := page
		for _, rec := range records {
			head += copy(mem[head:], rec)
		}
		binary.NativeEndian.PutUint64(mem[dataHead:], uint64(head-page))
		return &Recorder{rings: [][]byte{mem}}
	}
	many := make([][]byte, ringSize/16-1)
	for i := range many {
		many[i] = record(recordSwitch, uint64(i))
	}
	for _, c := range []struct {
		name    string
		r       *Recorder
		moments int
		full    int64
	}{
		{"room left", ring(record(recordSwitch, 1), record(recordSwitch, 2)), 2, -1},
		{"records were lost", ring(record(recordSwitch, 5), record(recordLost, 0), record(recordSwitch, 9)), 1, 5000},
		{"no room left", ring(many...), len(many), int64(len(many)-1) * 1e3},
	} {
		if moments, full := c.r.moments(0); len(moments) != c.moments || full != c.full {
			t.Errorf("%s: %d moments, full at %d; want %d, %d", c.name, len(moments), full, c.moments, c.full)
		}
	}
}
