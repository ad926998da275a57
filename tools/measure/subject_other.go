//go:build !linux

package measure

import (
	"context"

	"herd/nginxref/event"
	"herd/nginxref/sys"
)

// Main has nothing to do where no subject can be started.
func Main() {}

// CheckNofile has nothing to check.
func CheckNofile(int) error { return nil }

// Subject cannot be made on this system.
type Subject struct{}

// Start says why not.
func Start(context.Context, Conf, string) (*Subject, error) {
	_, err := sys.New()
	return nil, err
}

// Measure is never called: there is no Subject.
func (s *Subject) Measure(context.Context, Load, func(int)) (Run, error) {
	return Run{}, nil
}

// Timeline is never called.
func (s *Subject) Timeline(context.Context, Load, func(int)) (*Timeline, error) {
	return nil, nil
}

// Stop is never called.
func (s *Subject) Stop() {}

func newLoopKernel(cycle *event.Cycle, blocking bool) sys.Kernel { return cycle.Kernel }

// WitnessMissing says why there is no second witness.
func WitnessMissing() error {
	_, err := sys.New()
	return err
}
