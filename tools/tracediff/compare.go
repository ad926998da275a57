package main

// comparison is what one process of nginx and its twin of nginxref did.
type comparison struct {
	name      string
	a, b      []step
	pairs     []pair
	explained map[*divergence]int
	share     share
}

// share counts the steps of both sides.
type share struct {
	steps, aligned, explained, unexplained int
}

func (s *share) add(o share) {
	s.steps += o.steps
	s.aligned += o.aligned
	s.explained += o.explained
	s.unexplained += o.unexplained
}

func (s share) percent() float64 {
	if s.steps == 0 {
		return 0
	}
	return 100 * float64(s.aligned) / float64(s.steps)
}

// compare matches the processes by name and compares the steps of each.
func compare(nginx, nginxref []trace) (list []comparison) {
	twins := map[string][]step{}
	for _, t := range nginxref {
		twins[t.name] = t.steps
	}
	for _, t := range nginx {
		list = append(list, newComparison(t.name, t.steps, twins[t.name]))
		delete(twins, t.name)
	}
	for _, t := range nginxref {
		if steps, left := twins[t.name]; left {
			list = append(list, newComparison(t.name, nil, steps))
		}
	}
	return list
}

func newComparison(name string, a, b []step) comparison {
	c := comparison{name: name, explained: map[*divergence]int{}}
	c.share.steps = len(a) + len(b)
	for _, p := range align(a, b) {
		if !p.differs() {
			c.share.aligned += 2
		}
	}
	c.a, c.b = explain(a, b, c.explained)
	c.pairs = align(c.a, c.b)
	for _, p := range c.pairs {
		if p.differs() {
			c.share.unexplained++
		}
	}
	c.share.explained = c.share.steps - c.share.aligned - c.share.unexplained
	return c
}
