package rbtree

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unsafe"
)

// timer has a field on each side of its node, so that a wrong offset shows.
type timer struct {
	_    uint64
	node Node
	id   int
}

func idOf(n *Node) int { return Data[timer](n, unsafe.Offsetof(timer{}.node)).id }

// newTree returns an empty tree and n timers that are not in it.
func newTree(n int, insert InsertFunc) (*Tree, []timer) {
	tree := new(Tree)
	tree.Init(new(Node), insert)
	timers := make([]timer, n)
	for i := range timers {
		timers[i].id = i
	}
	return tree, timers
}

// add inserts timers in order, with these keys.
func add(tree *Tree, timers []timer, keys ...Key) {
	for i, key := range keys {
		timers[i].node.Key = key
		tree.Insert(&timers[i].node)
	}
}

// inOrder returns the ids from the leftmost node on, by Min and Next.
func inOrder(tree *Tree) []int {
	var ids []int
	if tree.Root == tree.Sentinel {
		return ids
	}
	for n := Min(tree.Root, tree.Sentinel); n != nil; n = tree.Next(n) {
		ids = append(ids, idOf(n))
	}
	return ids
}

// broken returns the first red-black rule that tree breaks, or "".
func broken(tree *Tree) string {
	switch {
	case tree.Sentinel.red:
		return "the sentinel is red"
	case tree.Root.red:
		return "the root is red"
	}
	_, rule := blackHeight(tree, tree.Root)
	return rule
}

// blackHeight returns how many black nodes each path from n down meets, and
// the first rule broken below n, or "".
func blackHeight(tree *Tree, n *Node) (height int, rule string) {
	if n == tree.Sentinel {
		return 1, ""
	}
	for _, child := range []*Node{n.left, n.right} {
		if child != tree.Sentinel && child.parent != n {
			return 0, fmt.Sprintf("timer %d is not its child's parent", idOf(n))
		}
		if n.red && child.red {
			return 0, fmt.Sprintf("timer %d is red and has a red child", idOf(n))
		}
	}
	left, rule := blackHeight(tree, n.left)
	if rule != "" {
		return 0, rule
	}
	right, rule := blackHeight(tree, n.right)
	if rule == "" && left != right {
		rule = fmt.Sprintf("black height %d left of timer %d, %d right", left, idOf(n), right)
	}
	if !n.red {
		left++
	}
	return left, rule
}

func TestEqualKeysStayInInsertionOrder(t *testing.T) {
	for _, insert := range []InsertFunc{InsertValue, InsertTimerValue} {
		tree, timers := newTree(9, insert)
		add(tree, timers, 5, 7, 5, 3, 5, 7, 5, 3, 5)
		if got, want := inOrder(tree), []int{3, 7, 0, 2, 4, 6, 8, 1, 5}; !slices.Equal(got, want) {
			t.Errorf("order %v, want %v", got, want)
		}
	}
}

// A clock that has just wrapped is small, and later than one about to.
func TestTimersKeepTheirOrderAcrossTheWrap(t *testing.T) {
	keys := []Key{2, math.MaxUint64 - 1, 0, math.MaxUint64, 1, math.MaxUint64 - 2}

	tree, timers := newTree(len(keys), InsertTimerValue)
	add(tree, timers, keys...)
	if got, want := inOrder(tree), []int{5, 1, 3, 2, 4, 0}; !slices.Equal(got, want) {
		t.Errorf("InsertTimerValue: order %v, want %v", got, want)
	}

	tree, timers = newTree(len(keys), InsertValue)
	add(tree, timers, keys...)
	if got, want := inOrder(tree), []int{2, 4, 0, 5, 1, 3}; !slices.Equal(got, want) {
		t.Errorf("InsertValue, which knows no wrap: order %v, want %v", got, want)
	}
}

func TestDeleteTwicePanics(t *testing.T) {
	tree, timers := newTree(3, InsertValue)
	add(tree, timers, 1, 2, 3)
	tree.Delete(&timers[2].node)
	defer func() {
		if recover() == nil {
			t.Error("the second Delete did not panic")
		}
		if got, want := inOrder(tree), []int{0, 1}; !slices.Equal(got, want) {
			t.Errorf("the second Delete changed the tree: %v, want %v", got, want)
		}
	}()
	tree.Delete(&timers[2].node)
}

