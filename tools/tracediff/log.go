package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
)

// line is a line of an error log. What a message says in several lines is
// cut: only the first has a stamp.
type line struct {
	number int // in the file, from 1
	pid    int
	conn   string // "*N " or nothing
	text   string
}

var stamped = regexp.MustCompile(`^\d{4}/\d\d/\d\d \d\d:\d\d:\d\d \[\w+\] (\d+)#\d+: (\*\d+ )?(.*)$`)

// parseLine reads one line of the file; ok says that it has a stamp.
func parseLine(number int, text string) (l line, ok bool) {
	m := stamped.FindStringSubmatch(text)
	if m == nil {
		return line{}, false
	}
	pid, _ := strconv.Atoi(m[1])
	return line{number, pid, m[2], strings.TrimSuffix(m[3], " ")}, true
}

// errorLog follows a log while it is written.
type errorLog struct {
	name   string
	file   *os.File
	rest   []byte // of a line that is not complete yet
	count  int    // lines in the file so far
	lines  []line
	roster roster
}

// read takes what was written since the last call.
func (l *errorLog) read() error {
	if l.file == nil {
		file, err := os.Open(l.name)
		if errors.Is(err, os.ErrNotExist) {
			return nil // not written to yet
		} else if err != nil {
			return err
		}
		l.file = file
	}
	more, err := io.ReadAll(l.file)
	if err != nil {
		return err
	}
	l.rest = append(l.rest, more...)
	for {
		text, rest, ok := bytes.Cut(l.rest, []byte("\n"))
		if !ok {
			return nil
		}
		l.rest = rest
		l.count++
		if line, ok := parseLine(l.count, string(text)); ok {
			l.lines = append(l.lines, line)
			l.roster.add(line)
		}
	}
}

// close ends the reading; what was read stays.
func (l *errorLog) close() {
	if l.file != nil {
		l.file.Close()
	}
}

// tail returns the last lines, for an error message.
func (l *errorLog) tail(n int) string {
	b := strings.Builder{}
	for _, line := range l.lines[max(0, len(l.lines)-n):] {
		fmt.Fprintf(&b, "\n  %s:%d: [%s] %s%s", l.name, line.number, l.roster.name(line.pid), line.conn, line.text)
	}
	return b.String()
}

// roster knows the processes of a server by what the master logs of them.
type roster struct {
	master  int
	workers []worker // in the order they were started

	next  int // number of the next worker of a batch; -1: respawn
	child int // process id that the master looked at last
}

// worker is a process. Its number is the same as that of the process that it
// replaces.
type worker struct {
	pid, number, life int
	ended             bool
}

func (w *worker) name() string {
	if w.life == 1 {
		return fmt.Sprintf("worker %d", w.number)
	}
	return fmt.Sprintf("worker %d (process %d)", w.number, w.life)
}

// add takes note of what the master did.
func (r *roster) add(l line) {
	if r.master == 0 {
		r.master = l.pid
	}
	if l.pid != r.master {
		return
	}
	var pid, slot int
	switch {
	case l.text == "start worker processes":
		r.next = 0
	case l.text == "sigsuspend":
		r.next = -1
	case scan(l.text, "child: %d %d ", &slot, &pid):
		r.child = pid
	case scan(l.text, "start worker process %d", &pid):
		r.started(pid)
	case scan(l.text, "worker process %d exited", &pid):
		if w := r.byPid(pid); w != nil {
			w.ended = true
		}
	}
}

// scan reads numbers out of a text that has the form of format.
func scan(text, format string, numbers ...any) bool {
	n, err := fmt.Sscanf(text, format, numbers...)
	return err == nil && n == len(numbers)
}

func (r *roster) started(pid int) {
	w := worker{pid: pid, number: r.next, life: 1}
	if r.next >= 0 {
		r.next++
	} else if dead := r.byPid(r.child); dead != nil {
		w.number = dead.number
	}
	for i := range r.workers {
		if r.workers[i].number == w.number {
			w.life++
		}
	}
	r.workers = append(r.workers, w)
}

func (r *roster) byPid(pid int) *worker {
	for i := range r.workers {
		if r.workers[i].pid == pid {
			return &r.workers[i]
		}
	}
	return nil
}

// byNumber returns the latest process with a worker's number, or nil.
func (r *roster) byNumber(number int) *worker {
	for i := len(r.workers) - 1; i >= 0; i-- {
		if r.workers[i].number == number {
			return &r.workers[i]
		}
	}
	return nil
}

// name returns the role of a process.
func (r *roster) name(pid int) string {
	if pid == r.master {
		return "master"
	}
	if w := r.byPid(pid); w != nil {
		return w.name()
	}
	return "outside"
}
