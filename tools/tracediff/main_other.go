//go:build !linux

// Command tracediff compares nginxref with the real nginx. It needs Linux.
package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "tracediff needs Linux: it runs nginx and nginxref on epoll")
	os.Exit(3)
}
