package process

import (
	"fmt"
	"io"
	"net"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"herd/nginxref/core"
	"herd/nginxref/shmtx"
	"herd/nginxref/stat"
)

// CASES D05. Workers take 200 ms to start, 16 clients come again and again, 8
// of them have room in the queue, and there are four reloads. No client may be
// turned away, and so that the queue is always served no old worker may be told
// to leave before all new ones are at work. nginx sleeps for 100 ms, which would
// leave a gap of 100 ms each time.
func TestReloadWaitsForWorkersThatStartSlowly(t *testing.T) {
	const n = 2
	s := start(t, conf{Workers: n, Reload: true, SlowInit: 200, Backlog: 8, Level: core.LogInfo})
	s.pids(0, n-1)
	end := s.load(16)

	for reload := 1; reload <= 4; reload++ {
		s.signal(syscall.SIGHUP)
		s.seen(n*(reload+1), `started slowly$`)
		s.seen(n*reload, `worker process \d+ exited with code 0`)
	}
	end()
	s.quiet()

	started, quit := 0, 0
	for _, line := range s.lines(`(started slowly|gracefully shutting down)$`) {
		if strings.HasSuffix(line, "started slowly") {
			started++
			continue
		}
		if generation := quit/n + 2; started < n*generation {
			t.Errorf("of generation %d %d workers are at work when one before it is told to leave, want %d",
				generation, started-n*(generation-1), n)
		}
		quit++
	}
}

// load has clients come to the server again and again until end is called,
// which fails if one was turned away.
func (s *server) load(clients int) (end func()) {
	var (
		stop   atomic.Bool
		visits atomic.Int64
		wg     sync.WaitGroup
	)
	for range clients {
		wg.Go(func() {
			for !stop.Load() {
				if err := visit(s.addr); err != nil {
					s.t.Errorf("visit %d: %v", visits.Load(), err)
					return
				}
				visits.Add(1)
			}
		})
	}
	return func() {
		stop.Store(true)
		wg.Wait()
		s.t.Logf("%d visits", visits.Load())
	}
}

// visit is one client that comes, is greeted and says goodbye.
func visit(addr string) error {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(patience))
	fmt.Fprint(conn, "bye\n")
	answer, err := io.ReadAll(conn)
	if err != nil || !strings.HasSuffix(string(answer), "\nbye\n") {
		return fmt.Errorf("answer %q, error %v", answer, err)
	}
	return nil
}

// Who is waited for: the workers of this reload, until the first wait of each,
// or its end.
func TestWhichWorkersAreStarting(t *testing.T) {
	child := exec.Command("/bin/true")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer child.Wait()
	if err := unix.Waitid(unix.P_PID, child.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil); err != nil {
		t.Fatal(err)
	}
	live := exec.Command("/bin/cat")
	hold := must(live.StdinPipe())
	if err := live.Start(); err != nil {
		t.Fatal(err)
	}
	defer live.Wait()
	defer hold.Close()
	pid := live.Process.Pid

	for _, test := range []struct {
		name string
		e    Entry
		slot stat.Worker
		want bool
	}{
		{"just started", Entry{Pid: pid, justSpawn: true}, stat.Worker{}, true},
		{"in the slot of another", Entry{Pid: pid, justSpawn: true}, stat.Worker{Pid: uint64(pid) + 1, Ready: 1}, true},
		{"not yet waiting", Entry{Pid: pid, justSpawn: true}, stat.Worker{Pid: uint64(pid)}, true},
		{"waiting", Entry{Pid: pid, justSpawn: true}, stat.Worker{Pid: uint64(pid), Ready: 1}, false},
		{"ended", Entry{Pid: child.Process.Pid, justSpawn: true}, stat.Worker{}, false},
		{"of the generation before", Entry{Pid: pid}, stat.Worker{}, false},
		{"nobody", Entry{Pid: -1, justSpawn: true}, stat.Worker{}, false},
	} {
		p, _ := newProcess(clock{})
		p.Cycle.Shm = must(shmtx.Alloc(stat.ZoneName, stat.ZoneSize(MaxProcesses)))
		_, slots, _ := stat.ZoneAt(p.Cycle.Shm.Addr)
		p.LastProcess = 2
		p.Processes[0] = Entry{Pid: -1}
		p.Processes[1], slots[1] = test.e, test.slot
		if got := p.starting(p.Cycle); got != test.want {
			t.Errorf("%s: is starting %v, want %v", test.name, got, test.want)
		}
		p.Cycle.Shm.Free()
	}
}

// A worker that hangs at its start must not keep the master from stopping.
func TestWhichSignalsEndTheWaitForWorkers(t *testing.T) {
	want := []syscall.Signal{syscall.SIGTERM, syscall.SIGQUIT, syscall.SIGINT}
	var got []syscall.Signal
	for i := range signals {
		p, _ := newProcess(clock{})
		p.pending[i].Store(true)
		if p.stopPending() {
			got = append(got, signals[i].signo)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("%v end the wait, want %v", got, want)
	}
}
