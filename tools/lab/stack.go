package lab

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// frame is a call in a stack trace.
var frame = regexp.MustCompile(`(?m)^(\S+)\(.*\)\n\t.*/([^/\n]+)/([^/\n]+\.go):(\d+)`)

// Where returns the places in the student's files that the stack traces show,
// innermost first: "herd.go:11 in LevelTriggered".
func (l *Lab) Where(stacks string) (list []string) {
	for _, m := range frame.FindAllStringSubmatch(stacks, -1) {
		function, dir, file, line := m[1], m[2], m[3], m[4]
		if dir != l.Name || !slices.Contains(l.Files, file) {
			continue
		}
		_, function, _ = strings.Cut(function[strings.LastIndexByte(function, '/')+1:], ".")
		if at := fmt.Sprintf("%s:%s in %s", file, line, function); !slices.Contains(list, at) {
			list = append(list, at)
		}
	}
	return list
}
