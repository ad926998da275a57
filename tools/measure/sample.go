package measure

import "herd/nginxref/stat"

// Sample is what one worker has done so far, as one witness saw it.
type Sample struct {
	Accepted       uint64
	Again          uint64 // accept4 that found nothing
	ReturnsEvents  uint64 // epoll_wait with events
	ReturnsTimeout uint64 // epoll_wait without
	Wakeups        uint64
	WakeupsTimeout uint64 // of those, by a timeout: polling
	CPUNsec        uint64 // of the loop thread
	Lab            [4]uint64
}

// sampleOf returns the sample that a worker's own counters make.
func sampleOf(w *stat.Worker) Sample {
	return Sample{
		Accepted:       w.Accepted,
		Again:          w.AcceptAgain,
		ReturnsEvents:  w.ReturnsEvents,
		ReturnsTimeout: w.ReturnsTimeout,
		Wakeups:        w.Wakeups,
		WakeupsTimeout: w.WakeupsTimeout,
		CPUNsec:        w.CPUNsec(),
		Lab:            w.Lab,
	}
}

// sum adds up what happened between two samples of each worker.
func sum(before, after []Sample) (d Sample) {
	for i := range after {
		a, b := &after[i], &before[i]
		d.Accepted += a.Accepted - b.Accepted
		d.Again += a.Again - b.Again
		d.ReturnsEvents += a.ReturnsEvents - b.ReturnsEvents
		d.ReturnsTimeout += a.ReturnsTimeout - b.ReturnsTimeout
		d.Wakeups += a.Wakeups - b.Wakeups
		d.WakeupsTimeout += a.WakeupsTimeout - b.WakeupsTimeout
		d.CPUNsec += a.CPUNsec - b.CPUNsec
		for j := range d.Lab {
			d.Lab[j] += a.Lab[j] - b.Lab[j]
		}
	}
	return d
}
