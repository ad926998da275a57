//go:build !linux

package shmtx

import (
	"fmt"
	"runtime"
)

// Shm is memory shared between processes; only Linux has it here.
type Shm struct {
	Name string
	Addr []byte
	Fd   int
}

var errNoZone = fmt.Errorf("shared zone: this needs Linux (memfd_create) and you are on %s: "+
	"use a Linux machine, a virtual machine or a container", runtime.GOOS)

// Alloc reports that this system has no memfd.
func Alloc(name string, size int) (*Shm, error) { return nil, errNoZone }

// Attach reports that this system has no memfd.
func Attach(fd, size int) (*Shm, error) { return nil, errNoZone }

// Free does nothing: there is no zone to free.
func (shm *Shm) Free() error { return nil }
