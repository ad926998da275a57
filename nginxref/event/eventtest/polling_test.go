package eventtest

import (
	"fmt"
	"testing"
	"time"

	"herd/nginxref/core"
	"herd/nginxref/event"
	"herd/nginxref/sys/fake"
)

// CASES B16: 4 workers for 5 s with nothing to do. The holder of the accept
// mutex sleeps through, each of the others tries for it every
// accept_mutex_delay. Without the mutex, or where each has a listener of its
// own, nobody wakes at all.
func TestB16IdleWorkersPollForTheMutexOnly(t *testing.T) {
	polling := func(delay core.Msec) event.EventConf {
		return event.EventConf{AcceptMutex: true, AcceptMutexDelay: delay}
	}
	for _, c := range []struct {
		name string
		conf Conf
		want int // wakeups of each worker but the holder
	}{
		{"500 ms", Conf{Event: polling(500)}, 10},
		{"50 ms", Conf{Event: polling(50)}, 100},
		{"5 ms", Conf{Event: polling(5)}, 1000},
		{"mutex off", Conf{Event: exclusive}, 0},
		{"mutex off, herd", Conf{Event: herd}, 0},
		{"reuseport", Conf{Event: herd, Reuseport: true}, 0},
		// Though it guards nothing then. The real nginx polls as well.
		{"reuseport, mutex on", Conf{Event: polling(5), Reuseport: true}, 1000},
	} {
		t.Run(c.name, func(t *testing.T) {
			run(t, func(w *fake.World) {
				c.conf.Workers = 4
				f := New(w, c.conf)
				w.Settle()
				var before []fake.Counts
				for _, wk := range f.Workers {
					before = append(before, wk.Counts)
				}
				w.Advance(5 * time.Second)
				holders := 0
				for i, wk := range f.Workers {
					want := c.want
					if f.Zone.AcceptMutex.Lock.Load() == uint64(wk.Pid) {
						holders++
						want = 0
					}
					got := wk.Counts.Since(before[i])
					w.Expect("wakeups, and returns by timeout, of "+wk.Name,
						fmt.Sprint(got.Wakeups, got.ReturnsTimeout), fmt.Sprint(want, want))
				}
				w.Expect("the mutex is held", holders == 1, c.conf.Event.AcceptMutex)
			})
		})
	}
}
