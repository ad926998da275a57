package lab

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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
		line, _, _ := strings.Cut(scanner.Text(), "#")
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if !ok {
			return nil, fmt.Errorf("%s:%d: write name = number", path, n)
		}
		if value = strings.TrimSpace(value); value == "" || value == "?" {
			continue
		}
		x, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %q is not a number", path, n, value)
		}
		answers[strings.TrimSpace(name)] = x
	}
	if err := scanner.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return answers, answers.complete(path, questions)
}

// complete returns an error that names the first question without an answer.
func (p Predictions) complete(path string, questions []Question) error {
	for _, q := range questions {
		if _, ok := p[q.Name]; !ok {
			return fmt.Errorf("predict before you measure: write a number for %s in %s (%s)", q.Name, path, q.Text)
		}
	}
	return nil
}
