package conf

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// descriptors is a Source that has only so many of them: a file may include
// itself.
type descriptors struct {
	*Dump
	left int
}

func (d *descriptors) Open(name string) (File, error) {
	if d.left--; d.left < 0 {
		return nil, syscall.EMFILE
	}
	return d.Dump.Open(name)
}

var failure = regexp.MustCompile(`(?s)^\[emerg\] .* in /etc/c:([0-9]+)$`)

// FuzzParse reads any text: it ends, and if it fails then with one message
// that names a line of the file.
func FuzzParse(f *testing.F) {
	f.Fuzz(func(t *testing.T, text string) {
		cf, j := newConf(newBlock(), &descriptors{files("/etc/c", text), 100})

		err := cf.Parse("/etc/c")

		if err == nil {
			if len(j.lines) != 0 {
				t.Errorf("read without an error, but logged %q", j.lines)
			}
			return
		}
		if err != ErrLogged || len(j.lines) != 1 {
			t.Fatalf("error %v, log %q, want one message", err, j.lines)
		}
		m := failure.FindStringSubmatch(j.lines[0])
		if m == nil {
			t.Fatalf("message without a place: %q", j.lines[0])
		}
		if line, _ := strconv.Atoi(m[1]); line < 1 || line > 1+strings.Count(text, "\n") {
			t.Errorf("message names line %d of a file of %d: %q", line, 1+strings.Count(text, "\n"), j.lines[0])
		}
	})
}

// quoted writes an argument so that the tokenizer reads it back.
func quoted(arg string, quote string) string {
	return quote + strings.NewReplacer(`\`, `\\`, `"`, `\"`, `'`, `\'`).Replace(arg) + quote
}

// FuzzArguments writes arguments in quotes and reads the same ones, wherever
// the buffer's end falls.
func FuzzArguments(f *testing.F) {
	f.Fuzz(func(t *testing.T, a, b string, padding uint16) {
		if len(a)+len(b) > bufferSize/4 {
			t.Skip("longer than the buffer once every byte is escaped")
		}
		text := strings.Repeat("\n", int(padding)) +
			"any " + quoted(a, `"`) + " " + quoted(b, `'`) + ";"
		cf, j := newConf(newBlock(), files("/etc/c", text))

		if err := cf.Parse("/etc/c"); err != nil {
			t.Fatalf("%q: %q", text, j.lines)
		}
		got := cf.Ctx.(*block).calls
		if want := []string{strings.Join([]string{"any", a, b}, "|")}; !slices.Equal(got, want) {
			t.Errorf("wrote %q, read %q", want, got)
		}
	})
}
