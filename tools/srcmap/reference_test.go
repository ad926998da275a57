package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"herd/tools/srcmap/gutter"
)

// nginx reads the reference beside the source tree in NGINX_SRC, or skips the
// test.
func nginx(t *testing.T) *course {
	t.Helper()
	dir := os.Getenv("NGINX_SRC")
	if dir == "" {
		t.Skip("NGINX_SRC names no nginx source tree: nothing is proved against the real code")
	}
	o := &options{src: dir, goDir: "../../nginxref", mapFile: "map.txt"}
	c, err := o.load()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// mirrored lists C files of which every function is mirrored, but for some.
var mirrored = map[string][]string{
	"src/event/ngx_event_posted.c": nil,
	"src/event/ngx_event_posted.h": nil,
	"src/event/ngx_event_timer.c":  nil,
	"src/event/ngx_event_timer.h":  nil,
	"src/core/ngx_shmtx.c":         nil,
	"src/core/ngx_queue.h":         nil,
	"src/core/ngx_rbtree.c":        nil,
	"src/os/unix/ngx_channel.c":    nil,
	// debug_connection is the configuration's, in package main.
	"src/event/ngx_event_accept.c": {"ngx_debug_accepted_connection"},
	"src/event/modules/ngx_epoll_module.c": {
		"ngx_epoll_aio_init", "ngx_epoll_eventfd_handler", "ngx_epoll_test_rdhup",
		"ngx_epoll_create_conf", "ngx_epoll_init_conf",
	},
	"src/os/unix/ngx_process.c": nil,
	"src/os/unix/ngx_process_cycle.c": {
		"ngx_start_cache_manager_processes", "ngx_cache_manager_process_cycle",
		"ngx_cache_manager_process_handler", "ngx_cache_loader_process_handler",
	},
}

// definition matches the name in a definition as nginx writes it.
var definition = regexp.MustCompile(`(?m)^(?:#define )?(ngx_\w+)\(`)

func TestEveryFunctionOfTheseFilesIsMirrored(t *testing.T) {
	c := nginx(t)
	for file, without := range mirrored {
		src, err := os.ReadFile(filepath.Join(c.tree.dir, file))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range definition.FindAllSubmatch(src, -1) {
			name := string(m[1])
			if slices.Contains(without, name) == isMirrored(c, file, name) {
				t.Errorf("%s: %s: mirrored is %v", file, name, isMirrored(c, file, name))
			}
		}
	}
}

func isMirrored(c *course, file, name string) bool {
	return slices.ContainsFunc(c.mirrors, func(mi *mirror) bool {
		return mi.ref.File == file && mi.ref.Func == name
	})
}

func TestTheReferenceIsProved(t *testing.T) {
	c := nginx(t)
	if c.tree.release != c.pins.release {
		t.Skipf("NGINX_SRC is release %s, the numbers are those of %s", c.tree.release, c.pins.release)
	}
	findings := c.code.Findings
	for _, mi := range c.mirrors {
		n, bad := check(mi, c.pins.release, c.tree.release)
		findings = append(findings, bad...)
		if n.Mapped+n.Omitted != n.Total {
			t.Errorf("%s: %d of %d statements mapped, %d omitted", mi.name(), n.Mapped, n.Total, n.Omitted)
		}
	}
	for _, f := range append(findings, c.lost("map.txt")...) {
		t.Error(f)
	}
}

// Without the C source, the numbers are still held to the map.
func TestNumbersAgreeWithTheMap(t *testing.T) {
	pins, err := readPins("map.txt")
	if err != nil {
		t.Fatal(err)
	}
	code, err := gutter.Load("../../nginxref")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range code.Findings {
		t.Error(f)
	}
	starts := map[string]map[int]int{} // by C function and line: Go statements
	for _, fn := range code.Funcs {
		ref := fn.Ref.String()
		if starts[ref] == nil {
			starts[ref] = map[int]int{}
		}
		for i := range fn.Stmts {
			for _, p := range pins.funcs[ref] {
				if slices.ContainsFunc(fn.Stmts[i].Ranges, func(r gutter.Range) bool { return r.Contains(p.lines.First) }) {
					starts[ref][p.lines.First]++
				}
			}
		}
	}
	for ref, list := range pins.funcs {
		for _, p := range list {
			if got := starts[ref][p.lines.First]; got != p.parts {
				t.Errorf("%s: %d Go statements name line %d, %d in the map", ref, got, p.lines.First, p.parts)
			}
		}
	}
	if len(starts) != len(pins.funcs) {
		t.Errorf("%d functions are mirrored, %d in the map", len(starts), len(pins.funcs))
	}
}

// mutation is a way to break a mirrored function.
type mutation struct {
	name string
	// apply returns the file with the statements at i and j, neighbours in a
	// block, spoiled, or nil if it cannot be done to them.
	apply func(src []byte, fn *gutter.Func, i, j int) []byte
}

// lineRange returns where in src the lines first to last begin and end.
func lineRange(src []byte, first, last int) (from, to int) {
	lines := bytes.SplitAfter(src, []byte("\n"))
	for n, l := range lines {
		if n+1 < first {
			from += len(l)
		}
		if n+1 <= last {
			to += len(l)
		}
	}
	return from, to
}

// plain reports whether s is one that nothing excuses.
func plain(s *gutter.Stmt) bool {
	return s.Kind == gutter.Simple && s.Ranges != nil && s.Diverges == ""
}

const swapText = "swap the text"

var mutations = []mutation{
	{"delete", func(src []byte, fn *gutter.Func, i, _ int) []byte {
		s := &fn.Stmts[i]
		if s.Kind != gutter.Simple && s.Kind != gutter.Return || s.Ranges == nil {
			return nil
		}
		from, to := lineRange(src, s.Line, s.End)
		return slices.Concat(src[:from], src[to:])
	}},
	{"swap", func(src []byte, fn *gutter.Func, i, j int) []byte {
		if j < 0 || !plain(&fn.Stmts[i]) || !plain(&fn.Stmts[j]) || fn.Stmts[i].Ranges[0] == fn.Stmts[j].Ranges[0] {
			return nil
		}
		a, b := lineRange(src, fn.Stmts[i].Line, fn.Stmts[i].End)
		c, d := lineRange(src, fn.Stmts[j].Line, fn.Stmts[j].End)
		return slices.Concat(src[:a], src[c:d], src[b:c], src[a:b], src[d:])
	}},
	{swapText, func(src []byte, fn *gutter.Func, i, j int) []byte {
		if j < 0 || !plain(&fn.Stmts[i]) || !plain(&fn.Stmts[j]) || fn.Stmts[i].Ranges[0] == fn.Stmts[j].Ranges[0] {
			return nil
		}
		s, u := &fn.Stmts[i], &fn.Stmts[j]
		a, b := lineRange(src, s.Line, s.End)
		c, d := lineRange(src, u.Line, u.End)
		one := strings.Replace(string(src[a:b]), s.Text, u.Text, 1)
		two := strings.Replace(string(src[c:d]), u.Text, s.Text, 1)
		return slices.Concat(src[:a], []byte(one), src[b:c], []byte(two), src[d:])
	}},
	{"give the next number", func(src []byte, fn *gutter.Func, i, j int) []byte {
		if j < 0 || fn.Stmts[i].Ranges == nil || fn.Stmts[j].Ranges == nil ||
			fn.Stmts[i].Ranges[0] == fn.Stmts[j].Ranges[0] {
			return nil
		}
		s, u := &fn.Stmts[i], &fn.Stmts[j]
		return slices.Concat(src[:s.Pos], src[u.Pos:u.Pos+u.Len], src[s.Pos+s.Len:])
	}},
}

// Whatever is done to a statement of the reference, check finds fault with it.
// It knows statements by their numbers; that two were swapped behind their
// numbers it can only tell from what they read like, and may miss.
func TestMutationsOfTheReference(t *testing.T) {
	c := nginx(t)
	tried, missed := map[string]int{}, map[string]int{}
	for _, fn := range c.code.Funcs {
		src, err := os.ReadFile(fn.Path)
		if err != nil {
			t.Fatal(err)
		}
		for i := range fn.Stmts {
			for _, m := range mutations {
				bad := m.apply(src, fn, i, sibling(fn, i))
				if bad == nil {
					continue
				}
				tried[m.name]++
				if spoiled(t, c, fn, bad) {
					continue
				}
				missed[m.name]++
				if m.name != swapText {
					t.Errorf("%s: not found at %s:%d", m.name, fn.Path, fn.Stmts[i].Line)
				}
			}
		}
	}
	t.Logf("tried %v, missed %v", tried, missed)
	if missed[swapText]*50 > tried[swapText] {
		t.Errorf("%s: missed %d of %d, want at most 2 %%", swapText, missed[swapText], tried[swapText])
	}
}

// sibling returns the next statement in the same block as statement i, or -1.
func sibling(fn *gutter.Func, i int) int {
	for j := i + 1; j < len(fn.Stmts); j++ {
		if fn.Stmts[j].Parent == fn.Stmts[i].Parent && fn.Stmts[j].Else == fn.Stmts[i].Else {
			return j
		}
	}
	return -1
}

// spoiled reports whether check finds fault with fn's C function once fn's
// file reads src.
func spoiled(t *testing.T, c *course, fn *gutter.Func, src []byte) bool {
	t.Helper()
	changed := &gutter.Code{Unnumbered: map[string]int{}}
	if err := changed.Parse(fn.Path, src); err != nil {
		return true // the compiler sees to it
	}
	var funcs []*gutter.Func
	for _, f := range slices.Concat(changed.Funcs, c.code.Funcs) {
		if f.Ref.String() == fn.Ref.String() && (f.Path != fn.Path || slices.Contains(changed.Funcs, f)) {
			funcs = append(funcs, f)
		}
	}
	list, err := mirrors(funcs, c.pins, c.tree)
	if err != nil {
		t.Fatal(err)
	}
	if len(list) == 0 {
		return true // the map still has the function
	}
	_, findings := check(list[0], c.pins.release, c.tree.release)
	return len(changed.Findings)+len(findings) > 0
}
