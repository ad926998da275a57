//go:build amd64 || arm64

package sys

// cpuPause is the processor's spin-loop hint: PAUSE or YIELD. It mirrors
// ngx_cpu_pause.
//
//go:noescape
func cpuPause()
