package main

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"herd/tools/grade/result"
	"herd/tools/lab/all"
)

// goIn runs the go command in dir and returns what it prints. Without paths in
// what is built, the copy of the tree finds it built already.
func goIn(dir string, args ...string) (string, error) {
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-trimpath -buildvcs=false")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestHandoutBuildsAndFailsAsNotWritten(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the tree anew")
	}
	dir := filepath.Join(t.TempDir(), "course")
	if code, _, stderr := command(t, "handout", "-o", dir); code != 0 {
		t.Fatalf("exit status %d, %s", code, stderr)
	}
	if out, err := goIn(dir, "vet", "./labs/...", "./tools/..."); err != nil {
		t.Errorf("go vet: %v\n%s", err, out)
	}
	out, err := goIn(dir, "test", "./labs/...")
	if err == nil {
		t.Error("go test passes")
	}
	for _, l := range all.Labs() {
		if !strings.Contains(out, "FAIL\therd/labs/"+l.Name) {
			t.Errorf("%s does not fail", l.Name)
		}
	}
	failed := regexp.MustCompile(`--- FAIL: TestLab/./`)
	missing := regexp.MustCompile(`not written: lab .* is not written yet`)
	if a, b := len(failed.FindAllString(out, -1)), len(missing.FindAllString(out, -1)); a == 0 || a != b {
		t.Errorf("%d checks fail, %d of them since something is not written:\n%s", a, b, out)
	}
	if code, _, stderr := command(t, "handout", "-o", dir); code != exitUsage {
		t.Errorf("again: exit status %d, %s; want a refusal to write over it", code, stderr)
	}
}

