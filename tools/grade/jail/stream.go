package jail

import (
	"io"
	"os"
	"strings"
	"time"
)

// stream reads what a program writes to one of its descriptors.
type stream struct {
	file                *os.File
	keepFirst, keepLast int // bytes; one of them is set
	data                []byte
	done                chan struct{}
}

// newStream returns a stream and the end of it that is the program's.
func newStream(keepFirst, keepLast int) (*stream, *os.File, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	s := &stream{file: r, keepFirst: keepFirst, keepLast: keepLast, done: make(chan struct{})}
	go func() {
		defer close(s.done)
		io.Copy(s, r)
	}()
	return s, w, nil
}

// Write keeps what is to be kept of b.
func (s *stream) Write(b []byte) (int, error) {
	if s.keepFirst > 0 {
		s.data = append(s.data, b[:min(len(b), s.keepFirst-len(s.data))]...)
		return len(b), nil
	}
	s.data = append(s.data, b...)
	if len(s.data) > 2*s.keepLast {
		s.data = append(s.data[:0], s.data[len(s.data)-s.keepLast:]...)
	}
	return len(b), nil
}

// read returns what was written. The writers are dead; the deadline is for one
// that could not be killed.
func (s *stream) read() []byte {
	s.file.SetReadDeadline(time.Now().Add(time.Second))
	<-s.done
	s.file.Close()
	if s.keepLast > 0 {
		return s.data[max(0, len(s.data)-s.keepLast):]
	}
	return s.data
}

// filled returns a pipe to read text from.
func filled(text string) (*os.File, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer w.Close()
	_, err = io.Copy(w, strings.NewReader(text))
	return r, err
}
