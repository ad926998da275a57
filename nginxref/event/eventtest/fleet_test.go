package eventtest

import (
	"testing"

	"herd/nginxref/event"
	"herd/nginxref/sys/fake"
)

// Shared listener, no fix: N wakeups a connection.
func TestHerdWakesEveryWorker(t *testing.T) {
	fake.Run(func(w *fake.World) {
		f := New(w, Conf{Workers: 4})
		w.Settle()
		for range 10 {
			before := w.Total()
			w.Connect(f.Listener)
			w.Settle()
			w.Expect("a connection wakes every worker", w.Total().Since(before).Wakeups, 4)
		}
	}, fake.Options{}).Check(t)
	_ = event.EventConf{}
}