// A student grades in the tree that was handed out, where the lab's directory
// is the course's own: what does not compile is the student's all the same.
func TestStudentGradesInTheirOwnTree(t *testing.T) {
	if testing.Short() {
		t.Skip("writes the tree anew")
	}
	dir := filepath.Join(t.TempDir(), "course")
	if code, _, stderr := command(t, "handout", "-o", dir); code != 0 {
		t.Fatalf("exit status %d, %s", code, stderr)
	}
	t.Chdir(dir)
	const lab = "labs/lab03-acceptmutex/"
	write := func(name, text string) {
		if err := os.WriteFile(lab+name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	notBuilt := func(what, want string) *result.Lab {
		t.Helper()
		code, r := grade(t, lab)
		if c := r.Labs[0].Checks[0]; code != exitNotPassed || c.Outcome != result.NotBuilt || !strings.Contains(c.Message, want) {
			t.Errorf("%s: exit status %d, %s: %s; want %q", what, code, c.Outcome, c.Message, want)
		}
		return r.Labs[0]
	}
	stub, err := os.ReadFile(lab + "turn.go")
	if err != nil {
		t.Fatal(err)
	}
	write("turn.go", strings.Replace(string(stub), "import (", "import (\n\t\"fmt\"", 1))
	notBuilt("an import that is not used", `turn.go:4:2: "fmt" imported and not used`)

	write("turn.go", strings.Replace(string(stub), "lab.TODO(", "helper(", 1))
	write("helper.go", "package main\n\nfunc helper(string) {}\n")
	l := notBuilt("a file of one's own", "undefined: helper")
	if len(l.Notes) != 1 || !strings.HasPrefix(l.Notes[0], "not taken: helper.go;") {
		t.Errorf("notes %q", l.Notes)
	}
	os.Remove(lab + "turn.go")
	notBuilt("a file that is gone", "turn.go is missing: bring it back")
}

func TestNoSolutionIsHandedOut(t *testing.T) {
	files, err := handoutFiles(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	solutions := map[string]string{} // text to name
	fs.WalkDir(os.DirFS(filepath.Join(root, "solutions")), ".", func(name string, d fs.DirEntry, err error) error {
		if text, err := os.ReadFile(filepath.Join(root, "solutions", name)); err == nil {
			solutions[string(text)] = name
		}
		return err
	})
	for _, name := range files {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		if from := solutions[string(text)]; from != "" && filepath.Base(from) != "lab_test.go" || strings.Contains(name, "mutants_test") {
			t.Errorf("%s is handed out, which is solutions/%s", name, from)
		}
	}
	for _, want := range []string{"go.mod", "labs/lab03-acceptmutex/turn.go", "tools/grade/main.go", "tools/grade/gradescope/setup.sh"} {
		if !strings.Contains("\n"+strings.Join(files, "\n")+"\n", "\n"+want+"\n") {
			t.Errorf("%s is not handed out", want)
		}
	}
}

func TestEveryMutantIsKilled(t *testing.T) {
	code, stdout, stderr := command(t, "mutants")
	if code != 0 {
		t.Errorf("exit status %d\n%s%s", code, stdout, stderr)
	}
	for _, l := range all.Labs() {
		if n := strings.Count(stdout, "\n"+l.Name+" "); n < 4 {
			t.Errorf("%s has %d mutants, want at least 4", l.Name, n)
		}
	}
}

func TestMutantsTableTellsTheSurvivors(t *testing.T) {
	list := readMutants(strings.NewReader(`
{"Action":"run","Package":"herd/solutions/lab03-acceptmutex","Test":"TestMutants/unlocks_twice"}
{"Action":"output","Package":"herd/solutions/lab03-acceptmutex","Test":"TestMutants/unlocks_twice","Output":"    mutant.go:30: killed by [\"A/one\" \"A/two\"]\n"}
{"Action":"pass","Package":"herd/solutions/lab03-acceptmutex","Test":"TestMutants/unlocks_twice"}
{"Action":"output","Package":"herd/solutions/lab03-acceptmutex","Test":"TestMutants/lives","Output":"    mutant.go:30: killed by []\n"}
{"Action":"fail","Package":"herd/solutions/lab03-acceptmutex","Test":"TestMutants/lives"}
{"Action":"output","Package":"herd/solutions/lab03-acceptmutex","Test":"TestMutants/by_another","Output":"    mutant.go:30: killed by [\"A/two\"]\n"}
{"Action":"fail","Package":"herd/solutions/lab03-acceptmutex","Test":"TestMutants/by_another"}
`))
	var b bytes.Buffer
	if err := printMutants(&b, list); err != errNotPassed {
		t.Errorf("error %v, want %v", err, errNotPassed)
	}
	want := `lab                mutant         killed by
lab03-acceptmutex  unlocks twice  A/one, A/two
lab03-acceptmutex  lives          NOTHING: it survives
lab03-acceptmutex  by another     NOT BY ITS OWN CHECK: A/two
3 mutants, 2 not killed as they should be
`
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
}

// unpack unpacks the zip and returns the modes of what is at its root.
func unpack(t *testing.T, file, dir string) map[string]fs.FileMode {
	t.Helper()
	z, err := zip.OpenReader(file)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	modes := map[string]fs.FileMode{}
	for _, f := range z.File {
		text, err := fs.ReadFile(z, f.Name)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(f.Name, "/") {
			modes[f.Name] = f.Mode()
		}
		to := filepath.Join(dir, f.Name)
		os.MkdirAll(filepath.Dir(to), 0o755)
		if err := os.WriteFile(to, text, f.Mode()|0o600); err != nil {
			t.Fatal(err)
		}
	}
	return modes
}

// The autograder, as Gradescope lays it out, on a solution of part A.
func TestGradescopeAutograder(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("the autograder runs as root, as Gradescope does")
	}
	base, err := os.MkdirTemp("", "autograder") // nobody can come through it
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(base)
	file := filepath.Join(base, "lab03.zip")
	if code, _, stderr := command(t, "-pack", "gradescope", "-lab", "3", "-o", file); code != 0 {
		t.Fatalf("exit status %d, %s", code, stderr)
	}
	source := filepath.Join(base, "source")
	modes := unpack(t, file, source)
	for _, script := range []string{"setup.sh", "run_autograder"} {
		if modes[script] != 0o755 {
			t.Errorf("%s: mode %v, want it at the root and executable", script, modes[script])
		}
		if out, err := exec.Command("bash", "-n", filepath.Join(source, script)).CombinedOutput(); err != nil {
			t.Errorf("%s: %s", script, out)
		}
	}
	if _, err := os.Stat(filepath.Join(source, "herd/solutions")); err == nil {
		t.Error("it has the solutions in it")
	}
	if out, err := goIn(filepath.Join(source, "herd"), "build", "-o", filepath.Join(source, "grade"), "./tools/grade"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	// What setup.sh has compiled and downloaded.
	shareCache(t, filepath.Join(source, "cache/build"), "GOCACHE")
	shareCache(t, filepath.Join(source, "cache/mod"), "GOMODCACHE")
	r := autograde(t, base, map[string]string{"acceptmutex.go": solution(t, "acceptmutex.go")})
	if r.Score != 80 || len(r.Tests) != 10 || r.Tests[9].Extra.Outcome != "not written" {
		t.Errorf("result %+v, want part A's 80", r)
	}
}

// shareCache has path lead to one of the Go command's directories.
func shareCache(t *testing.T, path, name string) {
	t.Helper()
	dir, err := goIn(root, "env", name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(strings.TrimSpace(dir), path); err != nil {
		t.Fatal(err)
	}
}

type gradescopeResult struct {
	Score int
	Tests []struct {
		Name  string
		Extra struct{ Outcome string } `json:"extra_data"`
	}
}

// autograde runs run_autograder on a submission.
func autograde(t *testing.T, base string, files map[string]string) (r gradescopeResult) {
	t.Helper()
	for _, dir := range []string{"submission", "results"} {
		if err := os.Mkdir(filepath.Join(base, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(base, "submission", name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(filepath.Join(base, "source/run_autograder"), base)
	cmd.Env = append(os.Environ(), "GOFLAGS=-buildvcs=false")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("run_autograder: %v\n%s", err, out)
	}
	text, err := os.ReadFile(filepath.Join(base, "results/results.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	return r
}
