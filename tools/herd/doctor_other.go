//go:build !linux

package main

import (
	"context"
	"fmt"
	"runtime"
)

// examine has nothing to look at: all is measured on Linux.
func examine(context.Context) ([]check, error) {
	err := fmt.Errorf("wakeups are counted on Linux only, this is %s", runtime.GOOS)
	return []check{{what: "kernel", says: err.Error(), mend: "docker run --rm -v .:/herd -w /herd golang:1.26 go run ./tools/herd"}}, err
}
