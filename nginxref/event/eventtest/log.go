package eventtest

import (
	"bytes"
	"fmt"
	"regexp"

	"herd/nginxref/core"
	"herd/nginxref/sys/fake"
)

// lines is the error log of a process: its lines go into the trace.
type lines struct {
	p      *fake.Process
	worker *Worker // keeps the alerts; nil for the master
}

// newLog returns a log of p. Debug lines are made only if there is a trace.
func newLog(p *fake.Process, w *Worker) *core.Log {
	level := uint(core.LogInfo)
	if p.World().Tracing() {
		level |= core.LogDebugEvent
	}
	return &core.Log{Level: level, File: core.NewOpenFile("", &lines{p, w}, core.NewTimes(p), p.Pid)}
}

// address matches a pointer in the log; it is another one in every run.
var address = regexp.MustCompile(` (d:)?[0-9A-F]{16}`)

// Write takes one line: "2026/01/01 00:00:00 [debug] 102#102: epoll timer: -1".
func (l *lines) Write(line []byte) (int, error) {
	_, rest, _ := bytes.Cut(line, []byte(" ["))
	level, rest, _ := bytes.Cut(rest, []byte("] "))
	_, text, _ := bytes.Cut(rest, []byte(": "))
	note := fmt.Sprintf("[%s] %s", level, address.ReplaceAll(bytes.TrimSpace(text), nil))
	l.p.Note(note)
	if l.worker != nil && (string(level) == "alert" || string(level) == "emerg") {
		l.worker.Alerts = append(l.worker.Alerts, note)
	}
	return len(line), nil
}
