//go:build !linux

package main

import (
	"context"
	"fmt"
	"runtime"

	"herd/tools/measure"
)

// watchMain has nothing to look at where nginx is not watched by its kernel.
func watchMain(context.Context, []string) error {
	return fmt.Errorf("watch needs Linux, this is %s: %w", runtime.GOOS, measure.ErrCannotShow)
}
