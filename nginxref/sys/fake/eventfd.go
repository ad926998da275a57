package fake

import (
	"encoding/binary"
	"math"

	"herd/nginxref/sys"
)

// eventfd is a counter that can be waited for.
type eventfd struct {
	count uint64
	wq    waitQueue
}

func (e *eventfd) poll() (bits uint32) {
	if e.count > 0 {
		bits |= sys.EPOLLIN
	}
	if e.count < math.MaxUint64-1 {
		bits |= sys.EPOLLOUT
	}
	return bits
}

func (e *eventfd) waiters() *waitQueue { return &e.wq }
func (e *eventfd) release()            {}

func (e *eventfd) read(p []byte) (int, sys.Errno) {
	if len(p) < 8 {
		return -1, sys.EINVAL
	}
	if e.count == 0 {
		return -1, sys.EAGAIN
	}
	binary.NativeEndian.PutUint64(p, e.count)
	e.count = 0
	e.wq.wake(sys.EPOLLOUT)
	return 8, 0
}

// write adds to the counter. Each write is an edge, also while the counter is
// not 0.
func (e *eventfd) write(p []byte) (int, sys.Errno) {
	if len(p) < 8 {
		return -1, sys.EINVAL
	}
	n := binary.NativeEndian.Uint64(p)
	if n == math.MaxUint64 {
		return -1, sys.EINVAL
	}
	if e.count > math.MaxUint64-1-n {
		return -1, sys.EAGAIN
	}
	e.count += n
	e.wq.wake(sys.EPOLLIN)
	return 8, 0
}

func (p *Process) Eventfd() (int, sys.Errno) {
	fd, err := -1, p.begin(Eventfd, true)
	if err == 0 {
		fd, err = p.install(&description{object: &eventfd{}, name: "eventfd", nonblock: true})
	}
	p.end(func() string { return "eventfd2() = " + ret(fd, err) })
	return fd, err
}
