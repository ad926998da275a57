package event

import (
	"bytes"
	"fmt"
	"strings"
)

// errorLog keeps the lines of an error log: "[debug] epoll timer: -1".
type errorLog struct{ lines []string }

// Write takes a line of the log.
func (l *errorLog) Write(line []byte) (int, error) {
	_, rest, _ := bytes.Cut(line, []byte(" ["))
	level, rest, _ := bytes.Cut(rest, []byte("] "))
	_, text, _ := bytes.Cut(rest, []byte(": "))
	l.lines = append(l.lines, fmt.Sprintf("[%s] %s", level, bytes.TrimSpace(text)))
	return len(line), nil
}

// logged counts the lines of the log that hold text.
func (l *errorLog) logged(text string) (n int) {
	for _, line := range l.lines {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}
