//go:build !linux || amd64

package sys

// EpollEvent is the kernel's struct epoll_event, which x86-64 packs into 12
// bytes.
type EpollEvent struct {
	Events uint32 // EPOLL bits
	data   [2]uint32
}
