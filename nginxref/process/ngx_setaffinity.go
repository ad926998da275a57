package process

import (
	"herd/nginxref/core"
	"herd/nginxref/event"
)

// setaffinity has the calling thread, the loop's, run on the given processors
// only. Mirrors ngx_setaffinity.
//
//nginx:src/os/unix/ngx_setaffinity.c ngx_setaffinity
func setaffinity(cpuAffinity *event.CPUSet, log *core.Log) {
	for i := range len(cpuAffinity) * 64 { // 40
		if cpuAffinity.IsSet(i) { // 41
			log.Error(core.LogNotice, 0, "sched_setaffinity(): using cpu #%d", i) // 42
		}
	}

	if err := schedSetaffinity(cpuAffinity); err != nil { // 47
		log.Error(core.LogAlert, core.ErrnoOf(err), "sched_setaffinity() failed") // 48
	}
}
