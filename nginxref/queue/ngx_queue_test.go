package queue_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"herd/nginxref/queue"
)

// item has a field on each side of its link, so that a wrong offset shows.
type item struct {
	_    uint64
	link queue.Queue
	id   int
}

func itemOf(q *queue.Queue) *item {
	return queue.Data[item](q, unsafe.Offsetof(item{}.link))
}

// newQueue returns an empty queue and n items that are in none.
func newQueue(n int) (*queue.Queue, []item) {
	h := new(queue.Queue)
	h.Init()
	items := make([]item, n)
	for i := range items {
		items[i].id = i
	}
	return h, items
}

// ids walks h in both directions and returns the ids seen by each, the
// second turned round.
func ids(h *queue.Queue) (forward, backward []int) {
	for q := h.Head(); q != h.Sentinel(); q = q.Next() {
		forward = append(forward, itemOf(q).id)
	}
	for q := h.Last(); q != h.Sentinel(); q = q.Prev() {
		backward = append(backward, itemOf(q).id)
	}
	slices.Reverse(backward)
	return forward, backward
}

// check reports how h differs from want, or "".
func check(h *queue.Queue, want []int) string {
	forward, backward := ids(h)
	if !slices.Equal(forward, want) || !slices.Equal(backward, want) || h.Empty() != (len(want) == 0) {
		return fmt.Sprintf("forward %v, backward %v, Empty %v; want %v",
			forward, backward, h.Empty(), want)
	}
	return ""
}

func TestInsertTailIsFirstInFirstOut(t *testing.T) {
	h, items := newQueue(10)
	for i := range items {
		h.InsertTail(&items[i].link)
	}
	for want := range items {
		q := h.Head()
		if got := itemOf(q).id; got != want {
			t.Fatalf("removal %d gave item %d", want, got)
		}
		q.Remove()
	}
	if !h.Empty() {
		t.Error("queue is not empty after the last removal")
	}
}

func TestInsertHeadIsLastInFirstOut(t *testing.T) {
	h, items := newQueue(4)
	for i := range items {
		h.InsertHead(&items[i].link)
	}
	if diff := check(h, []int{3, 2, 1, 0}); diff != "" {
		t.Error(diff)
	}
}

func TestSplitAndAddAtEveryPlace(t *testing.T) {
	for n := 1; n <= 5; n++ {
		for at := range n {
			h, items := newQueue(n)
			var all []int
			for i := range items {
				h.InsertTail(&items[i].link)
				all = append(all, i)
			}

			var rest queue.Queue // Split initialises it
			h.Split(&items[at].link, &rest)
			if diff := check(h, all[:at]); diff != "" {
				t.Errorf("%d items split at %d, what stays: %s", n, at, diff)
			}
			if diff := check(&rest, all[at:]); diff != "" {
				t.Errorf("%d items split at %d, what leaves: %s", n, at, diff)
			}

			h.Add(&rest)
			if diff := check(h, all); diff != "" {
				t.Errorf("%d items split at %d and joined: %s", n, at, diff)
			}
		}
	}
}

func TestRemoveClearsTheLinksAndTwicePanics(t *testing.T) {
	h, items := newQueue(3)
	for i := range items {
		h.InsertTail(&items[i].link)
	}
	items[1].link.Remove()
	if items[1].link != (queue.Queue{}) {
		t.Errorf("the removed item keeps its links: %v", items[1].link)
	}
	defer func() {
		if recover() == nil {
			t.Error("the second Remove did not panic")
		}
		if diff := check(h, []int{0, 2}); diff != "" {
			t.Errorf("the second Remove changed the queue: %s", diff)
		}
	}()
	items[1].link.Remove()
}

func TestNoAllocation(t *testing.T) {
	h, items := newQueue(8)
	n := testing.AllocsPerRun(100, func() {
		for i := range items {
			h.InsertTail(&items[i].link)
		}
		for !h.Empty() {
			itemOf(h.Head()).link.Remove()
		}
	})
	if n != 0 {
		t.Errorf("%v allocations for 8 inserts and removals", n)
	}
}

// A program is a list of bytes, each one step on two queues that hold some of
// 16 items: the low half says what to do, the high half with which item.
const programItems = 16

// model is what two queues should hold, as plain slices.
type model [2][]int

// where returns the queue that holds id and its place there, or -1.
func (m *model) where(id int) (which, at int) {
	for which := range m {
		if at := slices.Index(m[which], id); at >= 0 {
			return which, at
		}
	}
	return -1, -1
}

// step does one step on the queues and the model, and says which.
func step(heads *[2]queue.Queue, items []item, m *model, b byte) string {
	id := int(b >> 4)
	x := &items[id].link
	which, at := m.where(id)

	if at < 0 { // the item is in no queue: insert it
		which = int(b & 1)
		h, list := &heads[which], &m[which]
		switch {
		case b&6 == 0:
			h.InsertHead(x)
			*list = slices.Insert(*list, 0, id)
			return fmt.Sprintf("insert %d first in queue %d", id, which)
		case b&6 == 2 && len(*list) > 0:
			place := int(b>>3&1) % len(*list)
			items[(*list)[place]].link.InsertHead(x)
			*list = slices.Insert(*list, place+1, id)
			return fmt.Sprintf("insert %d at place %d of queue %d", id, place+1, which)
		}
		h.InsertTail(x)
		*list = append(*list, id)
		return fmt.Sprintf("insert %d last in queue %d", id, which)
	}

	if b&1 == 0 {
		x.Remove()
		m[which] = slices.Delete(m[which], at, at+1)
		return fmt.Sprintf("remove %d", id)
	}

	var rest queue.Queue
	heads[which].Split(x, &rest)
	heads[1-which].Add(&rest)
	m[1-which] = append(m[1-which], m[which][at:]...)
	m[which] = slices.Clone(m[which][:at])
	return fmt.Sprintf("move %d and all behind it to queue %d", id, 1-which)
}

// run runs a program and fails at the first step after which a queue differs
// from the model, printing the steps up to there.
func run(t *testing.T, program []byte) {
	var (
		heads [2]queue.Queue
		m     model
		steps strings.Builder
	)

	_, items := newQueue(programItems)
	for i := range heads {
		heads[i].Init()
	}
	for n, b := range program {
		fmt.Fprintf(&steps, "  %d. %s\n", n+1, step(&heads, items, &m, b))
		for i := range heads {
			if diff := check(&heads[i], m[i]); diff != "" {
				t.Fatalf("queue %d after these steps: %s\n%s", i, diff, steps.String())
			}
		}
	}
}

func TestRandomPrograms(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		program := make([]byte, 64)
		for i := range program {
			program[i] = byte(rng.Uint32())
		}
		run(t, program)
	}
}

func FuzzQueue(f *testing.F) { f.Fuzz(run) }
