package measure

import (
	"maps"
	"reflect"
	"slices"
	"testing"
)

func TestLaneIsAddedUp(t *testing.T) {
	lane := newLane(71, []Span{{10, 14, Nothing}, {20, 25, Accepting}, {25, 40, Serving}, {50, 53, Nothing}})
	want := map[Activity]Total{Nothing: {2, 7}, Accepting: {1, 5}, Serving: {1, 15}, Polling: {}}
	if !maps.Equal(lane.Totals, want) {
		t.Errorf("%v, want %v", lane.Totals, want)
	}
}

// at is a moment at so many microseconds.
func at(us int64, what happening, value int64) moment { return moment{us * 1e3, what, value} }

func TestMomentsBecomeSpans(t *testing.T) {
	for _, c := range []struct {
		name    string
		moments []moment
		want    []Span
	}{
		{"put back to sleep inside the kernel",
			[]moment{at(10, ran, 0), at(14, slept, 0)},
			[]Span{{10, 14, Nothing}}},
		{"returned, and found nothing",
			[]moment{at(10, ran, 0), at(12, leavesWait, 1), at(13, entersAccept, 0), at(15, leavesAccept, -11),
				at(18, entersWait, -1), at(19, slept, 0)},
			[]Span{{10, 19, Nothing}}},
		{"a connection",
			[]moment{at(10, ran, 0), at(12, leavesWait, 1), at(13, entersAccept, 0), at(20, leavesAccept, 7),
				at(60, entersWait, -1), at(61, slept, 0)},
			[]Span{{10, 20, Accepting}, {20, 61, Serving}}},
		{"two connections of one event, and a look for a third",
			[]moment{at(10, ran, 0), at(12, leavesWait, 1), at(13, entersAccept, 0), at(20, leavesAccept, 7),
				at(30, entersAccept, 0), at(33, leavesAccept, 8), at(50, entersAccept, 0), at(51, leavesAccept, -11),
				at(60, entersWait, -1), at(61, slept, 0)},
			[]Span{{10, 20, Accepting}, {20, 61, Serving}}},
		{"two turns without sleep between them",
			[]moment{at(10, ran, 0), at(12, leavesWait, 1), at(13, entersAccept, 0), at(20, leavesAccept, 7),
				at(30, entersWait, -1), at(31, leavesWait, 1), at(32, entersAccept, 0), at(35, leavesAccept, 7),
				at(40, entersWait, -1), at(41, slept, 0)},
			[]Span{{10, 20, Accepting}, {20, 31, Serving}, {31, 35, Accepting}, {35, 41, Serving}}},
		{"timeout, then spinning on an event it may not take",
			[]moment{at(10, ran, 0), at(12, leavesWait, 0), at(14, entersWait, 500), at(15, slept, 0),
				at(30, ran, 0), at(31, leavesWait, 1), at(32, entersWait, 500), at(33, leavesWait, 1),
				at(34, entersWait, 500), at(35, slept, 0)},
			[]Span{{10, 15, Polling}, {30, 35, Nothing}}},
		{"preempted",
			[]moment{at(10, ran, 0), at(12, ran, 0), at(14, slept, 0)},
			[]Span{{10, 14, Nothing}}},
		{"asleep in accept4, without a loop",
			[]moment{at(10, ran, 0), at(13, leavesAccept, 7), at(20, entersAccept, 0), at(22, slept, 0)},
			[]Span{{10, 13, Accepting}, {13, 22, Serving}}},
		{"asleep for something else while it serves",
			[]moment{at(10, ran, 0), at(12, leavesWait, 1), at(13, entersAccept, 0), at(20, leavesAccept, 7),
				at(25, slept, 0), at(30, ran, 0), at(40, entersWait, -1), at(41, slept, 0)},
			[]Span{{10, 20, Accepting}, {20, 25, Serving}, {30, 41, Serving}}},
		{"awake at the end",
			[]moment{at(10, ran, 0)},
			[]Span{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := narrate(c.moments); !slices.Equal(got, c.want) {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}

func TestHolderIsWhoWaitsWithoutTimeout(t *testing.T) {
	for _, c := range []struct {
		name    string
		workers [][]moment
		want    []Hold
	}{
		{"nothing happens",
			[][]moment{{}, {}}, nil},
		{"who accepts first had it all the time",
			[][]moment{
				{at(5, leavesWait, 0), at(6, entersWait, 500)},
				{at(10, leavesWait, 1), at(12, leavesAccept, 7), at(20, entersWait, -1)},
			},
			[]Hold{{1, 0, 100}}},
		{"another wins it",
			[][]moment{
				{at(10, leavesAccept, 7), at(20, entersWait, -1), at(40, leavesWait, 1), at(50, entersWait, 500)},
				{at(45, entersWait, -1)},
			},
			[]Hold{{0, 0, 45}, {1, 45, 100}}},
		{"nobody has it for a while",
			[][]moment{
				{at(20, entersWait, -1), at(50, entersWait, 500)},
				{at(70, entersWait, -1), at(80, leavesAccept, 7)},
			},
			[]Hold{{0, 20, 50}, {1, 70, 100}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := holdsOf(c.workers, 100_000); !slices.Equal(got, c.want) {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}

// What happens after a full buffer of one worker is not told of the others.
func TestTimelineEndsWhereABufferWasFull(t *testing.T) {
	workers := [][]moment{
		{at(10, ran, 0), at(14, slept, 0)},
		{at(10, ran, 0), at(14, slept, 0), at(30, ran, 0), at(34, slept, 0)},
	}
	tl := newTimeline(Run{}, []int{71, 72}, workers, 20_000, true, false)
	want := &Timeline{DurationUs: 20, Cut: true, Lanes: []Lane{
		newLane(71, []Span{{10, 14, Nothing}}),
		newLane(72, []Span{{10, 14, Nothing}}),
	}}
	if !reflect.DeepEqual(tl, want) {
		t.Errorf("%+v, want %+v", tl, want)
	}
}
