package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func read(t *testing.T, root, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestRecordKeepsWhatACommandPrints(t *testing.T) {
	root := fixture(t)
	if err := record(root, []string{"new.txt"}, "echo one; echo two >&2; pwd"); err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.EvalSymlinks(root)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := read(t, root, "chapters/runs/new.txt"), "$ echo one; echo two >&2; pwd\none\n"+dir+"\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}

	if err := record(root, []string{"new.json"}, `echo '{"runs": [{"fix": "a<b", "shares": [1,`+"\n"+`2]}]}'`); err != nil {
		t.Fatal(err)
	}
	want := "{\n \"command\": \"echo '{\\\"runs\\\": [{\\\"fix\\\": \\\"a<b\\\", \\\"shares\\\": [1,\\n2]}]}'\",\n" +
		" \"output\": {\n  \"runs\": [\n   {\n    \"fix\": \"a<b\",\n    \"shares\": [ 1, 2 ]\n   }\n  ]\n }\n}\n"
	if got := read(t, root, "chapters/runs/new.json"); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// A run that is recorded again keeps its command.
func TestRecordRunsACommandAgain(t *testing.T) {
	root := fixture(t)
	change(t, root, "count", "", "1")
	const command = "n=$(cat count); echo $((n+1)) | tee count"
	for _, want := range []string{"2", "3"} {
		if err := record(root, []string{"count.txt"}, command); err != nil {
			t.Fatal(err)
		}
		if got := read(t, root, "chapters/runs/count.txt"); got != "$ "+command+"\n"+want+"\n" {
			t.Errorf("%q, want %s", got, want)
		}
	}
	if err := record(root, []string{"count.txt"}, ""); err != nil {
		t.Fatal(err)
	}
	if got := read(t, root, "chapters/runs/count.txt"); got != "$ "+command+"\n4\n" {
		t.Errorf("%q, want 4", got)
	}
}

// What fails leaves the run as it was.
func TestRecordThatFailsChangesNothing(t *testing.T) {
	root := fixture(t)
	before := read(t, root, "chapters/runs/lamp.json")
	for _, c := range []struct{ name, command, want string }{
		{"lamp.json", "echo '{}'; exit 3", "exit status 3; the run is as it was"},
		{"lamp.json", "echo no JSON", "the command must print one JSON value"},
		{"lamp", "echo", "a run is called NAME.json or NAME.txt"},
		{"../lamp.txt", "echo", "a run is called NAME.json or NAME.txt"},
		{"none.txt", "", "no recorded run chapters/runs/none.txt"},
	} {
		err := record(root, []string{c.name}, c.command)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %q: %v, want %s", c.name, c.command, err, c.want)
		}
	}
	if read(t, root, "chapters/runs/lamp.json") != before {
		t.Error("the run is another one now")
	}
}

func TestFigureIsDrawnFromItsSource(t *testing.T) {
	if _, err := exec.LookPath("dot"); err != nil {
		t.Skip("no graphviz to draw with (on Debian: apt-get install graphviz): ", err)
	}
	root := fixture(t)
	change(t, root, "chapters/figures/lamp.dot", "wire", "cable")
	if err := drawFigures(root, nil); err != nil {
		t.Fatal(err)
	}
	if list := problemsOf(t, root); list != nil {
		t.Errorf("after drawing: %q", list)
	}
	svg := []byte(read(t, root, "chapters/figures/lamp.svg"))
	for _, unwanted := range []string{"<?xml", "<!--", "<title", "black", "white", ` id="`} {
		if bytes.Contains(svg, []byte(unwanted)) {
			t.Errorf("the drawing has %q", unwanted)
		}
	}
	if !bytes.Contains(svg, []byte("cable")) {
		t.Error("the drawing does not show its source")
	}
	if err := drawFigures(root, []string{"bulb"}); err == nil {
		t.Error("a figure without a source was drawn")
	}
}
