package event

import (
	"testing"

	"golang.org/x/sys/unix"

	"herd/nginxref/core"
	"herd/nginxref/sys"
)

// polling is the real kernel, which does not sleep.
type polling struct{ sys.Kernel }

func (k polling) EpollWait(ep int, list []sys.EpollEvent, msec int) (int, sys.Errno) {
	return k.Kernel.EpollWait(ep, list, 0)
}

// benchWorker is a worker that only looks whether there is anything to do. A
// far timer stands for those of its connections.
func benchWorker(b *testing.B) *worker {
	w := newWorker(b)
	w.bare()
	w.ConnectionN = 1024
	w.Kernel = polling{w.Kernel}
	return w
}

func BenchmarkTurnWithNothingToDo(b *testing.B) {
	w := benchWorker(b)
	w.start()
	w.AddTimer(&Event{Log: w.Log}, 3600_000)
	for b.Loop() {
		w.ProcessEventsAndTimers()
	}
}

func BenchmarkAddDelTimer(b *testing.B) {
	w := benchWorker(b)
	w.start()
	for i := range 1000 { // of other connections
		w.AddTimer(&Event{Log: w.Log}, core.Msec(60_000+i*7))
	}
	ev := &Event{Log: w.Log}
	for b.Loop() {
		w.AddTimer(ev, 63_000)
		w.DelTimer(ev)
	}
}

func BenchmarkPostProcess(b *testing.B) {
	w := benchWorker(b)
	w.start()
	ev := &Event{Log: w.Log, Handler: func(*Event) {}}
	for b.Loop() {
		PostEvent(ev, &w.PostedEvents)
		w.ProcessPosted(&w.PostedEvents)
	}
}

// One turn takes one connection, answers and closes it. The clients connect
// while the clock stands still.
func BenchmarkAcceptServeClose(b *testing.B) {
	const batch = 256

	w := benchWorker(b)
	served := 0
	ls := w.listen()
	ls.Handler = w.serving(&served)
	w.start()
	var clients []int
	b.ReportAllocs()
	for b.Loop() {
		if len(clients) == 0 {
			b.StopTimer()
			for range batch {
				clients = append(clients, client(b, ls))
			}
			b.StartTimer()
		}
		w.ProcessEventsAndTimers()
		unix.Close(clients[0])
		clients = clients[1:]
	}
	if served == 0 {
		b.Error("nothing was served")
	}
}