func TestDeleteClearsTheNode(t *testing.T) {
	tree, timers := newTree(4, InsertValue)
	add(tree, timers, 2, 1, 3, 4)
	for _, i := range []int{1, 0, 3, 2} { // a leaf, an inner node, a leaf, the root
		n := &timers[i].node
		tree.Delete(n)
		if n.left != nil || n.right != nil || n.parent != nil || n.Key != 0 {
			t.Errorf("timer %d keeps a link or its key: %+v", i, *n)
		}
	}
}

func TestNoAllocation(t *testing.T) {
	tree, timers := newTree(8, InsertTimerValue)
	n := testing.AllocsPerRun(100, func() {
		add(tree, timers, 4, 2, 6, 1, 3, 5, 7, 8)
		for i := range timers {
			tree.Delete(&timers[i].node)
		}
	})
	if n != 0 {
		t.Errorf("%v allocations for 8 inserts and deletes", n)
	}
}

// A program is a list of byte pairs. The first byte names one of 64 timers:
// it is deleted if it is in the tree, else inserted with the second byte as
// its distance from base.
const programTimers = 64

// run runs a program with one order and fails at the first step after which
// the tree breaks a rule or differs from a sorted list, printing the steps up
// to there.
func run(t *testing.T, insert InsertFunc, base uint64, program []byte) {
	var (
		want  []int // ids in the order the tree must have
		steps strings.Builder
	)

	tree, timers := newTree(programTimers, insert)
	after := make([]int, programTimers) // distance from base
	for i := 1; len(program) >= 2; i++ {
		id, distance := int(program[0]%programTimers), int(program[1])
		program = program[2:]
		n := &timers[id].node
		if at := slices.Index(want, id); at >= 0 {
			fmt.Fprintf(&steps, "  %d. delete %d\n", i, id)
			tree.Delete(n)
			want = slices.Delete(want, at, at+1)
		} else {
			n.Key = Key(base + uint64(distance))
			fmt.Fprintf(&steps, "  %d. insert %d with key %d\n", i, id, n.Key)
			tree.Insert(n)
			after[id] = distance
			want = append(want, id)
			slices.SortStableFunc(want, func(a, b int) int { return after[a] - after[b] })
		}

		if rule := broken(tree); rule != "" {
			t.Fatalf("after these steps: %s\n%s", rule, steps.String())
		}
		if got := inOrder(tree); !slices.Equal(got, want) {
			t.Fatalf("after these steps: order %v, want %v\n%s", got, want, steps.String())
		}
	}
}

// runBoth runs a program with timers that count from base, and with plain
// keys.
func runBoth(t *testing.T, base uint64, program []byte) {
	run(t, InsertTimerValue, base, program)
	run(t, InsertValue, 0, program)
}

// Among 3 timers the root is often the one deleted; 64 make a tree in which
// every rotation happens.
func TestRandomProgramsNearTheWrap(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 60 {
		for _, timers := range []int{3, programTimers} {
			var program []byte
			for range 600 {
				program = append(program, byte(rng.IntN(timers)), byte(rng.IntN(256)))
			}
			runBoth(t, uint64(i)-128, program) // the wrap lies inside the 256 keys
		}
	}
}

func FuzzTree(f *testing.F) { f.Fuzz(runBoth) }

// BenchmarkRearm is what a busy connection does to its timer: delete it and
// insert it with a later expiry, among 10,000 others.
func BenchmarkRearm(b *testing.B) {
	const n = 10000

	rng := rand.New(rand.NewPCG(1, 2))
	tree, timers := newTree(n, InsertTimerValue)
	for i := range timers {
		timers[i].node.Key = Key(rng.Uint64N(60000))
		tree.Insert(&timers[i].node)
	}
	now := Key(0)
	for b.Loop() {
		node := &timers[now*7919%n].node
		tree.Delete(node)
		now++
		node.Key = now + 60000
		tree.Insert(node)
	}
}
