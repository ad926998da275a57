// Package result is what grading found, and the forms it is written in.
package result

import "time"

// Outcome is how a check ended.
type Outcome string

// Only Passed scores. CannotShow is no verdict: the check counts neither for
// nor against.
const (
	Pending    Outcome = "not graded yet"
	Passed     Outcome = "passed"
	Wrong      Outcome = "wrong"
	NotWritten Outcome = "not written"
	NotBuilt   Outcome = "does not compile"
	TimedOut   Outcome = "timed out"
	Crashed    Outcome = "crashed" // no verdict, or a limit was passed
	CannotShow Outcome = "cannot show"
)

// Report is a grading. The writers also take one that is under way.
type Report struct {
	Started time.Time `json:"started"`
	Seconds float64   `json:"seconds"`
	Labs    []*Lab    `json:"labs"`
}

// Lab is what was found of one lab.
type Lab struct {
	Number int      `json:"number"`
	Name   string   `json:"name"` // lab03-acceptmutex
	Title  string   `json:"title"`
	Dir    string   `json:"dir"`             // what was handed in
	Notes  []string `json:"notes,omitempty"` // what was taken from it, and what not
	Checks []Check  `json:"checks"`
}

// Check is what was found of one check.
type Check struct {
	ID       string  `json:"id"` // A/the-loser-unregisters
	Part     string  `json:"part"`
	Sentence string  `json:"sentence"` // of the handout
	Read     string  `json:"read,omitempty"`
	Points   int     `json:"points"`
	Outcome  Outcome `json:"outcome"`
	Message  string  `json:"message,omitempty"` // why it did not pass
	Output   string  `json:"output,omitempty"`  // what the code printed, if it did not pass
	Seconds  float64 `json:"seconds"`
}

// Score returns the points that the check brings.
func (c *Check) Score() int {
	if c.Outcome == Passed {
		return c.Points
	}
	return 0
}

// Max returns the points that it could bring.
func (c *Check) Max() int {
	if c.Outcome == CannotShow {
		return 0
	}
	return c.Points
}

// Score returns the points of the lab, and how many there are.
func (l *Lab) Score() (score, most int) {
	for i := range l.Checks {
		score += l.Checks[i].Score()
		most += l.Checks[i].Max()
	}
	return score, most
}

// All reports whether every check ended as one of outcomes.
func (l *Lab) All(outcomes ...Outcome) bool {
	n := 0
	for _, o := range outcomes {
		n += l.Count(o)
	}
	return n == len(l.Checks)
}

// Count returns how many checks ended as outcome.
func (l *Lab) Count(outcome Outcome) (n int) {
	for i := range l.Checks {
		if l.Checks[i].Outcome == outcome {
			n++
		}
	}
	return n
}

// Score returns the points of all labs.
func (r *Report) Score() (score, most int) {
	for _, l := range r.Labs {
		s, m := l.Score()
		score, most = score+s, most+m
	}
	return score, most
}
