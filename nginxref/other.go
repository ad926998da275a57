//go:build !linux

// Command nginxref is a web server that is driven as nginx is. It runs on
// Linux only.
package main

import (
	"fmt"
	"os"

	"herd/nginxref/sys"
)

func main() {
	_, err := sys.New()
	fmt.Fprintln(os.Stderr, "nginxref:", err)
	os.Exit(1)
}
