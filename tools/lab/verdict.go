package lab

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// GradeEnv is set while the grader runs: a stub then fails wherever it is.
// With the value GradeVerdicts the process also says each check's verdict on
// descriptor VerdictFd.
const (
	GradeEnv      = "HERD_GRADE"
	GradeVerdicts = "verdicts"
	VerdictFd     = 3
)

// Verdict is what a check found.
type Verdict struct {
	Check   string // its ID
	Failed  bool
	Skipped bool
	Text    string // why, if it did not pass; may begin with a Mark
}

// channel is how verdicts reach the grader. The code under test shares the
// process and can print what it likes, so a verdict has a descriptor of its
// own and begins with a key.
type channel struct {
	file *os.File
	key  string
}

// verdicts is opened while this package is initialised, which is before the
// student's: no code of theirs has run when the key is read and is gone from
// standard input.
var verdicts = openVerdicts()

// openVerdicts returns nil unless the grader listens.
func openVerdicts() *channel {
	if os.Getenv(GradeEnv) != GradeVerdicts {
		return nil
	}
	os.Setenv(GradeEnv, "1") // for the processes that a check starts
	syscall.CloseOnExec(VerdictFd)
	key, err := bufio.NewReader(os.Stdin).ReadString('\n')
	if err != nil {
		return nil
	}
	return &channel{os.NewFile(VerdictFd, "verdicts"), strings.TrimSuffix(key, "\n")}
}

// send sends v. A verdict that does not arrive is taken for a crash.
func (c *channel) send(v Verdict) {
	text, err := json.Marshal(v)
	if err == nil {
		fmt.Fprintf(c.file, "%s %s\n", c.key, text)
	}
}

// begun says that all that runs before a check has come to its end.
const begun = "begun"

func (c *channel) begin() { fmt.Fprintf(c.file, "%s %s\n", c.key, begun) }

// Begun reports whether a check had begun, by what the grader read.
func Begun(read []byte, key string) bool {
	return bytes.Contains(read, []byte(key+" "+begun+"\n"))
}

// FindVerdict returns the verdict on check from what the grader read.
func FindVerdict(read []byte, key, check string) (v Verdict, ok bool) {
	for line := range bytes.Lines(read) {
		text, keyed := bytes.CutPrefix(line, []byte(key+" "))
		if keyed && json.Unmarshal(text, &v) == nil && v.Check == check {
			return v, true
		}
	}
	return Verdict{}, false
}

// witness keeps the words that a test ended with.
type witness struct {
	*testing.T
	text string
}

func (w *witness) Fatal(args ...any) {
	w.Helper()
	w.text = fmt.Sprint(args...)
	w.T.Fatal(args...)
}

func (w *witness) Skip(args ...any) {
	w.Helper()
	w.text = fmt.Sprint(args...)
	w.T.Skip(args...)
}

// runGraded runs the check, as run does, and tells the grader how it ended,
// after the last cleanup of the test.
func (l *Lab) runGraded(t *testing.T, check *Check) {
	verdicts.begin()
	w := &witness{T: t}
	t.Cleanup(func() {
		verdicts.send(Verdict{Check: check.ID(), Failed: t.Failed(), Skipped: t.Skipped(), Text: w.text})
	})
	l.run(w, check)
}

// fromTestLab reports whether the caller of Test is the lab's own test. Only
// that one speaks to the grader: the code under test could make a Lab with
// easier checks.
func (l *Lab) fromTestLab() bool {
	pc, _, _, _ := runtime.Caller(2) // Test's caller
	return strings.HasSuffix(runtime.FuncForPC(pc).Name(), "/"+l.Name+".TestLab")
}
