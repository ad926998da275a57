package result

import (
	"encoding/xml"
	"fmt"
	"io"
)

type junitSuites struct {
	XMLName xml.Name     `xml:"testsuites"`
	Name    string       `xml:"name,attr"`
	Time    string       `xml:"time,attr"`
	Suites  []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Started  string      `xml:"timestamp,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string     `xml:"classname,attr"`
	Name    string     `xml:"name,attr"`
	Time    string     `xml:"time,attr"`
	Failure *junitText `xml:"failure"`
	Error   *junitText `xml:"error"`
	Skipped *junitText `xml:"skipped"`
}

type junitText struct {
	Type    string `xml:"type,attr"`
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// JUnit writes the report as JUnit's XML: what is wrong or not written is a
// failure, what ended without a verdict an error, what cannot be shown is
// skipped.
func JUnit(w io.Writer, r *Report) error {
	all := junitSuites{Name: "herd", Time: fmt.Sprintf("%.3f", r.Seconds)}
	for _, l := range r.Labs {
		suite := junitSuite{Name: l.Name, Tests: len(l.Checks), Started: r.Started.UTC().Format("2006-01-02T15:04:05")}
		for i := range l.Checks {
			suite.add(l, &l.Checks[i])
		}
		all.Suites = append(all.Suites, suite)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func (s *junitSuite) add(l *Lab, c *Check) {
	one := junitCase{Class: l.Name, Name: c.ID, Time: fmt.Sprintf("%.3f", c.Seconds)}
	text := &junitText{string(c.Outcome), headline(c.Message), c.Sentence + "\n" + c.text()}
	switch c.Outcome {
	case Passed:
	case Wrong, NotWritten:
		one.Failure = text
		s.Failures++
	case CannotShow, Pending:
		one.Skipped = text
		s.Skipped++
	default:
		one.Error = text
		s.Errors++
	}
	s.Cases = append(s.Cases, one)
}
