package measure

import (
	"context"
	"math"
	"os/exec"
	"slices"
	"testing"
)

// needTracepoints skips the test where the kernel cannot be asked.
func needTracepoints(t *testing.T) {
	t.Helper()
	if err := WitnessMissing(); err != nil {
		t.Skip("no tracepoints: ", err)
	}
}

// needNginx skips the test where the real nginx is not installed or cannot be
// watched.
func needNginx(t *testing.T) {
	t.Helper()
	needTracepoints(t)
	if _, err := exec.LookPath("nginx"); err != nil {
		t.Skip("the real nginx is not installed: ", err)
	}
}

// The workers' own counters and the kernel's tracepoints tell the same story,
// silent wakeups included.
func TestWitnessesAgree(t *testing.T) {
	needTracepoints(t)
	for _, fix := range Fixes {
		t.Run(fix.Name, func(t *testing.T) {
			s := start(t, Conf{Fix: fix.Name, Workers: 8, DelayMsec: 60_000})
			before, err := s.reading()
			if err != nil {
				t.Fatal(err)
			}
			measure(t, s, 100)
			after, err := s.reading()
			if err != nil {
				t.Fatal(err)
			}
			if list := s.witness.disagreements(before, after); list != nil {
				t.Errorf("%q", list)
			}
		})
	}
}

// A witness that counts something else is noticed.
func TestDisagreementIsReported(t *testing.T) {
	w := witness{name: "tracepoints", compare: []quantity{wakeups, accepted}}
	before := reading{samples: []Sample{{}}, second: []Sample{{}}}
	after := reading{
		samples: []Sample{{Wakeups: 1000, Accepted: 100}},
		second:  []Sample{{Wakeups: 1011, Accepted: 102}},
	}
	want := []string{"wakeups: 1000, but tracepoints say 1011"}
	if got := w.disagreements(before, after); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// nginxref does, connection by connection, what the real nginx does: the same
// wakeups, returns and erroneous accepts within 2 %, and the same shares.
func TestRealNginxDoesTheSame(t *testing.T) {
	needNginx(t)
	for _, fix := range NginxFixes() {
		var runs []Run
		for _, nginx := range []string{"", "nginx"} {
			s, err := Start(context.Background(), Conf{Fix: fix.Name, Workers: 4, DelayMsec: 60_000, Nginx: nginx}, "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			runs = append(runs, measure(t, s, 200))
			s.Stop()
		}
		ours, theirs := runs[0], runs[1]
		for _, c := range []struct {
			what         string
			ours, theirs float64
		}{
			{"wakeups", ours.WakeupsPerConn, theirs.WakeupsPerConn},
			{"returns", ours.ReturnsPerConn, theirs.ReturnsPerConn},
			{"EAGAIN", ours.EagainPerConn, theirs.EagainPerConn},
		} {
			if math.Abs(c.ours-c.theirs) > 0.02*max(1, c.theirs) {
				t.Errorf("%s: %s per connection: %.3f, nginx %.3f", fix.Name, c.what, c.ours, c.theirs)
			}
		}
		if !fix.Reuseport { // its shares are a hash of the clients' ports
			slices.Sort(ours.Shares)
			slices.Sort(theirs.Shares)
			if !slices.Equal(ours.Shares, theirs.Shares) {
				t.Errorf("%s: shares %v, nginx %v", fix.Name, ours.Shares, theirs.Shares)
			}
		}
	}
}
