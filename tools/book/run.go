package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

const runsDir = "chapters/runs"

// run is a recorded command and what it printed.
type run struct {
	name    string // NAME.json or NAME.txt
	command string
	output  string
	value   any // of a NAME.json
}

// jsonRun is the form of a NAME.json.
type jsonRun struct {
	Command string          `json:"command"`
	Output  json.RawMessage `json:"output"`
}

// loadRun reads a recorded run.
func loadRun(root, name string) (*run, error) {
	text, err := os.ReadFile(filepath.Join(root, runsDir, name))
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("no recorded run %s/%s; record it: go run ./tools/book record %s 'COMMAND'", runsDir, name, name)
	}
	if err != nil {
		return nil, err
	}
	r := &run{name: name}
	switch filepath.Ext(name) {
	case ".json":
		err = r.parseJSON(text)
	case ".txt":
		err = r.parseText(string(text))
	default:
		err = errors.New("its name must end in .json or .txt")
	}
	if err != nil {
		return nil, fmt.Errorf("%s/%s: %w", runsDir, name, err)
	}
	return r, nil
}

func (r *run) parseText(text string) error {
	first, rest, _ := strings.Cut(text, "\n")
	command, ok := strings.CutPrefix(first, "$ ")
	if !ok {
		return errors.New(`it names no command: the first line is "$ COMMAND"`)
	}
	r.command, r.output = command, rest
	return nil
}

func (r *run) parseJSON(text []byte) error {
	var j jsonRun
	if err := json.Unmarshal(text, &j); err != nil {
		return err
	}
	if j.Command == "" || j.Output == nil {
		return errors.New(`it has no "command", or no "output"`)
	}
	d := json.NewDecoder(bytes.NewReader(j.Output))
	d.UseNumber()
	if err := d.Decode(&r.value); err != nil {
		return err
	}
	output, err := pretty(j.Output, "  ")
	r.command, r.output = j.Command, string(output)
	return err
}

// innermost matches a list or object that holds no other and is written on
// several lines; lineEnd, such an end of line in it.
var (
	innermost = regexp.MustCompile(`[\[{][^\[\]{}]*\n[^\[\]{}]*[\]}]`)
	lineEnd   = regexp.MustCompile(`\n\s*`)
)

// pretty indents JSON, but leaves what holds nothing else on one line.
func pretty(text []byte, indent string) ([]byte, error) {
	var b bytes.Buffer
	if err := json.Indent(&b, text, "", indent); err != nil {
		return nil, err
	}
	return innermost.ReplaceAllFunc(b.Bytes(), func(s []byte) []byte {
		return lineEnd.ReplaceAll(s, []byte(" "))
	}), nil
}

// format returns the file that parse reads.
func (r *run) format() ([]byte, error) {
	if filepath.Ext(r.name) != ".json" {
		return []byte("$ " + r.command + "\n" + r.output), nil
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(jsonRun{r.command, json.RawMessage(r.output)}); err != nil {
		return nil, fmt.Errorf("%s: the command must print one JSON value: %w", r.name, err)
	}
	return pretty(b.Bytes(), " ")
}

// holds says why text, which a sentence took from path in the run, is not
// what the run says; nil: it is.
func (r *run) holds(path, text string) error {
	if r.value == nil {
		return r.holdsWord(path, text)
	}
	v, err := lookup(r.value, path)
	if err != nil {
		return fmt.Errorf("%s: %w", r.name, err)
	}
	if says, ok := agrees(text, v, path); !ok {
		return fmt.Errorf("%s says %s, the text %q; correct the sentence, and what it concludes", r.name, says, text)
	}
	return nil
}

// holdsWord looks for text on a line that contains label.
func (r *run) holdsWord(label, text string) error {
	for line := range strings.Lines(r.output) {
		if strings.Contains(line, label) && containsWord(line, text) {
			return nil
		}
	}
	return fmt.Errorf("%s has no line with %q and %q; correct the sentence, and what it concludes", r.name, label, text)
}

// containsWord reports whether text stands in line and is not part of a longer
// word or number.
func containsWord(line, text string) bool {
	for at := 0; ; {
		i := strings.Index(line[at:], text)
		if i < 0 || text == "" {
			return false
		}
		before, after := line[:at+i], line[at+i+len(text):]
		if !wordEnds(before) && !wordBegins(after) {
			return true
		}
		at += i + 1
	}
}

func isWord(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// wordEnds reports whether s ends inside a word or a number: "1." too.
func wordEnds(s string) bool {
	n := len(s)
	return n > 0 && (isWord(s[n-1]) || n > 1 && s[n-1] == '.' && isDigit(s[n-2]))
}

// wordBegins reports whether s goes on a word that comes before it.
func wordBegins(s string) bool {
	return len(s) > 0 && (isWord(s[0]) || len(s) > 1 && s[0] == '.' && isDigit(s[1]))
}
