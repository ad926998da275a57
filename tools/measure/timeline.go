package measure

import (
	"slices"
	"sort"
)

// Timeline is what each worker did, moment by moment, while a load ran. Times
// are microseconds since the beginning.
type Timeline struct {
	Run        Run    `json:"run"` // what the counters said meanwhile
	DurationUs int64  `json:"duration_us"`
	Cut        bool   `json:"cut,omitempty"` // the kernel's buffer was full before the end
	Lanes      []Lane `json:"lanes"`         // by worker
	Holds      []Hold `json:"holds,omitempty"`
}

// Lane is one worker's part. Between its spans the worker sleeps.
type Lane struct {
	Pid    int                `json:"pid"`
	Totals map[Activity]Total `json:"totals"`
	Spans  []Span             `json:"spans"`
}

// Total is how often a worker did something, and for how long in all.
type Total struct {
	Count int   `json:"count"`
	Us    int64 `json:"us"`
}

// newLane returns a lane with its totals.
func newLane(pid int, spans []Span) Lane {
	lane := Lane{Pid: pid, Totals: map[Activity]Total{}, Spans: spans}
	for _, a := range Activities {
		lane.Totals[a] = Total{}
	}
	for _, s := range spans {
		t := lane.Totals[s.Doing]
		lane.Totals[s.Doing] = Total{t.Count + 1, t.Us + s.ToUs - s.FromUs}
	}
	return lane
}

// Span is a time in which a worker is awake.
type Span struct {
	FromUs int64    `json:"from_us"`
	ToUs   int64    `json:"to_us"`
	Doing  Activity `json:"doing"`
}

// Activity is what a worker that is awake turns out to be awake for.
type Activity string

// The activities.
const (
	Nothing   Activity = "nothing"   // woken, and went back to sleep without a connection
	Polling   Activity = "polling"   // woken by the timeout of its wait
	Accepting Activity = "accepting" // from the wakeup to the end of accept4
	Serving   Activity = "serving"   // from there to the next wait
)

// Activities are all of them, in the order of a legend.
var Activities = []Activity{Accepting, Serving, Polling, Nothing}

// Hold is a time in which a worker has the accept mutex. The lock is in user
// memory, where the kernel sees nothing of it; but only its holder waits
// without a timeout, the others wait for accept_mutex_delay at the most.
type Hold struct {
	Worker int   `json:"worker"` // index of its lane
	FromUs int64 `json:"from_us"`
	ToUs   int64 `json:"to_us"`
}

// moment is something the kernel saw a thread do.
type moment struct {
	at    int64 // nanoseconds since the beginning
	what  happening
	value int64
}

type happening int

const (
	ran          happening = iota // got a CPU
	slept                         // gave it up, to sleep
	entersWait                    // epoll_wait; value: the timeout, -1 is none
	leavesWait                    // value: what it returned
	entersAccept                  // accept4
	leavesAccept                  // value: what it returned
)

// newTimeline tells the workers' moments up to end.
func newTimeline(run Run, pids []int, workers [][]moment, end int64, cut, mutex bool) *Timeline {
	tl := &Timeline{Run: run, DurationUs: end / 1e3, Cut: cut}
	for i, pid := range pids {
		moments := workers[i]
		n := sort.Search(len(moments), func(j int) bool { return moments[j].at > end })
		workers[i] = moments[:n]
		tl.Lanes = append(tl.Lanes, newLane(pid, narrate(workers[i])))
	}
	if mutex {
		tl.Holds = holdsOf(workers, end)
	}
	return tl
}

// narrator makes spans of a thread's moments. What a span was good for is
// known only at its end, so the span that is open has a provisional activity.
type narrator struct {
	spans  []Span
	asleep bool
	inside bool // a system call that waits, or may
	rested bool // has slept since it entered the wait
	since  int64
	doing  Activity
}

// narrate returns the spans of a thread that sleeps in its wait at the
// beginning. One that is open at the end is left out: nobody knows what it
// will be.
func narrate(moments []moment) []Span {
	n := narrator{spans: []Span{}, asleep: true, inside: true, rested: true}
	for _, m := range moments {
		n.tell(m)
	}
	return n.spans
}

func (n *narrator) tell(m moment) {
	switch m.what {
	case ran:
		if n.asleep { // else it was preempted
			n.asleep = false
			n.begin(m.at, Nothing)
			if !n.inside {
				n.doing = Serving // it had to wait for something else
			}
		}
	case slept:
		if !n.asleep {
			n.end(m.at)
			n.asleep, n.rested = true, true
		}
	case entersWait:
		n.inside, n.rested = true, false
	case leavesWait:
		n.inside = false
		if !n.rested { // the last turn goes over into this one
			n.end(m.at)
			n.begin(m.at, Nothing)
		} else if m.value == 0 {
			n.doing = Polling
		}
	case entersAccept:
		n.inside = true
	case leavesAccept:
		n.inside = false
		if m.value >= 0 {
			if n.doing == Nothing {
				n.doing = Accepting
			}
			n.end(m.at)
			n.begin(m.at, Serving)
		}
	}
}

func (n *narrator) begin(at int64, doing Activity) { n.since, n.doing = at, doing }

// end closes the span, or prolongs the one before it if that says the same.
func (n *narrator) end(at int64) {
	span := Span{FromUs: n.since / 1e3, ToUs: at / 1e3, Doing: n.doing}
	if last := len(n.spans) - 1; last >= 0 && n.spans[last].ToUs == span.FromUs && n.spans[last].Doing == span.Doing {
		n.spans[last].ToUs = span.ToUs
		return
	}
	n.spans = append(n.spans, span)
}

// holdsOf finds out who had the accept mutex from the moments of each worker.
// A worker has it from a wait without timeout until it waits with one, or
// another waits without. If nobody has won it before the first connection is
// accepted, the one who accepts had it all the time.
func holdsOf(workers [][]moment, end int64) []Hold {
	type news struct {
		worker int
		moment
	}
	var all []news
	for w, moments := range workers {
		for _, m := range moments {
			all = append(all, news{w, m})
		}
	}
	slices.SortStableFunc(all, func(a, b news) int { return int(a.at - b.at) })

	var holds []Hold
	holder, since := -1, int64(0)
	pass := func(to int, at int64) {
		if holder != -1 {
			holds = append(holds, Hold{Worker: holder, FromUs: since / 1e3, ToUs: at / 1e3})
		}
		holder, since = to, at
	}
	for _, m := range all {
		switch {
		case m.what == entersWait && m.value < 0 && m.worker != holder:
			pass(m.worker, m.at)
		case m.what == entersWait && m.value >= 0 && m.worker == holder:
			pass(-1, m.at)
		case m.what == leavesAccept && m.value >= 0 && holder == -1 && holds == nil:
			holder = m.worker
		}
	}
	pass(-1, end)
	return holds
}
