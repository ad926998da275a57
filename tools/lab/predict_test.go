package lab

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// predicted reads a file of predictions that holds text.
func predicted(t *testing.T, text string) (Predictions, error) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, PredictionsFile), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return ReadPredictions(dir, []Question{{"herd.wakeups", "wakeups"}, {"herd.eagain", "EAGAIN"}})
}

func TestPredictionsAsEditorsWriteThem(t *testing.T) {
	for _, text := range []string{
		"herd.wakeups = 8\nherd.eagain = 0.5\n",
		"\ufeff# a comment\r\nherd.wakeups=8#8?\r\n\r\n  herd.eagain\t= .5  ",
		"herd.eagain = 0.5\nherd.wakeups =\nherd.wakeups = ?\nherd.wakeups = 8",
		"herd.eagain = 0.5\nherd.wakeups = 8\n# of part B, which is not written\nmended.wakeups = 1",
	} {
		got, err := predicted(t, text)
		delete(got, "mended.wakeups")
		if diff := cmp.Diff(Predictions{"herd.wakeups": 8, "herd.eagain": 0.5}, got); err != nil || diff != "" {
			t.Errorf("%q: %v\n%s", text, err, diff)
		}
	}
}

func TestWhatIsNoPredictionIsRefusedByItsLine(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"herd.wakeups = eight", `:1: "eight" is not a number from 0 on`},
		{"herd.wakeups = 0,5", `:1: "0,5" is not a number`},
		{"herd.wakeups = 8 of 8", `:1: "8 of 8" is not a number`},
		{"herd.wakeups = NaN", `:1: "NaN" is not a number`},
		{"herd.wakeups = 1e999", `:1: "1e999" is not a number`},
		{"herd.wakeups = -1", `:1: "-1" is not a number`},
		{"\nherd.wakeups 8", ":2: write name = number"},
		{"herd.wakeup = 8\nherd.eagain = 1", "write a number for herd.wakeups in "},
		{"herd.wakeup = 8\nherd.eagain = 1", "(wakeups); nothing that is measured now is called herd.wakeup"},
		{"= 8", ":1: write name = number"},
		{"herd.wakeups = 8\nherd.wakeups = 9", ":2: herd.wakeups is answered twice"},
		{"\x00\x01\xff", ":1: write name = number"},
		{strings.Repeat("x", 1<<20), "too long"},
		{"herd.wakeups = 8", "write a number for herd.eagain in "},
		{"", "write a number for herd.wakeups in "},
	} {
		if _, err := predicted(t, c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.40q: %v, want %q", c.text, err, c.want)
		}
	}
	if _, err := ReadPredictions(t.TempDir(), nil); err == nil || !strings.Contains(err.Error(), "run this from the directory that has go.mod") {
		t.Error(err)
	}
}
