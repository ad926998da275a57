package measure

import (
	"context"
	"fmt"
	"math"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"herd/nginxref/core"
	"herd/nginxref/event"
	"herd/nginxref/stat"
)

// broken are fixes that no worker survives.
var broken = []*Fix{
	{Name: "panics", Configure: func(cycle *event.Cycle) {
		cycle.Modules[0].InitProcess = func(*event.Cycle) core.Status { panic("on purpose") }
	}},
	{Name: "fails", Configure: func(cycle *event.Cycle) {
		cycle.Modules[0].InitProcess = func(cycle *event.Cycle) core.Status {
			cycle.Log.Error(core.LogEmerg, 0, "cannot start on purpose")
			return core.Error
		}
	}},
	{Name: "fails-in-master", Configure: func(cycle *event.Cycle) {
		cycle.Modules[0].InitModule = func(cycle *event.Cycle) core.Status {
			cycle.Log.Error(core.LogEmerg, 0, "no zone on purpose")
			return core.Error
		}
	}},
	{Name: "panics-later", Configure: func(cycle *event.Cycle) {
		cycle.Actions.ReorderAcceptEvents = func(*event.Cycle, *event.Listening) { panic("on purpose") }
	}},
}

func TestMain(m *testing.M) {
	Fixes = append(Fixes, broken...)
	Main()
	Fixes = Fixes[:len(Fixes)-len(broken)]
	code := m.Run()
	// Start has made this process the parent of every orphan: none may be
	// left.
	if pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil); err != unix.ECHILD {
		fmt.Fprintf(os.Stderr, "a test left a process behind: %d, %v\n", pid, err)
		code = 1
	}
	os.Exit(code)
}

