package main

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// top is the tree that the book is about.
const top = "../.."

// The book of this tree has no problem. This is what keeps chapters, code and
// recorded runs together.
func TestBookHasNoProblem(t *testing.T) {
	b, err := build(top)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range b.problems {
		t.Error(p)
	}
}

var (
	hrefs = regexp.MustCompile(`(?:href|src)="([^"]*)"`)
	ids   = regexp.MustCompile(` id="([^"]*)"`)
)

// Whatever a page of the site leads to is in the site, and needs no network.
func TestSiteLeadsNowhereElse(t *testing.T) {
	b, err := build(top)
	if err != nil {
		t.Fatal(err)
	}
	site, err := b.files()
	if err != nil {
		t.Fatal(err)
	}
	anchors := map[string]bool{}
	for name, text := range site {
		for _, m := range ids.FindAllSubmatch(text, -1) {
			anchors[name+"#"+string(m[1])] = true
		}
	}
	for name, text := range site {
		if path.Ext(name) != ".html" {
			continue
		}
		for _, m := range hrefs.FindAllSubmatch(text, -1) {
			to := string(m[1])
			if strings.HasPrefix(to, "https://") || strings.HasPrefix(to, "http://") || to == "data:," {
				continue
			}
			file, anchor, hasAnchor := strings.Cut(to, "#")
			target := path.Join(path.Dir(name), file)
			if file == "" {
				target = name
			}
			if site[target] == nil || hasAnchor && !anchors[target+"#"+anchor] {
				t.Errorf("%s leads to %s, which is not in the site", name, to)
			}
		}
		if m := regexp.MustCompile(`(?:src|rel="stylesheet" href)="http`).Find(text); m != nil {
			t.Errorf("%s loads something from the network: %s", name, m)
		}
	}
}

// fixture copies the tree of testdata, so that a test can break it.
func fixture(t *testing.T) (root string) {
	t.Helper()
	t.Setenv("NGINX_SRC", "")
	root = t.TempDir()
	if err := os.CopyFS(root, os.DirFS("testdata/tree")); err != nil {
		t.Fatal(err)
	}
	return root
}

// change replaces old by new in a file of the tree; empty new content for old
// "" deletes the file.
func change(t *testing.T, root, file, old, new string) {
	t.Helper()
	name := filepath.Join(root, file)
	text, err := os.ReadFile(name)
	if err != nil && old != "" {
		t.Fatal(err)
	}
	switch {
	case old == "" && new == "":
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
		return
	case old == "":
		text = []byte(new)
	case !strings.Contains(string(text), old):
		t.Fatalf("%s has no %q", file, old)
	default:
		text = []byte(strings.Replace(string(text), old, new, 1))
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, text, 0o644); err != nil {
		t.Fatal(err)
	}
}

