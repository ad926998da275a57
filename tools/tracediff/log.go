package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
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

var stamped = regexp.MustCompile(`^\d{4}/\d\d/\d\d \d\d:\d\d:\d\d \[\w+\] (\d+)#(\d+): (\*\d+ )?(.*)$`)

// parseLine reads one line of the file; ok says that it has a stamp. Debian's
// nginx writes the pid file before the process that was started ends, in the
// daemon's name but with its own thread's: that is left out.
func parseLine(number int, text string) (l line, ok bool) {
	m := stamped.FindStringSubmatch(text)
	if m == nil || m[1] != m[2] {
		return line{}, false
	}
	pid, _ := strconv.Atoi(m[1])
	return line{number, pid, m[3], strings.TrimSuffix(m[4], " ")}, true
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
			line = l.roster.of(line)
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

// roster knows the processes of a server by what the masters log of them.
type roster struct {
	launcher int      // what has started the first master as a daemon; what it does is that one's
	masters  []master // the first, and the new binary's
	workers  []worker // in the order they were started
}

// master is a process that has workers, or that is its own worker.
type master struct {
	pid   int
	next  int // number of the next worker of a batch; -1: respawn
	child int // process id that it looked at last
}

// worker is a process. Its number is the same as that of the process that it
// replaces.
type worker struct {
	pid, number, life int
	master            int // whose it is
	ended             bool
}

// masterName is the first master's name. What is of the new binary has a name
// that begins with fresh.
const (
	masterName = "master"
	fresh      = "new "
)

// side returns what the names of a master's processes begin with.
func side(master int) string {
	if master > 0 {
		return fresh
	}
	return ""
}

func (w *worker) name() string {
	name := fmt.Sprintf("%sworker %d", side(w.master), w.number)
	if w.life > 1 {
		name += fmt.Sprintf(" (process %d)", w.life)
	}
	return name
}

// of returns a line with the process id of whose it is.
func (r *roster) of(l line) line {
	if l.pid == r.launcher {
		l.pid = r.masters[0].pid
	}
	return l
}

// add takes note of what a master did.
func (r *roster) add(l line) {
	if len(r.masters) == 0 {
		r.masters = append(r.masters, master{pid: l.pid})
	}
	i := slices.IndexFunc(r.masters, func(m master) bool { return m.pid == l.pid })
	if i == -1 {
		return
	}
	m := &r.masters[i]
	var pid, slot int
	switch {
	case l.text == "start worker processes":
		m.next = 0
	case l.text == "sigsuspend":
		m.next = -1
	case scan(l.text, "child: %d %d ", &slot, &pid):
		m.child = pid
	case scan(l.text, "start worker process %d", &pid):
		r.started(i, pid)
	case scan(l.text, "worker process %d exited", &pid):
		if w := r.byPid(pid); w != nil {
			w.ended = true
		}
	case scan(l.text, "start new binary process %d", &pid):
		r.masters = append(r.masters, master{pid: pid})
	}
}

// scan reads numbers out of a text that has the form of format.
func scan(text, format string, numbers ...any) bool {
	n, err := fmt.Sscanf(text, format, numbers...)
	return err == nil && n == len(numbers)
}

func (r *roster) started(i, pid int) {
	m := &r.masters[i]
	w := worker{pid: pid, number: m.next, life: 1, master: i}
	if m.next >= 0 {
		m.next++
	} else if dead := r.byPid(m.child); dead != nil {
		w.number = dead.number
	}
	for _, o := range r.workers {
		if o.number == w.number && o.master == w.master {
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

// called returns the process id of the latest process with a name, or 0:
// "master", "worker 1", "new worker 0".
func (r *roster) called(name string) (pid int) {
	for i, m := range r.masters {
		if name == side(i)+masterName {
			pid = m.pid
		}
	}
	for _, w := range r.workers {
		if name == fmt.Sprintf("%sworker %d", side(w.master), w.number) {
			pid = w.pid
		}
	}
	return pid
}

// name returns the role of a process.
func (r *roster) name(pid int) string {
	for i, m := range r.masters {
		if m.pid == pid {
			return side(i) + masterName
		}
	}
	if w := r.byPid(pid); w != nil {
		return w.name()
	}
	return "outside"
}

// pids returns all processes: the masters, and then the workers.
func (r *roster) pids() (pids []int) {
	for _, m := range r.masters {
		pids = append(pids, m.pid)
	}
	for _, w := range r.workers {
		pids = append(pids, w.pid)
	}
	return pids
}
