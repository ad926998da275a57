package lab

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Question is a figure that the student predicts before it is measured.
type Question struct {
	Name string // in predictions.txt
	Text string
}

// Predictions are the student's answers by the names of the questions.
type Predictions map[string]float64

// PredictionsFile is where they are, in the lab's directory: lines of
// "name = number", and comments that begin with #.
const PredictionsFile = "predictions.txt"

// ReadPredictions reads the file in dir. A question without an answer is an
// error that says what to do.
func ReadPredictions(dir string, questions []Question) (Predictions, error) {
	path := filepath.Join(dir, PredictionsFile)
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is missing: run this from the directory that has go.mod in it", path)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()

	answers := Predictions{}
	scanner := bufio.NewScanner(f)
	for n := 1; scanner.Scan(); n++ {
		if err := answers.read(scanner.Text()); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, n, err)
		}
	}
	if err := scanner.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return answers, answers.complete(path, questions)
}

// byteOrderMark is what some editors write before all else.
const byteOrderMark = "\ufeff"

// read takes the answer of a line, if there is one. The error says what to
// write instead.
func (p Predictions) read(line string) error {
	line, _, _ = strings.Cut(strings.TrimPrefix(line, byteOrderMark), "#")
	if line = strings.TrimSpace(line); line == "" {
		return nil
	}
	name, value, ok := strings.Cut(line, "=")
	name, value = strings.TrimSpace(name), strings.TrimSpace(value)
	switch {
	case !ok || name == "":
		return errors.New("write name = number")
	case value == "" || value == "?":
		return nil
	}
	if _, twice := p[name]; twice {
		return fmt.Errorf("%s is answered twice", name)
	}
	x, err := strconv.ParseFloat(value, 64)
	if err != nil || math.IsNaN(x) || math.IsInf(x, 0) || x < 0 {
		return fmt.Errorf("%q is not a number from 0 on: write digits alone, such as 8 or 0.5", value)
	}
	p[name] = x
	return nil
}

// complete returns an error that names the first question without an answer.
func (p Predictions) complete(path string, questions []Question) error {
	for _, q := range questions {
		if _, ok := p[q.Name]; !ok {
			return fmt.Errorf("predict before you measure: write a number for %s in %s (%s)%s", q.Name, path, q.Text, p.misspelt(questions))
		}
	}
	return nil
}

// misspelt says which answers are to no question. Where none is missing they
// may be to a part that is not measured yet.
func (p Predictions) misspelt(questions []Question) string {
	names := maps.Clone(p)
	for _, q := range questions {
		delete(names, q.Name)
	}
	if len(names) == 0 {
		return ""
	}
	return "; nothing that is measured now is called " + strings.Join(slices.Sorted(maps.Keys(names)), ", ")
}
