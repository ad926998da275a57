package lab05

import (
	"fmt"
	"slices"
	"time"

	"herd/nginxref/sys/fake"
	"herd/tools/lab"
)

// delay is accept_mutex_delay.
const delay = 500 * time.Millisecond

// nobodyIsRefused is CASES B03 at several speeds, up to the last free slot.
func (c *checks) nobodyIsRefused(t *lab.T) {
	for _, gap := range []time.Duration{0, time.Millisecond, 20 * time.Millisecond, 60 * time.Millisecond, 600 * time.Millisecond} {
		t.Run(func(w *fake.World) {
			s := start(w, 4, 32, c.f.partB)
			w.Note("scenario", fmt.Sprintf("4 workers have 31 free slots each; a connection comes every %v", gap))
			s.connect(4*31, gap)
			w.Advance(10 * time.Second)
			w.Expect("nobody is refused", s.refused(), 0)
			w.Expect("every slot is used", s.Shares(), []int{31, 31, 31, 31})
		})
	}
}

// othersFirst has the workers try at different moments of the delay.
func (c *checks) othersFirst(t *lab.T) {
	for _, gap := range []time.Duration{0, 3 * time.Millisecond, 7 * time.Millisecond, 20 * time.Millisecond} {
		for _, apart := range []time.Duration{0, 50 * time.Millisecond, 130 * time.Millisecond} {
			t.Run(func(w *fake.World) { c.others(w, gap, apart) })
		}
	}
}

func (c *checks) others(w *fake.World, gap, apart time.Duration) {
	s := start(w, 4, 32, c.f.partB)
	for _, wk := range s.Workers {
		wk.Interrupt()
		w.Advance(apart)
	}
	w.Note("scenario", fmt.Sprintf("the workers try %v apart; a connection comes every %v", apart, gap))
	w.Always("no worker is full while another has more than half of its table free", func() string {
		if shares := s.Shares(); slices.Max(shares) == 31 && slices.Min(shares) < 16 {
			return fmt.Sprintf("the workers have taken %v, and have room for 31", shares)
		}
		return ""
	})
	s.connect(3*31, gap)
	w.Advance(10 * time.Second)
	w.Expect("all are accepted", s.accepted(), 3*31)
}

// takeTheRest has every worker seven eighths full, and then uses the rest.
func (c *checks) takeTheRest(t *lab.T) {
	t.Run(func(w *fake.World) {
		s := start(w, 4, 128, c.f.partB)
		s.connect(4*113, 0)
		w.Advance(20 * time.Second)
		w.Expect("all are accepted while there is room", s.accepted(), 4*113)
		s.connect(4*14, 0)
		w.Advance(4 * 2 * delay)
		w.Expect("the rest of the slots is used, in two delays for each worker", s.accepted(), 4*127)
		w.Expect("nobody is refused", s.refused(), 0)
	})
}

func (c *checks) haveThemWait(t *lab.T) {
	t.Run(func(w *fake.World) {
		s := start(w, 2, 16, c.f.partB)
		s.connect(2*15, 0)
		w.Advance(10 * time.Second)
		w.Expect("every slot is used", s.Shares(), []int{15, 15})

		before := w.Total()
		s.connect(3, 0)
		w.Advance(10 * time.Second)
		w.Expect("three more are neither accepted nor refused", []int{s.accepted(), s.refused(), s.Listener.Queued()}, []int{30, 0, 3})
		lab.AtMost(w, "two workers wake twice a second at most, for 10 s", w.Total().Since(before).Wakeups, 2*21)

		for i := range 3 {
			s.clients[i].Close()
			w.Advance(2 * delay)
			w.Expect("a client has left, and the next one is accepted", s.accepted(), 31+i)
		}
	})
}

func (c *checks) notRegistered(t *lab.T) {
	t.Run(func(w *fake.World) {
		s := start(w, 3, 32, c.f.partB)
		w.Always("who sleeps registered has the lock", func() string {
			for _, wk := range s.Workers {
				if wk.Asleep() && wk.Registered() && s.Zone.AcceptMutex.Lock.Load() != uint64(wk.Pid) {
					return wk.Name + " does not"
				}
			}
			return ""
		})
		s.connect(3*31, 20*time.Millisecond)
		w.Advance(5 * time.Second)
		w.Expect("all are accepted", s.accepted(), 3*31)
	})
}
