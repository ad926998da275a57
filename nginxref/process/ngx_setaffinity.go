package process

import (
	"herd/nginxref/core"
	"herd/nginxref/event"
)

// setaffinity has the calling thread, the loop's, run on the given processors
// only. Mirrors ngx_setaffinity.
func setaffinity(cpuAffinity *event.CPUSet, log *core.Log) {
	for i := range len(cpuAffinity) * 64 {
		if cpuAffinity.IsSet(i) {
			log.Error(core.LogNotice, 0, "sched_setaffinity(): using cpu #%d", i)
		}
	}

	if err := schedSetaffinity(cpuAffinity); err != nil {
		log.Error(core.LogAlert, core.ErrnoOf(err), "sched_setaffinity() failed")
	}
}
