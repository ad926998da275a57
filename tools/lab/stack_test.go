package lab

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A stack trace leads to the student's lines, wherever the tree lies.
func TestStackLeadsToTheStudentsLines(t *testing.T) {
	const stack = `goroutine 7 [running]:
herd/labs/lab00-herd.LevelTriggered(0x1, {0x2, 0x3})
	/home/a student/my course/labs/lab00-herd/herd.go:11 +0x1c
herd/labs/lab00-herd.Other(...)
	/home/a student/my course/labs/lab00-herd/main.go:3 +0x1c
herd/tools/lab.(*T).Run(0x4)
	/home/a student/my course/tools/lab/fake.go:80 +0x2f
`
	l := &Lab{Name: "lab00-herd", Files: []string{"herd.go"}}
	if diff := cmp.Diff([]string{"herd.go:11 in LevelTriggered"}, l.Where(stack)); diff != "" {
		t.Error(diff)
	}
}
