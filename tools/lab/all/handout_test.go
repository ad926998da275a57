package all

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"herd/tools/lab"
)

// words returns text with each run of white space made one space, so that it
// does not matter where lines end.
func words(text string) string { return strings.Join(strings.Fields(text), " ") }

// What a check holds the student to is written in the handout, word for word.
func TestHandoutsSayWhatIsChecked(t *testing.T) {
	for _, l := range Labs() {
		handout, err := os.ReadFile(filepath.Join("../../../labs", l.Dir(), "README.md"))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range l.Checks {
			if !strings.Contains(words(string(handout)), words(c.Sentence)) {
				t.Errorf("%s: the handout does not say, for %s: %s", l.Dir(), c.ID(), c.Sentence)
			}
		}
	}
}

// Each file that a student writes is there, and in the solution too.
func TestLabsAndSolutionsHaveTheFiles(t *testing.T) {
	for _, l := range Labs() {
		for _, tree := range []string{"../../../labs", "../../../solutions"} {
			for _, name := range append(l.Files, "README.md", "main.go", "lab_test.go", lab.PredictionsFile) {
				if _, err := os.Stat(filepath.Join(tree, l.Dir(), name)); err != nil {
					t.Error(err)
				}
			}
		}
	}
}

// A lab is worth 100 points.
func TestPointsAddUp(t *testing.T) {
	for _, l := range Labs() {
		sum := 0
		for _, c := range l.Checks {
			sum += c.Points
		}
		if sum != 100 {
			t.Errorf("%s: %d points", l.Dir(), sum)
		}
	}
}
