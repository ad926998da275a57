package process

import (
	"slices"
	"strings"
	"syscall"
	"testing"

	"herd/nginxref/event"
)

// closeLater makes c an idle connection without a timer, which is not closed
// when it is told to: the handler posts an event that does it.
func closeLater(c *event.Connection) {
	c.Cycle.DelTimer(c.Read)
	c.Idle = true
	c.Read.Handler = func(rev *event.Event) {
		if c.Close {
			event.PostEvent(c.Write, &c.Cycle.PostedEvents)
		}
	}
	c.Write.Handler = func(*event.Event) {
		c.Send([]byte("posted\n"))
		c.Cycle.CloseConnection(c)
	}
	c.Send([]byte("later\n"))
}

// CASES D27. An idle connection's handler posts an event when the worker that
// was told to quit has it closed. nginx 1.22.1 leaves the event where it is: a
// worker that nothing else keeps exits with the connection open, and one that
// waits for another connection handles it when that wait is over, here after a
// minute. From 1.23.3 on it is handled at once, and so it is here.
func TestWhatClosingIdleConnectionsPostsIsHandledAtOnce(t *testing.T) {
	for _, test := range []struct {
		name   string
		active int // connections whose timers keep the worker
	}{
		{"nothing else to wait for", 0},
		{"another connection to wait for", 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := start(t, conf{Workers: 1})
			pid := s.pids(0, 0)[0]
			var active []*client
			for range test.active {
				active = append(active, s.greeted())
			}
			c := s.greeted()
			s.ask(c, "later", "later")

			s.signal(syscall.SIGQUIT)
			if line, err := c.r.ReadString('\n'); line != "posted\n" {
				t.Errorf("the connection got %q, %v, want what the posted event sends", line, err)
			}
			s.closed(c)
			for _, c := range active {
				s.bye(c)
			}
			s.gone()
			s.quiet()

			steps := s.lines(by(pid) + `(gracefully|posted event|epoll timer|exiting)`)
			quit := slices.IndexFunc(steps, func(step string) bool { return strings.Contains(step, "gracefully") })
			if quit == -1 || quit+1 == len(steps) || !strings.Contains(steps[quit+1], "posted event") {
				t.Errorf("the worker does something else before the posted event:\n%s", strings.Join(steps, "\n"))
			}
		})
	}
}
