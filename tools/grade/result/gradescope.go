package result

import (
	"fmt"
	"io"
	"strings"
)

type gradescopeResults struct {
	Score      int              `json:"score"`
	Seconds    float64          `json:"execution_time"`
	Output     string           `json:"output,omitempty"`
	Format     string           `json:"output_format"`
	TestFormat string           `json:"test_output_format"`
	Stdout     string           `json:"stdout_visibility"` // the same again, for the instructor
	Tests      []gradescopeTest `json:"tests"`
}

type gradescopeTest struct {
	Number string            `json:"number"`
	Name   string            `json:"name"`
	Status string            `json:"status,omitempty"`
	Score  int               `json:"score"`
	Max    int               `json:"max_score"`
	Output string            `json:"output"`
	Tags   []string          `json:"tags"`
	Extra  map[string]string `json:"extra_data"`
}

// Gradescope writes Gradescope's results.json.
func Gradescope(w io.Writer, r *Report) error {
	g := gradescopeResults{Seconds: r.Seconds, Format: "text", TestFormat: "text", Stdout: "hidden"}
	g.Score, _ = r.Score()
	for _, l := range r.Labs {
		for _, note := range l.Notes {
			g.Output += fmt.Sprintf("%s: %s\n", l.Name, note)
		}
		for i := range l.Checks {
			g.Tests = append(g.Tests, gradescopeCheck(l, i))
		}
	}
	return writeJSON(w, g)
}

func gradescopeCheck(l *Lab, i int) gradescopeTest {
	c := &l.Checks[i]
	t := gradescopeTest{
		Number: fmt.Sprintf("%d.%d", l.Number, i+1),
		Name:   c.ID,
		Status: "failed",
		Score:  c.Score(),
		Max:    c.Max(),
		Output: c.Sentence,
		Tags:   []string{l.Name, "part " + c.Part},
		Extra:  map[string]string{"outcome": string(c.Outcome)},
	}
	switch c.Outcome {
	case Passed:
		t.Status = "passed"
	case CannotShow:
		t.Status = "" // neither
		fallthrough
	default:
		t.Output = strings.TrimSpace(fmt.Sprintf("%s\n\n%s\n%s", c.Sentence, c.Outcome, c.text()))
	}
	return t
}
