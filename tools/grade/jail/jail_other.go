//go:build !linux

package jail

import (
	"errors"
	"syscall"
)

// process is never one.
type process struct {
	pid      int
	name     string
	resident int64
	dead     bool
}

func (p *process) end() {}

// descendants are not known here.
func descendants() []*process { return nil }

// quit has a Go program print where it is, and end.
func quit(pid int) { syscall.Kill(pid, syscall.SIGQUIT) }

// tasks are not counted here.
func tasks() int { return 0 }

// adoptOrphans has no equivalent.
func adoptOrphans() error { return nil }

// confine does nothing but refuse what cannot be done here.
func (p *Program) confine() error {
	if p.User != nil {
		return errors.New("running as another user needs Linux")
	}
	return nil
}
