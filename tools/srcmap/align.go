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
	from := 0 // what follows the last statement that is in its place
	for i := 0; i < len(d.to); i++ {
		if d.to[i] >= 0 {
			if !d.moved[i] {
				from = d.to[i] + 1
			}
			continue
		}
		end := i
		for end < len(d.to) && d.to[end] < 0 {
			end++
		}
		to := from
		for to < len(used) && !used[to] {
			to++
		}
		if to-from == end-i {
			for ; i < end; i, from = i+1, from+1 {
				d.to[i], d.changed[i], used[from] = from, true, true
			}
		}
		i = end - 1
	}
}