// problemsOf builds the fixture.
func problemsOf(t *testing.T, root string) (list []string) {
	t.Helper()
	b, err := build(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range b.problems {
		list = append(list, p.String())
	}
	return list
}

func TestFixtureHasNoProblem(t *testing.T) {
	if list := problemsOf(t, fixture(t)); list != nil {
		t.Errorf("%q", list)
	}
}

const lamp = "chapters/01-lamp.md"

// Each way to break a book is found, where it is, and with what to do. at is
// text on the line, in the broken file, that the problem names; "" is line 1.
func TestEachBreachIsFound(t *testing.T) {
	for _, c := range []struct {
		name           string
		file, old, new string
		in, at         string
		want           string
	}{
		{"unknown directive", lamp, "{{output", "{{outptu", lamp, "{{outptu", "no directive {{outptu}}; there are go, "},
		{"directive in a sentence", lamp, "{{output lamp.txt 1-1}}", "see {{output lamp.txt}} there", lamp, "see {{", "a directive {{...}} stands on a line of its own"},
		{"unknown C function", lamp, "{{twin ngx_lamp_switch}}", "{{twin ngx_lamp_swich}}", lamp, "swich", "no Go function mirrors ngx_lamp_swich"},
		{"C function that the map lost", "tools/srcmap/map.txt", "ngx_lamp_switch", "ngx_lamp_turn", lamp, "{{twin ngx_lamp_switch}}", "no C name ngx_lamp_switch in tools/srcmap/map.txt"},
		{"C lines without a twin", lamp, "12-14}}", "90-99}}", lamp, "90-99", "no statement of Lamp.Switch stands for the C lines 90-99"},
		{"C lines of what has no gutter", lamp, "ngx_lamp_color}}", "ngx_lamp_color 30-31}}", lamp, "30-31", "Lamp.Color does not mirror line by line"},
		{"Go twin that mirrors no more", "nginxref/lamp/lamp.go", "Mirrors ngx_lamp_color", "Mirrors nothing", lamp, "{{twin ngx_lamp_color", "no Go function mirrors ngx_lamp_color"},
		{"unknown C word", lamp, "`ngx_lamp_switch`", "`ngx_lamp_on`", lamp, "`ngx_lamp_on`", "no C name ngx_lamp_on"},
		{"unknown C link", lamp, "(c:ngx_lamp_color)", "(c:ngx_lamp_colour)", lamp, "(c:ngx", "no C name ngx_lamp_colour"},
		{"unknown C file", lamp, "`src/core/lamp.c`", "`src/core/bulb.c`", lamp, "bulb.c", "no C file src/core/bulb.c"},
		{"malformed C name", "chapters/c-names.txt", "30-40", "30", "chapters/c-names.txt", "src/", "a line is FILE FIRST-LAST NAME"},
		{"C name that the map has", "chapters/c-names.txt", "ngx_lamp_color", "ngx_lamp_switch", "chapters/c-names.txt", "src/", "ngx_lamp_switch is known already"},

		{"unknown Go name", lamp, "lamp Lamp doc", "lamp Bulb doc", lamp, "Bulb", "nginxref/lamp has no Bulb"},
		{"unknown Go package", lamp, "{{go nginxref/lamp", "{{go nginxref/bulb", lamp, "bulb", "nginxref/bulb is no Go package of this tree"},
		{"Go name renamed", "nginxref/lamp/lamp.go", ") Switch()", ") Turn()", lamp, "Lamp.Switch", "nginxref/lamp has no Lamp.Switch"},
		{"no Go name", lamp, "go:nginxref/lamp.Lamp.Switch", "go:nginxref/lamp", lamp, "(go:nginxref/lamp)", "go:nginxref/lamp is no Go name"},
		{"test renamed", "nginxref/lamp/lamp_test.go", "TestLampIsSwitched", "TestBulbIsSwitched", lamp, "{{topology", "nginxref/lamp has no TestLampIsSwitched"},
		{"test without a drawing", lamp, "{{topology nginxref/lamp TestLampIsSwitched", "{{topology nginxref/lamp TestLampIsPlain", lamp, "{{topology", "the comment of TestLampIsPlain has no drawing"},
		{"command of no test", lamp, "-run 'TestLampIs'", "-run 'TestBulbIs'", lamp, "TestBulbIs", "no test in nginxref/lamp matches -run TestBulbIs"},
		{"command of no package", lamp, "`go run ./tools/lamp`", "`go run ./tools/bulb`", lamp, "bulb", `"go run ./tools/bulb": there is no Go package tools/bulb`},
		{"command of no test in a handout", handout, "-run TestLamp", "-run TestBulb", handout, "TestBulb", "no test in nginxref/lamp matches"},
		{"file that is not there", handout, "lamp/lamp.go`", "lamp/bulb.go`", handout, "bulb.go", "there is no nginxref/lamp/bulb.go"},

		{"region missing", "nginxref/lamp/lamp.go", "book:color", "book:colour", lamp, "{{region", "nginxref/lamp/lamp.go has no region color: mark it by // book:color"},
		{"region that nobody shows", lamp, "{{region nginxref/lamp/lamp.go color}}", "", "nginxref/lamp/lamp.go", "book:color", "no chapter shows this region"},
		{"region without an end", "nginxref/lamp/lamp.go", "// book:end", "//", "nginxref/lamp/lamp.go", "book:color", "the region has no end"},
		{"end without a region", "nginxref/lamp/lamp.go", "// book:color", "//", "nginxref/lamp/lamp.go", "book:end", "// book:end ends no region"},
		{"region in a region", "nginxref/lamp/lamp.go", "return \"white\"", "// book:inner", "nginxref/lamp/lamp.go", "inner", "a region in a region"},

		{"run missing", "chapters/runs/lamp.txt", "", "", lamp, "{{output", "no recorded run chapters/runs/lamp.txt; record it: go run ./tools/book record lamp.txt"},
		{"run without a command", "chapters/runs/lamp.txt", "$ go", "go", lamp, "{{output", "chapters/runs/lamp.txt: it names no command"},
		{"JSON without a command", "chapters/runs/lamp.json", "command", "commando", lamp, "{{table", `chapters/runs/lamp.json: it has no "command"`},
		{"lines that were not printed", lamp, "lamp.txt 1-1", "lamp.txt 1-9", lamp, "{{output", "lamp.txt printed 2 lines: there are no lines 1-9"},
		{"number that the run no longer says", "chapters/runs/lamp.json", "8.005", "7.4", lamp, "[8.01]", `lamp.json says 7.40, the text "8.01"`},
		{"number with a unit", "chapters/runs/lamp.json", "712", "1812", lamp, "[0.71 ms]", `lamp.json says 1.81 ms, the text "0.71 ms"`},
		{"percentage", "chapters/runs/lamp.json", "0.29", "0.4", lamp, "[29 %]", `lamp.json says 40 %, the text "29 %"`},
		{"share", "chapters/runs/lamp.json", "6 ]", "7 ]", lamp, "[6]", `lamp.json says 7, the text "6"`},
		{"word of a text", "chapters/runs/lamp.txt", "17 6", "18 6", lamp, "[17]", `lamp.txt has no line with "shares" and "17"`},
		{"run of a fix that was not measured", lamp, "none@20/shares/max", "et@20/shares/max", lamp, "et@20", `lamp.json: et@20/shares/max: no run is "et@20"`},
		{"field of a run", lamp, "wakeups_per_conn shares}}", "wakeups shares}}", lamp, "{{table", `lamp.json: none@20,workers=8/wakeups: no "wakeups"; there are fix, `},

		{"figure's source changed", "chapters/figures/lamp.dot", "wire", "cable", lamp, "![A wire", "lamp.svg was drawn from another lamp.dot; draw it again: go run ./tools/book figure lamp"},
		{"figure not drawn", "chapters/figures/lamp.svg", "", "", lamp, "![A wire", "no chapters/figures/lamp.svg; draw it"},
		{"figure without a source", "chapters/figures/lamp.dot", "", "", lamp, "![A wire", "no chapters/figures/lamp.dot; write it"},
		{"figure that nobody shows", "chapters/figures/bulb.dot", "", "digraph {}", "chapters/figures/bulb.dot", none, "no page shows this figure"},
		{"another image", lamp, "figures/lamp.svg", "figures/lamp.png", lamp, "lamp.png", "an image is a figure, figures/NAME.svg"},

		{"dead link", lamp, "../labs/lab01-lamp/README.md#", "../labs/lab01-bulb/README.md#", lamp, "lab01-bulb", "dead link: there is no labs/lab01-bulb/README.md"},
		{"dead anchor", lamp, "#lab-01-the-lamp", "#lab-02", lamp, "#lab-02", "labs/lab01-lamp/README.md has no heading #lab-02; there are lab-01-the-lamp"},
		{"dead anchor in the page", lamp, "(#the-switch)", "(#the-bulb)", lamp, "#the-bulb", "chapters/01-lamp.md has no heading #the-bulb"},
		{"link out of the tree", lamp, "(#the-switch)", "(../../elsewhere)", lamp, "elsewhere", "dead link"},
		{"chapter that the front page lacks", "chapters/README.md", "[The lamp](01-lamp.md)", "The lamp", lamp, "", "the front page does not lead to this chapter"},
		{"HTML", lamp, "- Nothing.", "- <b>Nothing</b>.", lamp, "<b>", "HTML in a sentence is not taken"},
		{"block of HTML", lamp, "<details>\n<summary>Is it off?", "<div>\n<summary>Is it off?", lamp, "<div>", "of HTML only <details>"},
		{"unknown name in a folded question", lamp, "Is `Lamp` on?", "Is `ngx_bulb` on?", lamp, "ngx_bulb", "no C name ngx_bulb"},
		{"pasted code", lamp, "- Nothing.", "```go\nx := 1\n```", lamp, "```go", "code is not pasted"},

		{"no title", lamp, "# The lamp\n", "", lamp, "", "a page begins with its title"},
		{"no question", lamp, "> Is it on?", "It is on.", lamp, "", "the chapter has no question"},
		{"no question mark", lamp, "> Is it on?", "> It is on.", lamp, "", "the chapter has no question"},
		{"no figure", lamp, "![A wire and a lamp.](figures/lamp.svg)", "", lamp, "", "the chapter has no figure"},
		{"no surprises", lamp, "- Nothing.", "", lamp, "", "the chapter has no section ## What surprises people"},
		{"sections in another order", lamp, "## The lab", "## A lab", lamp, "", "a chapter ends with the sections ## What surprises people, ## Check yourself, ## The lab"},
		{"too few answers", lamp, "<details>\n<summary>Is it off?</summary>\n\nNo.\n\n</details>\n", "", lamp, "", "2 folded answers"},
		{"question without an answer", lamp, "\nNo.\n\n</details>", "</details>", lamp, "", "2 folded answers"},
		{"unmentioned lab", "labs/lab03-bulb/README.md", "", "# Lab 03\n", "labs/lab03-bulb/README.md", "", "no chapter mentions lab03-bulb"},
		{"unknown lab", lamp, "`lab02-more`", "`lab02-mode`", lamp, "lab02-mode", "there is no labs/lab02-mode"},
		{"chapter's name", "chapters/03-Bulb.md", "", "# Bulb\n", "chapters/03-Bulb.md", "", "a chapter's file is called NN-name.md"},

		{"claim without a test", lamp, "> **Test.** `go run ./tools/lamp`\n>\n", "", lamp, "**Claim.**", "a claim has no **Test.**"},
		{"claim without a verdict", lamp, "> **Verdict.** No.", "> No.", lamp, "**Claim.**", "a claim has no **Verdict.**"},
		{"claim whose test is no command", lamp, "`go run ./tools/lamp`", "look at it", lamp, "look at it", "the claim's test is no command"},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := fixture(t)
			change(t, root, c.file, c.old, c.new)
			want := c.in + ": " + c.want
			if c.at != none {
				want = fmt.Sprintf("%s:%d: %s", c.in, lineOf(t, root, c.in, c.at), c.want)
			}
			list := problemsOf(t, root)
			if !slices.ContainsFunc(list, func(p string) bool { return strings.HasPrefix(p, want) }) {
				t.Errorf("want %q; found %q", want, list)
			}
		})
	}
}

