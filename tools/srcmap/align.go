package main

// drift says what became of the statements of one function in another release.
type drift struct {
	to       []int // index in the other release, or -1: it vanished
	changed  []bool
	moved    []bool
	appeared []int // indices in the other release
}

// align finds the statements of a, by hash, among those of b. What lies
// between two statements that are the same in both counts as changed if it is
// as many statements; a statement that is elsewhere in b has moved.
func align(a, b []pin) drift {
	d := drift{to: same(a, b), changed: make([]bool, len(a)), moved: make([]bool, len(a))}
	used := make([]bool, len(b))
	for _, j := range d.to {
		if j >= 0 {
			used[j] = true
		}
	}
	d.findMoved(a, b, used)
	d.findChanged(used)
	for j := range b {
		if !used[j] {
			d.appeared = append(d.appeared, j)
		}
	}
	return d
}

// same returns, for each pin of a, the index of its equal in b in a longest
// sequence common to both, or -1.
func same(a, b []pin) []int {
	// length[i][j] is how long the common sequence of a[i:] and b[j:] is.
	length := make([][]int, len(a)+1)
	for i := range length {
		length[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i].hash == b[j].hash {
				length[i][j] = length[i+1][j+1] + 1
			} else {
				length[i][j] = max(length[i+1][j], length[i][j+1])
			}
		}
	}
	to := make([]int, len(a))
	for i, j := 0, 0; i < len(a); {
		switch {
		case j < len(b) && a[i].hash == b[j].hash:
			to[i] = j
			i, j = i+1, j+1
		case j < len(b) && length[i][j+1] > length[i+1][j]:
			j++
		default:
			to[i] = -1
			i++
		}
	}
	return to
}

func (d *drift) findMoved(a, b []pin, used []bool) {
	for i := range a {
		if d.to[i] >= 0 {
			continue
		}
		for j := range b {
			if !used[j] && a[i].hash == b[j].hash {
				d.to[i], d.moved[i], used[j] = j, true, true
				break
			}
		}
	}
}

// findChanged pairs what is left in gaps of the same size on both sides.
func (d *drift) findChanged(used []bool) {
	from := 0 // of the gap in the other release
	var gap []int
	for i := 0; i <= len(d.to); i++ {
		if i < len(d.to) && d.to[i] < 0 {
			gap = append(gap, i)
		}
		if i < len(d.to) && (d.to[i] < 0 || d.moved[i]) {
			continue
		}
		to := len(used)
		if i < len(d.to) {
			to = d.to[i]
		}
		d.pair(gap, from, to, used)
		gap, from = nil, to+1
	}
}

// pair makes the statements of gap those of the other release that are unused
// between from and to, if there are as many.
func (d *drift) pair(gap []int, from, to int, used []bool) {
	var free []int
	for j := from; j < to; j++ {
		if !used[j] {
			free = append(free, j)
		}
	}
	if len(free) != len(gap) {
		return
	}
	for n, i := range gap {
		d.to[i], d.changed[i], used[free[n]] = free[n], true, true
	}
}
