package http

import (
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"herd/nginxref/sys"
)

// refilled is a kernel in which one socket does not get empty: whatever is read
// from it the client has sent again when the read returns, a thousand times.
type refilled struct {
	sys.Kernel
	fd, client int
	recvs      int // of fd
}

func (k *refilled) Recv(fd int, p []byte) (int, sys.Errno) {
	n, err := k.Kernel.Recv(fd, p)
	if fd == k.fd && n > 0 {
		if k.recvs++; k.recvs < 1000 {
			unix.Write(k.client, p[:n])
		}
	}
	return n, err
}

// CASES E07: whatever is read and thrown away, of a client that sends faster
// than that goes, a turn reads no more than was in the socket; the others are
// answered in each turn, behind that many reads.
func TestE07FastSenderKeepsNobodyWaiting(t *testing.T) {
	const (
		piece  = 4096 // read at a time
		pieces = 16   // in the socket
	)
	for _, test := range []struct{ name, request string }{
		{"a body", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000000000\r\n\r\n"},
		{"what comes behind the last answer", bad},
	} {
		t.Run(test.name, func(t *testing.T) {
			cscf := hello()
			cscf.Locations[0].ClientMaxBodySize = 0 // no limit
			s := newServer(t, cscf)
			fast := s.connect()
			fast.send(test.request)
			kernel := &refilled{Kernel: s.cycle.Kernel, fd: s.only().c.Fd, client: fast.fd}
			s.cycle.Kernel = kernel
			other := s.connect()
			other.send(get)
			other.expect("200 OK", "hello")

			for range pieces {
				fast.write(string(make([]byte, piece)))
			}
			var waited []int
			for range 10 {
				other.write(get) // behind the fast sender's event
				kernel.recvs = 0
				s.cycle.ProcessEventsAndTimers()
				waited = append(waited, kernel.recvs)
				other.recv()
				other.expect("200 OK", "hello")
			}
			// The first read fills the buffer; then it is known how much there is.
			if want := slices.Repeat([]int{1 + pieces}, 10); !slices.Equal(waited, want) {
				t.Errorf("reads in each turn %v, want %v", waited, want)
			}
		})
	}
}
