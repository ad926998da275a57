package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"herd/tools/measure"
)

// runFile keeps what a sweep has measured, a line a run, so that it can be
// interrupted and go on.
type runFile struct {
	f       *os.File
	machine measure.Machine
	delayMs int64
	done    []measure.Run // those with this delay
}

// runLine is one line of the file.
type runLine struct {
	DelayMs int64           `json:"accept_mutex_delay_ms"`
	Machine measure.Machine `json:"machine"`
	Run     measure.Run     `json:"run"`
}

// openRunFile opens the file, or makes it, and reads what has been measured
// with that accept_mutex_delay. A last line that was not written to its end is
// cut off.
func openRunFile(path string, delayMs int64) (*runFile, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("-run %s: %w", path, err)
	}
	r := &runFile{f: f, machine: measure.ThisMachine(), delayMs: delayMs}
	if err := r.read(path); err != nil {
		f.Close()
		return nil, err
	}
	return r, nil
}

func (r *runFile) read(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	whole := bytes.LastIndexByte(text, '\n') + 1
	for i, line := range bytes.SplitAfter(text[:whole], []byte{'\n'}) {
		if len(line) == 0 {
			continue // after the last
		}
		var l runLine
		if err := json.Unmarshal(line, &l); err != nil {
			return fmt.Errorf("%s:%d: %w (not a run of a sweep; name another file with -run)", path, i+1, err)
		}
		if l.Machine != r.machine {
			return fmt.Errorf("%s was measured on %s, this is %s: name another file with -run", path, l.Machine, r.machine)
		}
		if l.DelayMs == r.delayMs {
			r.done = append(r.done, l.Run)
		}
	}
	if err := r.f.Truncate(int64(whole)); err != nil {
		return err
	}
	_, err = r.f.Seek(int64(whole), 0)
	return err
}

// add writes one more run.
func (r *runFile) add(run measure.Run) error {
	line, err := json.Marshal(runLine{r.delayMs, r.machine, run})
	if err == nil {
		_, err = r.f.Write(append(line, '\n'))
	}
	if err == nil {
		r.done = append(r.done, run)
	}
	return err
}

// close closes the file; one without runs is removed.
func (r *runFile) close() error {
	err := r.f.Close()
	if info, statErr := os.Stat(r.f.Name()); statErr == nil && info.Size() == 0 {
		return errors.Join(err, os.Remove(r.f.Name()))
	}
	return err
}