// start starts a subject that ends with the test.
func start(t *testing.T, conf Conf) *Subject {
	t.Helper()
	s, err := Start(context.Background(), conf, "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

// measure makes conns connections one by one, each when all workers sleep.
func measure(t *testing.T, s *Subject, conns int) Run {
	t.Helper()
	run, err := s.Measure(context.Background(), Load{Conns: conns}, func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	if run.Accepted != conns {
		t.Fatalf("accepted %d of %d connections", run.Accepted, conns)
	}
	return run
}

// within fails the test unless got is within a part of want.
func within(t *testing.T, what string, got, want, part float64) {
	t.Helper()
	if math.Abs(got-want) > part*want {
		t.Errorf("%s: %.3f, want %.3f within %g %%", what, got, want, 100*part)
	}
}

// The figures below are those of real nginx and of small C programs on Linux
// 6.18; see the list and CASES A01, A03, A04, G03.

// A connection to a shared listener wakes every worker that waits on it,
// level- or edge-triggered, though few of them return from epoll_wait.
//
//	s0 -> e0, e1, .. eN-1     one epoll instance a worker
//	e0 -> t0, e1 -> t1, ..    one thread sleeps on each
func TestSharedListenerWakesEveryWorker(t *testing.T) {
	for _, fix := range []string{"none", "et"} {
		for _, n := range []int{2, 8, 32} {
			t.Run(fmt.Sprintf("%s/%d", fix, n), func(t *testing.T) {
				run := measure(t, start(t, Conf{Fix: fix, Workers: n, DelayMsec: 500}), 50)
				within(t, "wakeups per connection", run.WakeupsPerConn, float64(n), 0.02)
			})
		}
	}
}

// Most of the herd goes back to sleep inside epoll_wait: that is why EAGAIN
// and returns miss it. How many get through depends on who runs first, and on
// a busy machine more do; with 8 workers, fewer than 3 a connection.
func TestMostOfTheHerdDoesNotReturn(t *testing.T) {
	for _, fix := range []string{"none", "et"} {
		run := measure(t, start(t, Conf{Fix: fix, Workers: 8, DelayMsec: 500}), 200)
		if run.ReturnsPerConn < 1 || run.ReturnsPerConn >= 3 {
			t.Errorf("%s: %.2f returns per connection, want 1 to 3", fix, run.ReturnsPerConn)
		}
	}
}

// Where the kernel wakes one worker, nobody accepts in vain.
func TestOneWakeupPerConnection(t *testing.T) {
	for _, fix := range []string{"blocking", "exclusive", "exclusive-reorder", "reuseport"} {
		for _, n := range []int{2, 8, 32} {
			t.Run(fmt.Sprintf("%s/%d", fix, n), func(t *testing.T) {
				run := measure(t, start(t, Conf{Fix: fix, Workers: n, DelayMsec: 500}), 100)
				within(t, "wakeups per connection", run.WakeupsPerConn, 1, 0.02)
				if run.EagainPerConn != 0 {
					t.Errorf("EAGAIN per connection: %g, want 0", run.EagainPerConn)
				}
			})
		}
	}
}

// One worker is no herd, whatever is done against it; nginx then leaves the
// accept mutex out. A master that passes descriptors on wakes as well.
func TestSingleWorkerIsWokenOnce(t *testing.T) {
	for _, fix := range Fixes {
		run := measure(t, start(t, Conf{Fix: fix.Name, Workers: 1, DelayMsec: 60_000}), 20)
		within(t, fix.Name+": wakeups per connection", run.WakeupsPerConn, fix.Wakeups(1, 1, 60), 0.05)
	}
}

// The lock alone removes every erroneous accept and hardly a wakeup; its
// losers, level-triggered, see the event again at once and spin. A loser that
// spins is not asleep and so is not woken: a little under N, and within 2 % of
// it at the most.
func TestLockAloneStopsEagainNotWakeups(t *testing.T) {
	run := measure(t, start(t, Conf{Fix: "lock-only", Workers: 8, DelayMsec: 60_000}), 200)
	if run.EagainPerConn != 0 {
		t.Errorf("EAGAIN per connection: %g, want exactly 0", run.EagainPerConn)
	}
	if run.WakeupsPerConn < 0.85*8 || run.WakeupsPerConn > 1.02*8 {
		t.Errorf("wakeups per connection: %.2f, want 0.85 N to N = 6.8 to 8", run.WakeupsPerConn)
	}
	if run.ReturnsPerConn < 2 {
		t.Errorf("returns per connection: %.2f; the losers did not see the event", run.ReturnsPerConn)
	}
}

// The whole mutex wakes the holder once a connection, and nobody accepts in
// vain.
func TestAcceptMutexWakesOnlyTheHolder(t *testing.T) {
	for _, fix := range []string{"accept-mutex", "file-lock"} {
		run := measure(t, start(t, Conf{Fix: fix, Workers: 8, DelayMsec: 60_000}), 200)
		within(t, fix+": wakeups per connection", run.WakeupsPerConn, 1, 0.02)
		if run.EagainPerConn != 0 {
			t.Errorf("%s: EAGAIN per connection: %g, want 0", fix, run.EagainPerConn)
		}
	}
}

// CASES B16: the workers that do not hold the mutex poll, (N-1)/delay wakeups a
// second, whether or not anyone connects. Within 5 %, and one poll a worker for
// the ends of the window.
func TestAcceptMutexPolls(t *testing.T) {
	const (
		n     = 8
		delay = 500
		conns = 3
		rate  = 0.5
	)
	for _, fix := range []string{"accept-mutex", "file-lock"} {
		s := start(t, Conf{Fix: fix, Workers: n, DelayMsec: delay})
		run, err := s.Measure(context.Background(), Load{Rate: rate, Conns: conns}, func(int) {})
		if err != nil {
			t.Fatal(err)
		}
		polls := run.PollingWakeupsPerS * conns / rate
		want := float64(n-1) * 1000 / delay * conns / rate
		if math.Abs(polls-want) > 0.05*want+n-1 {
			t.Errorf("%s: %.0f polling wakeups, want %.0f", fix, polls, want)
		}
	}
}

// CASES B16: workers with nothing to do. The holder of the accept mutex sleeps
// through, and each of the others wakes every accept_mutex_delay, for nothing
// but the timeout; where there is no mutex nobody wakes. The real nginx does
// the same. The kernel never ends a wait too soon, so there are no more polls
// than fit into the window, and one at its end; a busy machine ends waits late,
// and a third of the polls will do (eventtest has the figures exact).
func TestB16IdleWorkersPollAndTheHolderSleeps(t *testing.T) {
	for _, c := range []struct {
		fix         string
		delay, msec int // accept_mutex_delay, and the window
	}{
		{"accept-mutex", 500, 3000},
		{"accept-mutex", 50, 500},
		{"accept-mutex", 5, 500},
		{"file-lock", 50, 500},
		{"exclusive-reorder", 5, 500},
		{"reuseport", 5, 500},
	} {
		fix, err := FixByName(c.fix)
		if err != nil {
			t.Fatal(err)
		}
		for _, conf := range []Conf{
			{Fix: c.fix, Workers: 4, DelayMsec: c.delay},
			{Fix: c.fix, Workers: 4, DelayMsec: c.delay, Nginx: "nginx"},
		} {
			if conf.Nginx != "" && !fix.Nginx {
				continue
			}
			t.Run(fmt.Sprintf("%s, %s, %d ms", conf.Subject(), c.fix, c.delay), func(t *testing.T) {
				if conf.Nginx != "" {
					needNginx(t)
				}
				wakeups, msec := idleWakeups(t, start(t, conf), time.Duration(c.msec)*time.Millisecond)
				slices.Sort(wakeups)
				fewest, most := 0, 0
				if fix.Mutex {
					fewest, most = c.msec/c.delay/3, msec/c.delay+1
				}
				if wakeups[0] != 0 || wakeups[1] < fewest || wakeups[3] > most {
					t.Errorf("wakeups %v, want 0 of one worker and %d to %d of each other", wakeups, fewest, most)
				}
			})
		}
	}
}

// idleWakeups leaves a subject alone for a while and returns how often each
// worker woke, and how long that was in milliseconds.
func idleWakeups(t *testing.T, s *Subject, window time.Duration) (wakeups []int, msec int) {
	t.Helper()
	time.Sleep(settle)
	begin := time.Now()
	before, err := s.program.samples()
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(window)
	after, err := s.program.samples()
	if err != nil {
		t.Fatal(err)
	}
	for i := range after {
		woken, polls := after[i].Wakeups-before[i].Wakeups, after[i].WakeupsTimeout-before[i].WakeupsTimeout
		if max(woken, polls)-min(woken, polls) > 1 { // it may be on its way at an end of the window
			t.Errorf("worker %d woke %d times, %d times by a timeout", i, woken, polls)
		}
		wakeups = append(wakeups, int(woken))
	}
	return wakeups, int(time.Since(begin).Milliseconds())
}

// CASES A03: exclusive waiters are woken from the head of the queue, so the
// first to register takes everything; nginx moves a worker to the tail after
// its 1st and every 16th accept, which makes blocks of 16.
func TestSharesOfExclusive(t *testing.T) {
	for fix, want := range map[string][]int{
		"exclusive":         {0, 0, 0, 200},
		"exclusive-reorder": {49, 49, 49, 53},
		"blocking":          {50, 50, 50, 50},
		"fdpass":            {50, 50, 50, 50}, // CASES A10
	} {
		run := measure(t, start(t, Conf{Fix: fix, Workers: 4, DelayMsec: 500}), 200)
		slices.Sort(run.Shares)
		if !slices.Equal(run.Shares, want) {
			t.Errorf("%s: shares %v, want %v", fix, run.Shares, want)
		}
	}
}

// The master that passes descriptors on keeps none: Node's once did.
func TestDispatcherKeepsNoDescriptor(t *testing.T) {
	s := start(t, Conf{Fix: "fdpass", Workers: 4, DelayMsec: 500})
	open := func() int {
		entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", s.pid))
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	before := open()
	if _, err := s.Measure(context.Background(), Load{Clients: 16, Conns: 5000}, func(int) {}); err != nil {
		t.Fatal(err)
	}
	if after := open(); after != before {
		t.Errorf("the master had %d descriptors open before 5000 connections and has %d after", before, after)
	}
}

// CASES B01: when the holder of the mutex is killed the master frees the lock
// in its name and starts another worker, which tries for it at once. With the
// others polling only every 60 s, nobody else could have saved the service:
// a connection that is answered proves it.
func TestKilledHolderIsReplaced(t *testing.T) {
	s := start(t, Conf{Fix: "accept-mutex", Workers: 4, DelayMsec: 60_000})
	zone, _, err := stat.ZoneAt(s.program.(*zone).mem)
	if err != nil {
		t.Fatal(err)
	}
	stopLoad := background(s.conf.Addr.String())
	for i := range 100 {
		holder := zone.AcceptMutex.Lock.Load()
		for holder == 0 { // between two turns of the holder
			time.Sleep(100 * time.Microsecond)
			holder = zone.AcceptMutex.Lock.Load()
		}
		if err := syscall.Kill(int(holder), syscall.SIGKILL); err != nil {
			t.Fatalf("kill %d of holder %d: %v", i, holder, err)
		}
		for gone := false; !gone; {
			now := zone.AcceptMutex.Lock.Load()
			gone = now != holder && now != 0
			time.Sleep(100 * time.Microsecond)
		}
		if err := exchangeRetryReset(s.conf.Addr.String()); err != nil {
			t.Fatalf("after kill %d: %v", i, err)
		}
	}
	if served := stopLoad(); served < 100 {
		t.Errorf("the load beside the kills was served only %d times", served)
	}
}

// exchangeRetryReset makes a connection. One that a killed worker had taken is
// reset and made again.
func exchangeRetryReset(addr string) error {
	for {
		err := exchange(context.Background(), addr)
		if err == nil || !strings.Contains(err.Error(), "reset") && !strings.Contains(err.Error(), "without a reply") {
			return err
		}
	}
}

// background makes connections all the time until the function it returns is
// called, which tells how many were served.
func background(addr string) (stop func() int64) {
	var (
		served atomic.Int64
		done   atomic.Bool
		wg     sync.WaitGroup
	)
	for range 2 {
		wg.Go(func() {
			for !done.Load() {
				if exchange(context.Background(), addr) == nil {
					served.Add(1)
				}
				time.Sleep(time.Millisecond)
			}
		})
	}
	return func() int64 {
		done.Store(true)
		wg.Wait()
		return served.Load()
	}
}

// An idle worker has little memory of its own; the rest of what is resident is
// the program, which all of them share. (nginxref's test of the same name
// holds the whole of a server's worker under 8 MB.)
func TestIdleWorkerIsSmall(t *testing.T) {
	s := start(t, Conf{Fix: "exclusive-reorder", Workers: 2, DelayMsec: 500})
	for _, pid := range s.program.pids() {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil {
			t.Fatal(err)
		}
		kb := 0
		for line := range strings.Lines(string(status)) {
			fmt.Sscanf(line, "RssAnon: %d kB", &kb)
		}
		if kb == 0 || kb > 4<<10 {
			t.Errorf("memory of an idle worker's own: %d kB, want under 4 MB", kb)
		}
	}
}

func TestManyWorkersStart(t *testing.T) {
	begin := time.Now()
	s := start(t, Conf{Fix: "exclusive-reorder", Workers: 64, DelayMsec: 500})
	t.Logf("64 workers were ready after %v", time.Since(begin))
	measure(t, s, 64)
}

// A worker that cannot start ends the measurement with its own words.
func TestWorkerThatCannotStart(t *testing.T) {
	defer func(fixes []*Fix) { Fixes = fixes }(Fixes)
	Fixes = append(Fixes, broken...)
	for fix, want := range map[string]string{
		"panics":          "the processes could not start: panic: on purpose",
		"fails":           "the processes could not start: cannot start on purpose",
		"fails-in-master": "the processes could not start: no zone on purpose",
	} {
		_, err := Start(context.Background(), Conf{Fix: fix, Workers: 2, DelayMsec: 500}, "127.0.0.1:0")
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: error %v\nwant %s", fix, err, want)
		}
	}
}

// A worker that fails on the way ends it too: its successors would be measured.
func TestWorkerThatFailsWhileMeasured(t *testing.T) {
	defer func(fixes []*Fix) { Fixes = fixes }(Fixes)
	Fixes = append(Fixes, broken...)
	s := start(t, Conf{Fix: "panics-later", Workers: 2, DelayMsec: 500})
	_, err := s.Measure(context.Background(), Load{Conns: 1000}, func(int) {})
	if want := "a worker has failed: panic: on purpose"; err == nil || err.Error() != want {
		t.Errorf("error %v\nwant %s", err, want)
	}
}

func TestStartSaysWhatIsWrong(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	port := taken.Addr().String()

	for _, c := range []struct{ fix, addr, want string }{
		{"none", port, "listen " + port + ": address already in use (another process has the port; choose one with -listen, or port 0 for a free one)"},
		{"reuseport", port, "listen " + port + ": address already in use (another process has the port; choose one with -listen, or port 0 for a free one)"},
		{"none", "192.0.2.1:80", "-listen 192.0.2.1:80: give a loopback address; the load is meant for this machine only"},
		{"none", "localhost", "-listen localhost: give an address and a port, such as 127.0.0.1:8080"},
		{"non", port, `no fix is called "non"; there are none, et, blocking, lock-only, accept-mutex, file-lock, exclusive, exclusive-reorder, reuseport, fdpass`},
	} {
		_, err := Start(context.Background(), Conf{Fix: c.fix, Workers: 2, DelayMsec: 500}, c.addr)
		if err == nil || err.Error() != c.want {
			t.Errorf("%s on %s: error %v\nwant %s", c.fix, c.addr, err, c.want)
		}
	}
}
