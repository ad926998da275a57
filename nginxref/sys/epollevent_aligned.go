//go:build linux && !amd64

package sys

// EpollEvent is the kernel's struct epoll_event: 16 bytes everywhere but on
// x86-64.
type EpollEvent struct {
	Events uint32 // EPOLL bits
	_      uint32
	data   [2]uint32
}
