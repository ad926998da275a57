package result

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

// graded is a grading in which every outcome occurs.
func graded() *Report {
	return &Report{
		Started: time.Date(2026, 9, 1, 10, 20, 30, 0, time.FixedZone("CEST", 7200)),
		Seconds: 3.25,
		Labs: []*Lab{
			{Number: 3, Name: "lab03-acceptmutex", Title: "The accept mutex", Dir: "handed-in/alice",
				Notes: []string{"lab_test.go is not the course's; the course's is used"},
				Checks: []Check{
					{ID: "A/wins", Part: "A", Sentence: "The winner registers.", Points: 10, Outcome: Passed, Seconds: 0.5},
					{ID: "A/loses", Part: "A", Sentence: "The loser <unregisters>.", Read: "a.c 1-2", Points: 20, Outcome: Wrong, Seconds: 0.25,
						Message: "lab 03 part A: wrong\n   ->   1. worker 1 loses\n  rule: held && !registered", Output: "held = true\x1b[0m\n\xff"},
					{ID: "A/spins", Part: "A", Sentence: "It returns.", Points: 5, Outcome: TimedOut, Message: "no verdict after 30s", Seconds: 30},
					{ID: "A/dies", Part: "A", Sentence: "It lives.", Points: 5, Outcome: Crashed, Message: "exit status 2", Seconds: 0.125},
					{ID: "B/turn", Part: "B", Sentence: "None freezes.", Points: 10, Outcome: NotWritten, Message: "Turn is not written yet"},
					{ID: "B/later", Part: "B", Sentence: "None waits.", Points: 10, Outcome: Pending},
					{ID: "B/trace", Part: "B", Sentence: "One is woken.", Points: 10, Outcome: CannotShow, Message: "no tracepoints"},
				}},
			{Number: 4, Name: "lab04-posted", Title: "Posted events", Dir: "handed-in/alice/labs/lab04-posted",
				Checks: []Check{
					{ID: "A/posts", Part: "A", Sentence: "It posts.", Points: 50, Outcome: NotBuilt, Message: "posted.go:3:2: undefined: x"},
					{ID: "A/unlocks", Part: "A", Sentence: "It unlocks.", Points: 50, Outcome: NotBuilt, Message: "posted.go:3:2: undefined: x"},
				}},
		},
	}
}

// classroomEnvironment is what Classroom 50 sets.
func classroomEnvironment(name string) string {
	return map[string]string{
		"CLASSROOM": "systems", "ASSIGNMENT": "lab03", "SUBMISSION_TAG": "submit/1",
		"COMMIT_URL": "https://example.org/c", "RELEASE_URL": "https://example.org/r",
	}[name]
}

func TestWriters(t *testing.T) {
	classroom, err := Classroom50(classroomEnvironment)
	if err != nil {
		t.Fatal(err)
	}
	for file, write := range map[string]Writer{
		"terminal.txt":     Terminal,
		"report.json":      JSON,
		"junit.xml":        JUnit,
		"results.json":     Gradescope,
		"classroom50.json": classroom,
	} {
		t.Run(file, func(t *testing.T) {
			var got bytes.Buffer
			if err := write(&got, graded()); err != nil {
				t.Fatal(err)
			}
			golden := filepath.Join("testdata", file)
			if *update {
				if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got.String()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// The writers' forms are read by strict readers, whatever the code printed.
func TestFormsAreWellFormed(t *testing.T) {
	classroom, _ := Classroom50(classroomEnvironment)
	for name, write := range map[string]Writer{"JSON": JSON, "Gradescope": Gradescope, "Classroom 50": classroom} {
		var b bytes.Buffer
		write(&b, graded())
		if !json.Valid(b.Bytes()) {
			t.Errorf("%s: not valid JSON", name)
		}
	}
	var b bytes.Buffer
	JUnit(&b, graded())
	if err := xml.Unmarshal(b.Bytes(), &junitSuites{}); err != nil {
		t.Errorf("JUnit: %v", err)
	}
}

func TestOnlyPassedScores(t *testing.T) {
	r := graded()
	if score, most := r.Score(); score != 10 || most != 160 {
		t.Errorf("%d of %d points, want 10 of 160: the check without a verdict counts for neither", score, most)
	}
}

func TestClassroom50NamesTheVariableThatIsMissing(t *testing.T) {
	_, err := Classroom50(func(name string) string {
		if name == "ASSIGNMENT" {
			return ""
		}
		return "set"
	})
	if err == nil || !strings.HasSuffix(err.Error(), "not set here: ASSIGNMENT") {
		t.Errorf("error %v, want one that ends with the name", err)
	}
}

// Root could replace a device.
func TestOnlyARegularFileIsReplaced(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	if err := os.WriteFile(file, []byte("kept"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(os.DevNull, link); err != nil {
		t.Fatal(err)
	}
	for path, good := range map[string]bool{
		file: true, filepath.Join(dir, "new"): true,
		os.DevNull: false, link: false, dir: false, filepath.Join(file, "x"): false,
	} {
		if err := CheckFile(path); (err == nil) != good {
			t.Errorf("%s: %v", path, err)
		}
	}
	if files, _ := os.ReadDir(dir); len(files) != 2 {
		t.Errorf("%v in the directory, want the two files", files)
	}
	if text, _ := os.ReadFile(file); string(text) != "kept" {
		t.Errorf("the file holds %q", text)
	}
}

func TestFileHoldsAWholeReport(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.json")
	for range 2 {
		if err := Writer(Gradescope).WriteFile(path, graded()); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil || !json.Valid(text) {
		t.Errorf("read %q, %v, want the JSON", text, err)
	}
	if files, _ := os.ReadDir(filepath.Dir(path)); len(files) != 1 {
		t.Errorf("%v in the directory, want the one file", files)
	}
}

func TestHeadlineIsTheRuleThatWasBroken(t *testing.T) {
	for message, want := range map[string]string{
		"lab 03 part A: wrong\nbroken: one is registered\n  got 0, want 1\n": "one is registered",
		"lab 04 part A: wrong\n   ->   1. x runs\n  rule: the next is y\n":   "the next is y",
		"turn.go:3:15: undefined: nowhere\nturn.go:4:1: more":                "turn.go:3:15: undefined: nowhere",
		"": "",
	} {
		if got := headline(message); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
