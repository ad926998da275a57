package process

import (
	"os"
	"unsafe"

	"herd/nginxref/core"
)

// title is the memory that ps shows: the kernel put the arguments there and
// the environment behind them, in one piece. nginx moves the environment away
// to use its room too; Go made a copy of it at the start of the program.
var title = initSetproctitle()

// initSetproctitle finds the memory of the title. Mirrors
// ngx_init_setproctitle.
func initSetproctitle() []byte {
	size := 0

	for _, env := range os.Environ() {
		size += len(env) + 1
	}

	for _, arg := range os.Args {
		size += len(arg) + 1
	}

	return unsafe.Slice(unsafe.StringData(os.Args[0]), size-1)
}

// setproctitle has ps show the process as the program's name, a colon and
// title. Every string in os.Args changes with it. Mirrors ngx_setproctitle.
func (p *Process) setproctitle(text string) {
	n := copy(title[:len(title)-1], p.Name+": "+text)

	clear(title[n:])

	p.Cycle.Log.Debug(core.LogDebugCore, 0, "setproctitle: \"%s\"", title[:n])
}
