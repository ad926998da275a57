package result

import (
	"fmt"
	"io"
	"strings"
	"time"
)

type classroomResult struct {
	Schema     string          `json:"schema"`
	Classroom  string          `json:"classroom"`
	Assignment string          `json:"assignment"`
	Submission string          `json:"submission"`
	Commit     string          `json:"commit"`
	Release    string          `json:"release"`
	Review     string          `json:"review"`
	Datetime   string          `json:"datetime"`
	Score      int             `json:"score"`
	Max        int             `json:"max-score"`
	Tests      []classroomTest `json:"tests"`
}

type classroomTest struct {
	Name    string `json:"test-name"`
	Passed  bool   `json:"passed"`
	Score   int    `json:"score"`
	Max     int    `json:"max-score"`
	Outcome string `json:"outcome"`           // ours; Classroom 50 keeps it
	Message string `json:"message,omitempty"` // ours
}

// classroomEnv are the variables that Classroom 50 sets for a grader.
var classroomEnv = []string{"CLASSROOM", "ASSIGNMENT", "SUBMISSION_TAG", "COMMIT_URL", "RELEASE_URL"}

// Classroom50 returns the writer of Classroom 50's result.json, with what
// getenv says of the submission.
func Classroom50(getenv func(string) string) (Writer, error) {
	var missing []string
	for _, name := range classroomEnv {
		if getenv(name) == "" {
			missing = append(missing, name)
		}
	}
	if missing != nil {
		return nil, fmt.Errorf("a grader of Classroom 50 has %s; not set here: %s",
			strings.Join(classroomEnv, ", "), strings.Join(missing, ", "))
	}
	review := getenv("REVIEW_URL")
	if review == "" {
		review = getenv("COMMIT_URL")
	}
	return func(w io.Writer, r *Report) error {
		c := classroomResult{
			Schema:     "classroom50/result/v1",
			Classroom:  getenv("CLASSROOM"),
			Assignment: getenv("ASSIGNMENT"),
			Submission: getenv("SUBMISSION_TAG"),
			Commit:     getenv("COMMIT_URL"),
			Release:    getenv("RELEASE_URL"),
			Review:     review,
			Datetime:   r.Started.UTC().Format(time.RFC3339),
			Tests:      r.classroomTests(),
		}
		c.Score, c.Max = r.Score()
		return writeJSON(w, c)
	}, nil
}

func (r *Report) classroomTests() []classroomTest {
	tests := []classroomTest{}
	for _, l := range r.Labs {
		for i := range l.Checks {
			c := &l.Checks[i]
			tests = append(tests, classroomTest{
				Name:    l.Name + "/" + c.ID,
				Passed:  c.Outcome == Passed,
				Score:   c.Score(),
				Max:     c.Max(),
				Outcome: string(c.Outcome),
				Message: c.text(),
			})
		}
	}
	return tests
}
