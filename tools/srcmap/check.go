package main

import (
	"fmt"
	"maps"
	"slices"

	"herd/tools/srcmap/csrc"
	"herd/tools/srcmap/gutter"
)

// coverage counts the statements of a C function.
type coverage struct{ Mapped, Diverging, Omitted, Total int }

func (n *coverage) add(m coverage) {
	n.Mapped += m.Mapped
	n.Diverging += m.Diverging
	n.Omitted += m.Omitted
	n.Total += m.Total
}

func (n coverage) String() string {
	return fmt.Sprintf("%7d %8d %8d %6d", n.Mapped, n.Diverging, n.Omitted, n.Total)
}

// check proves the mapping and prints its coverage.
func (o *options) check() error {
	c, err := o.load()
	if err != nil {
		return err
	}
	findings := c.code.Findings
	var sum coverage
	fmt.Fprintf(o.stdout, "%-52s %7s %8s %8s %6s\n", "", "mapped", "diverge", "omitted", "total")
	for _, mi := range c.mirrors {
		n, bad := check(mi, c.pins.release, c.tree.release)
		findings = append(findings, bad...)
		fmt.Fprintf(o.stdout, "%-52s %s\n", mi.name(), n)
		sum.add(n)
	}
	findings = append(findings, c.lost(o.mapFile)...)
	fmt.Fprintf(o.stdout, "%-52s %s\n", fmt.Sprintf("%d functions of nginx %s", len(c.mirrors), c.tree.release), sum)
	for _, dir := range slices.Sorted(maps.Keys(c.code.Unnumbered)) {
		fmt.Fprintf(o.stdout, "%s: %d functions mirror nginx's, but not line by line\n", dir, c.code.Unnumbered[dir])
	}
	for _, f := range findings {
		fmt.Fprintln(o.stderr, f)
	}
	if len(findings) > 0 {
		return errFindings
	}
	return nil
}

// lost reports the functions of the map that nothing mirrors any more.
func (c *course) lost(mapFile string) []gutter.Finding {
	var list []gutter.Finding
	for _, ref := range slices.Sorted(maps.Keys(c.pins.funcs)) {
		if !slices.ContainsFunc(c.mirrors, func(mi *mirror) bool { return mi.ref.String() == ref }) {
			list = append(list, gutter.Finding{Path: mapFile, Line: 1,
				Text: fmt.Sprintf("nothing mirrors %s any more: if that is meant, run srcmap repin", ref)})
		}
	}
	return list
}

// check proves that mi's Go functions stand for its C function, statement by
// statement, and returns what is wrong with the proof.
func check(mi *mirror, pinned, release string) (coverage, []gutter.Finding) {
	k := &checker{mirror: mi, pinnedRelease: pinned, release: release, findings: mi.bad}
	if mi.c == nil {
		k.report(mi.gos[0], mi.gos[0].Line, "nginx %s has no %s in %s", release, mi.ref.Func, mi.ref.File)
		return coverage{}, k.findings
	}
	k.walkAll()
	k.parts()
	for _, fn := range mi.gos {
		k.siblings(fn)
	}
	return k.coverage(), k.findings
}

// checker walks over the Go functions of a mirror in the order in which C has
// their statements.
type checker struct {
	*mirror
	pinnedRelease, release string
	findings               []gutter.Finding
	walked                 map[*gutter.Func]bool
	stood                  map[int]bool // C statements that one of the right kind stands for
	last                   int          // the C statement that the walk has reached
	lastAt                 *gutter.Stmt // and the Go statement that stands for it
}

// frame is a Go statement whose body the walk is in.
type frame struct {
	s   *gutter.Stmt
	els bool
}

func (k *checker) report(fn *gutter.Func, line int, format string, args ...any) {
	k.findings = append(k.findings, gutter.Finding{Path: fn.Path, Line: line, Text: fmt.Sprintf(format, args...)})
}

func (k *checker) line(i int) int { return k.c.Stmts[i].Line }

