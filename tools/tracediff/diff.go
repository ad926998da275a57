package main

// pair is the place of a step in both sequences; -1 where it is not.
type pair struct{ a, b int }

// align puts two sequences side by side, with as many equal steps as can be.
func align(a, b []step) (pairs []pair) {
	// length[i][j] is how many steps a[i:] and b[j:] have in common.
	length := make([][]int32, len(a)+1)
	for i := range length {
		length[i] = make([]int32, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			length[i][j] = max(length[i+1][j], length[i][j+1])
			if a[i].text == b[j].text {
				length[i][j] = length[i+1][j+1] + 1
			}
		}
	}
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i].text == b[j].text:
			pairs = append(pairs, pair{i, j})
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && length[i+1][j] >= length[i][j+1]:
			pairs = append(pairs, pair{i, -1})
			i++
		default:
			pairs = append(pairs, pair{-1, j})
			j++
		}
	}
	return pairs
}

// differs reports whether the step is on one side only.
func (p pair) differs() bool { return p.a < 0 || p.b < 0 }
