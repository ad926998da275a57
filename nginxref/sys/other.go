//go:build !linux

package sys

import (
	"fmt"
	"runtime"
)

// New reports that this system has no epoll. The deterministic kernel in
// sys/fake runs everywhere.
func New() (Kernel, error) {
	return nil, fmt.Errorf("this needs Linux (epoll, SO_REUSEPORT, /proc) and you are on %s: "+
		"use a Linux machine, a virtual machine or a container", runtime.GOOS)
}