// walkAll walks over the functions that no other one calls, and through the
// calls over the rest.
func (k *checker) walkAll() {
	k.walked = map[*gutter.Func]bool{}
	k.stood = map[int]bool{}
	for _, fn := range k.callersFirst() {
		if k.walked[fn] {
			continue
		}
		if !fn.Claims && len(k.gos) > 1 {
			k.report(fn, fn.Line, "nothing calls %s, a part of %s, where C has it", fn.Name, k.ref.Func)
		}
		k.last, k.lastAt = -1, nil
		k.walk(fn, nil, false)
	}
}

// walk checks the statements of fn. If it is called, in place of what C has in
// one function, the call is in the bodies outer.
func (k *checker) walk(fn *gutter.Func, outer []frame, called bool) {
	k.walked[fn] = true
	seam := map[int]bool{}
	for i := range fn.Stmts {
		s := &fn.Stmts[i]
		frames := slices.Concat(chain(fn, s), outer)
		helpers := k.helpers(fn, s)
		seam[i] = len(s.Ranges) == 0 && (len(helpers) > 0 || seam[s.Parent])
		if len(s.Ranges) > 0 {
			k.stmt(fn, s, frames)
		} else if !seam[i] && s.Diverges == "" && !needsNoNumber(fn, i, called) {
			k.report(fn, s.Line, "this stands for nothing in %s: end its line with the C line, or mark it DIVERGES: with the reason",
				k.ref.Func)
		}
		for _, h := range helpers {
			if !k.walked[h] {
				k.walk(h, frames, true)
			}
		}
	}
}

// needsNoNumber reports whether statement i of fn stands for what C does without
// a statement: run on into the next case, or go on after a part that is a
// function of its own, and called, here.
func needsNoNumber(fn *gutter.Func, i int, called bool) bool {
	s := &fn.Stmts[i]
	return s.Kind == gutter.Fall ||
		called && s.Kind == gutter.Return && s.Parent < 0 && i == len(fn.Stmts)-1
}

// chain returns the statements of fn whose bodies s is in, the innermost
// first.
func chain(fn *gutter.Func, s *gutter.Stmt) []frame {
	var frames []frame
	for s.Parent >= 0 {
		frames = append(frames, frame{&fn.Stmts[s.Parent], s.Else})
		s = &fn.Stmts[s.Parent]
	}
	return frames
}

// stmt checks one statement that has a number.
func (k *checker) stmt(fn *gutter.Func, s *gutter.Stmt, frames []frame) {
	for _, pin := range k.pinned[s] {
		if text := k.stale(pin, k.pinnedRelease, k.release); text != "" {
			k.report(fn, s.End, "%s", text)
		}
	}
	links := k.links[s]
	if len(links) == 0 || s.Diverges != "" {
		return
	}
	if links[0] < k.last {
		k.report(fn, s.Line, "out of order: it stands for C line %d, but line %d above stands for C line %d",
			k.line(links[0]), k.lastAt.Line, k.line(k.last))
	}
	if end := k.end(fn, s); end >= k.last {
		k.last, k.lastAt = end, s
	}
	var cs []*csrc.Stmt
	fits := k.kindFits(s, links, chain(fn, s))
	for _, i := range links {
		cs = append(cs, &k.c.Stmts[i])
		k.stood[i] = k.stood[i] || fits
	}
	if !fits && !slices.ContainsFunc(cs, func(c *csrc.Stmt) bool { return mayHelp(c.Kind, s.Kind) }) {
		k.report(fn, s.Line, "this is of the kind %q, and C line %d of the kind %q", s.Kind, cs[0].Line, cs[0].Kind)
		return
	}
	if text := disagree(s, cs); text != "" {
		k.report(fn, s.Line, "C line %d: %s", cs[0].Line, text)
	}
	if c := cs[0]; c.Kind == csrc.Case && s.Kind == gutter.Case && c.Falls != s.Falls {
		k.report(fn, s.Line, "C line %d: only one of the two cases runs on into the next", c.Line)
	}
	k.nesting(fn, s, frames)
}

// end returns the last C statement that comes before the body of s, if it has
// one: for i > 0 can stand for do and, after the body, its while.
func (k *checker) end(fn *gutter.Func, s *gutter.Stmt) int {
	links := k.links[s]
	if !fn.HasBody(s) {
		return links[len(links)-1]
	}
	end := links[0]
	for _, i := range links[1:] {
		if !hasBody(k.c, end) {
			end = i
		}
	}
	return end
}