const (
	handout = "labs/lab01-lamp/README.md"
	none    = "no line"
)

// lineOf returns the first line of a file that holds text.
func lineOf(t *testing.T, root, file, text string) int {
	t.Helper()
	all, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	before, _, found := strings.Cut(string(all), text)
	if !found {
		t.Fatalf("%s has no %q", file, text)
	}
	return strings.Count(before, "\n") + 1
}

// A chapter without a twin, or without a run, lacks a part of what it is.
func TestChapterNeedsTwinAndRun(t *testing.T) {
	for part, lines := range map[string]string{
		"C function with its Go twin": `(?m)^\{\{twin.*$`,
		"recorded run":                `(?m)^\{\{(output|table).*$`,
	} {
		root := fixture(t)
		name := filepath.Join(root, lamp)
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		text = regexp.MustCompile(lines).ReplaceAll(text, nil)
		if err := os.WriteFile(name, text, 0o644); err != nil {
			t.Fatal(err)
		}
		if list := fmt.Sprint(problemsOf(t, root)); !strings.Contains(list, "the chapter has no "+part) {
			t.Errorf("no %s: %s", part, list)
		}
	}
}

// chapters/c-names.txt is held against nginx's source where there is a copy,
// which also tells the line that is missing.
func TestCNamesAreHeldAgainstTheSource(t *testing.T) {
	root := fixture(t)
	src := t.TempDir()
	t.Setenv("NGINX_SRC", src)
	body := strings.Repeat("\n", 29) + "ngx_lamp_color(void)\n{\n" + strings.Repeat("\n", 8) + "}\n\nngx_lamp_dim(void)\n{\n}\n"
	change(t, src, "src/core/lamp.c", "", body)
	if list := problemsOf(t, root); list != nil {
		t.Errorf("%q", list)
	}
	change(t, root, lamp, "`ngx_lamp_switch`", "`ngx_lamp_dim`")
	change(t, root, "chapters/c-names.txt", "30-40", "31-40")
	list := fmt.Sprint(problemsOf(t, root))
	for _, want := range []string{
		"chapters/c-names.txt:2: line 31 of src/core/lamp.c does not hold ngx_lamp_color",
		"add to the latter the line src/core/lamp.c 42-44 ngx_lamp_dim",
	} {
		if !strings.Contains(list, want) {
			t.Errorf("want %q; found %s", want, list)
		}
	}
}
