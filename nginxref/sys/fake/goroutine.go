package fake

import (
	"bytes"
	"runtime"
)

// Goroutine is how stack traces name a goroutine: "goroutine 23 ".
type Goroutine string

// CurrentGoroutine returns the name of the one that calls.
func CurrentGoroutine() Goroutine {
	var buf [64]byte
	stack := buf[:runtime.Stack(buf[:], false)]
	return Goroutine(stack[:bytes.IndexByte(stack, '[')])
}

// Stack returns what a stack trace of all goroutines says of g, or "" if g has
// ended.
func (g Goroutine) Stack() string {
	dump := make([]byte, 1<<20)
	dump = dump[:runtime.Stack(dump, true)]
	for _, stack := range bytes.Split(dump, []byte("\n\n")) {
		if bytes.HasPrefix(stack, []byte(g)) {
			return string(stack)
		}
	}
	return ""
}