// siblings looks for two neighbours in a block of which each reads like the
// C statement of the other: they were swapped, or their numbers were.
func (k *checker) siblings(fn *gutter.Func) {
	last := map[frameKey]*gutter.Stmt{}
	for i := range fn.Stmts {
		s := &fn.Stmts[i]
		key := frameKey{s.Parent, s.Else}
		prev := last[key]
		last[key] = s
		if prev == nil || s.Diverges != "" || prev.Diverges != "" || len(k.links[s]) == 0 || len(k.links[prev]) == 0 {
			continue
		}
		if !k.kindFits(prev, k.links[s], nil) || !k.kindFits(s, k.links[prev], nil) {
			continue
		}
		a, b := words(goTokens(prev.Text)), words(goTokens(s.Text))
		ca, cb := k.words(prev), k.words(s)
		if likeness(a, cb)+likeness(b, ca) > likeness(a, ca)+likeness(b, cb) {
			k.report(fn, s.Line, "this and line %d look swapped: each reads like the C statement of the other (lines %d and %d)",
				prev.Line, k.line(k.links[s][0]), k.line(k.links[prev][0]))
		}
	}
}

type frameKey struct {
	parent int
	els    bool
}

// words returns the words of the C statements that s stands for.
func (k *checker) words(s *gutter.Stmt) map[string]bool {
	var tokens []string
	for _, i := range k.links[s] {
		tokens = append(tokens, cTokens(&k.c.Stmts[i])...)
	}
	return words(tokens)
}

// parts compares the number of Go statements that stand for each C statement
// with the map: where there are several, one that is lost would not be missed.
func (k *checker) parts() {
	if k.isNew {
		return
	}
	count := make([]int, len(k.pins))
	at := make([]*gutter.Func, len(k.pins))
	line := make([]int, len(k.pins))
	for _, fn := range k.gos {
		for i := range fn.Stmts {
			for _, pin := range k.pinned[&fn.Stmts[i]] {
				count[pin]++
				at[pin], line[pin] = fn, fn.Stmts[i].Line
			}
		}
	}
	for pin, n := range count {
		if was := k.pins[pin].parts; n > 0 && n != was {
			k.report(at[pin], line[pin], "C line %d: %d Go statements stand for it, and %d do in the map: "+
				"if that is meant, run srcmap repin", k.pins[pin].lines.First, n, was)
		}
	}
}

// twin is a Go statement and the function that it is in.
type twin struct {
	fn *gutter.Func
	s  *gutter.Stmt
}

// coverage counts, and reports the C statements that nothing stands for, or
// not enough.
func (k *checker) coverage() coverage {
	twins := map[int]twin{}
	diverging := map[int]bool{}
	for _, fn := range k.gos {
		for i := range fn.Stmts {
			s := &fn.Stmts[i]
			for _, c := range k.links[s] {
				twins[c] = twin{fn, s}
				diverging[c] = diverging[c] || s.Diverges != ""
			}
		}
	}
	var n coverage
	var missing []int
	for i := range k.c.Stmts {
		if k.isImplied(i) {
			continue
		}
		n.Total++
		o, omitted := k.omitted[i]
		t, mapped := twins[i]
		if mapped {
			n.Mapped++
		}
		if diverging[i] {
			n.Diverging++
		}
		switch {
		case omitted && mapped:
			k.findings = append(k.findings, gutter.Finding{Path: o.path, Line: o.Line,
				Text: fmt.Sprintf("C line %d is not omitted: %s:%d stands for it", k.line(i), t.fn.Path, t.s.Line)})
		case omitted:
			n.Omitted++
		case !mapped:
			missing = append(missing, i)
		case !diverging[i] && !k.stood[i]:
			k.report(t.fn, t.s.Line, "this is of the kind %q, and can only be a part of C line %d, of the kind %q",
				t.s.Kind, k.line(i), k.c.Stmts[i].Kind)
		}
	}
	for _, r := range k.ranges(missing) {
		k.report(k.gos[0], k.gos[0].Line, "nothing stands for C %s: mirror it, or declare //nginx:omit %s REASON", inLines(r), r)
	}
	return n
}
