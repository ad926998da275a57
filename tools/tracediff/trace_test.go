//go:build linux

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sample is a log of a worker that takes the accept mutex, hears of another
// worker, lets a wait time out, and accepts a connection from port 7.
const sample = `
1#1: start worker processes
1#1: start worker process 2
1#1: sigsuspend
2#2: notify eventfd: 9
2#2: epoll add event: fd:6 op:1 ev:00002001
2#2: worker cycle
2#2: accept mutex locked
2#2: epoll add event: fd:5 op:1 ev:00002001
2#2: epoll timer: -1
2#2: epoll: fd:6 ev:0001 d:00AA
2#2: post event 00C0
2#2: timer delta: 3
2#2: posted event 00C0
2#2: delete posted event 00C0
2#2: channel handler
2#2: channel: 32
2#2: channel command: 1
2#2: get channel s:1 pid:3 fd:4
2#2: channel: -2
2#2: worker cycle
2#2: accept mutex locked
2#2: epoll timer: -1
2#2: epoll: fd:5 ev:0001 d:00BB
2#2: post event 00D0
2#2: timer delta: 812
2#2: posted event 00D0
2#2: delete posted event 00D0
2#2: accept on 127.0.0.1:80, ready: 0
2#2: posix_memalign: 0000:512 @16
2#2: *1 accept: 127.0.0.1:7 fd:7
2#2: *1 event timer add: 7: 60000:900000
2#2: *1 epoll add event: fd:7 op:1 ev:80002001
2#2: worker cycle
2#2: accept mutex locked
2#2: epoll timer: 59998
`

// steps reduces a log in which only what comes after the stamp is given.
func steps(t *testing.T, text string) []trace {
	t.Helper()
	log := strings.Builder{}
	for line := range strings.Lines(strings.TrimSpace(text) + "\n") {
		log.WriteString("2026/01/01 00:00:00 [debug] " + line)
	}
	l := &errorLog{name: filepath.Join(t.TempDir(), "log")}
	if err := os.WriteFile(l.name, []byte(log.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	defer l.close()
	if err := l.read(); err != nil {
		t.Fatal(err)
	}
	var traces []trace
	for _, t := range reduce(l, map[string]string{"127.0.0.1:7": "a"}, "500") {
		traces = append(traces, settle(t)...)
	}
	return traces
}

func texts(steps []step) (list []string) {
	for _, s := range steps {
		list = append(list, s.text)
	}
	return list
}

func TestNumbersBecomeNames(t *testing.T) {
	got := steps(t, sample)
	want := []trace{{name: "master"}, {name: "worker 0"}, {name: "worker 0's messages"}}
	for i, w := range want {
		if i >= len(got) || got[i].name != w.name {
			t.Fatalf("traces %v, want %v", got, want)
		}
	}
	wantWorker := []string{
		"notify eventfd: notify",
		"epoll add event: fd:channel op:1 ev:00002001",
		"worker cycle",
		"accept mutex locked",
		"epoll add event: fd:listener 1 op:1 ev:00002001",
		"epoll timer: -1",
		"epoll: fd:listener 1 ev:0001 d:-",
		"post event listener 1",
		"timer delta: -",
		"posted event listener 1",
		"delete posted event listener 1",
		"accept on 127.0.0.1:80, ready: 0",
		"*1 accept: a fd:a",
		"*1 event timer add: a: 60000:-",
		"*1 epoll add event: fd:a op:1 ev:80002001",
		"worker cycle",
		"accept mutex locked",
		"epoll timer: 60000 of a",
	}
	if diff := cmp.Diff(wantWorker, texts(got[1].steps)); diff != "" {
		t.Error("worker 0 (-want +got):\n", diff)
	}
	wantMessages := []string{"channel command: 1", "get channel s:1 pid:outside fd:-"}
	if diff := cmp.Diff(wantMessages, texts(got[2].steps)); diff != "" {
		t.Error("messages (-want +got):\n", diff)
	}
	if got[1].steps[6].line != 23 {
		t.Errorf("%q comes from line %d of the log, want 23", got[1].steps[6].text, got[1].steps[6].line)
	}
}

// worker returns a worker's log with the given turns, each after "epoll
// timer".
func workerLog(turns ...string) string {
	return "1#1: start worker processes\n1#1: start worker process 2\n1#1: sigsuspend\n" +
		"2#2: notify eventfd: 9\n2#2: epoll add event: fd:6 op:1 ev:00002001\n" + strings.Join(turns, "")
}

const (
	lost    = "2#2: worker cycle\n2#2: accept mutex lock failed: 0\n2#2: epoll timer: 500\n"
	won     = "2#2: worker cycle\n2#2: accept mutex locked\n2#2: epoll add event: fd:5 op:1 ev:00002001\n2#2: epoll timer: -1\n"
	expired = "2#2: timer delta: 500\n"
	event   = "2#2: epoll: fd:6 ev:0001 d:0\n2#2: channel handler\n"
	opened  = "2#2: channel: 32\n2#2: channel command: 1\n2#2: get channel s:1 pid:3 fd:4\n"
	quit    = "2#2: channel: 32\n2#2: channel command: 3\n"
	empty   = "2#2: channel: -2\n2#2: timer delta: 1\n"
	forever = "2#2: worker cycle\n2#2: epoll timer: -1\n"
	tick    = "2#2: timer signal\n2#2: timer delta: 100\n"
)

func TestWhatTheSchedulerDecidesIsNoDifference(t *testing.T) {
	for _, tt := range []struct{ name, a, b string }{
		{"waits that time out", workerLog(lost, expired, lost, event, quit, empty),
			workerLog(lost, expired, lost, expired, lost, expired, lost, event, quit, empty)},
		{"messages together or apart", workerLog(lost, event, opened, opened, empty, lost),
			workerLog(lost, event, opened, empty, lost, event, opened, empty, lost)},
		{"messages before and after the lock is won", workerLog(lost, event, opened, opened, empty, won),
			workerLog(lost, event, opened, empty, won, event, opened, empty, strings.Replace(won, "2#2: epoll add event: fd:5 op:1 ev:00002001\n", "", 1))},
		{"a message with a command", workerLog(lost, event, quit, opened, empty, lost),
			workerLog(lost, event, quit, empty, lost, event, opened, empty, lost)},
		{"timer signals", workerLog(forever, tick, forever, tick, forever, event, quit, empty, forever),
			workerLog(forever, event, quit, empty, forever, tick, forever)},
		{"a timer signal in the middle of a turn", workerLog(forever, event, "2#2: timer signal\n", quit, empty, forever),
			workerLog(forever, tick, forever, event, quit, empty, forever)},
	} {
		s := share{}
		for _, c := range compare(steps(t, tt.a), steps(t, tt.b)) {
			s.add(c.share)
		}
		if s.aligned != s.steps || s.steps == 0 {
			t.Errorf("%s: %d of %d steps align", tt.name, s.aligned, s.steps)
		}
	}
}

func TestATimerSignalThatCostsATurnMoreIsADifference(t *testing.T) {
	const failed = "2#2: epoll_wait() failed (4: Interrupted system call)\n2#2: timer delta: 0\n"
	s := share{}
	for _, c := range compare(steps(t, workerLog(forever, tick, forever)),
		steps(t, workerLog(forever, failed, forever, tick, forever))) {
		s.add(c.share)
	}
	if s.unexplained == 0 {
		t.Error("no difference")
	}
}

// What the launcher of a daemon does is the daemon's, and a new binary's
// processes have names of their own.
func TestProcessesOfAnUpgradeHaveNames(t *testing.T) {
	log := `
9#9: start worker processes
1#1: start worker process 2
1#1: sigsuspend
1#1: start new binary process 3
3#3: start worker processes
3#3: start worker process 4
3#3: start worker process 5
3#3: sigsuspend
3#3: child: 0 4 e:0 t:1 d:0 r:1 j:0
3#3: start worker process 6
4#4: start worker process 7
`
	r := roster{launcher: 9, masters: []master{{pid: 1}}}
	for i, text := range strings.Split(strings.TrimSpace(log), "\n") {
		l, ok := parseLine(i, "2026/01/01 00:00:00 [debug] "+text)
		if !ok {
			t.Fatalf("%q is no line", text)
		}
		r.add(r.of(l))
	}
	for pid, name := range map[int]string{1: "master", 2: "worker 0", 3: "new master", 4: "new worker 0",
		5: "new worker 1", 6: "new worker 0 (process 2)", 7: "outside"} {
		if got := r.name(pid); got != name {
			t.Errorf("process %d is %q, want %q", pid, got, name)
		}
	}
	for name, pid := range map[string]int{"master": 1, "new master": 3, "new worker 0": 6, "worker 0": 2, "worker 1": 0} {
		if got := r.called(name); got != pid {
			t.Errorf("%s is process %d, want %d", name, got, pid)
		}
	}
}

func TestEveryChangeOfAStepIsADifference(t *testing.T) {
	lines := strings.Split(strings.TrimSpace(sample), "\n")
	original := steps(t, sample)
	unexplained := func(lines []string) (n int) {
		for _, c := range compare(original, steps(t, strings.Join(lines, "\n"))) {
			n += c.share.unexplained
		}
		return n
	}
	if n := unexplained(lines); n != 0 {
		t.Fatalf("%d differences between a log and itself", n)
	}
	for i, line := range lines {
		_, text, _ := strings.Cut(line, ": ")
		text = strings.TrimPrefix(text, "*1 ")
		if p, _ := recognize(text); p == nil || !strings.HasPrefix(line, "2#2") {
			continue
		}
		// The shape of a message's turn is the scheduler's.
		if i >= 9 && i <= 21 && !strings.Contains(text, "channel command") && !strings.Contains(text, "get channel") {
			continue
		}
		if n := unexplained(slices.Delete(slices.Clone(lines), i, i+1)); n == 0 {
			t.Errorf("no difference without %q", line)
		}
		if text == "accept mutex locked" {
			other := slices.Clone(lines)
			other[i] = strings.Replace(line, "locked", "lock failed: 0", 1)
			if n := unexplained(other); n == 0 {
				t.Errorf("no difference if the lock was lost at line %d", i+1)
			}
		}
	}
	for i := 23; i < 31; i++ {
		other := slices.Clone(lines)
		other[i], other[i+1] = other[i+1], other[i]
		if n := unexplained(other); n == 0 && lines[i+1] != "2#2: posix_memalign: 0000:512 @16" && lines[i] != "2#2: posix_memalign: 0000:512 @16" {
			t.Errorf("no difference if %q and %q change places", lines[i], lines[i+1])
		}
	}
}

func TestASignalWithoutItsSenderIsExplained(t *testing.T) {
	const (
		begin = "2#2: worker cycle\n2#2: accept mutex locked\n2#2: epoll timer: -1\n"
		eintr = "2#2: epoll_wait() failed (4: Interrupted system call)\n2#2: timer delta: 1\n2#2: gracefully shutting down\n"
		nginx = "2#2: signal 3 (SIGQUIT) received from 77, shutting down\n" + eintr
		ours  = "2#2: signal 3 (SIGQUIT) received, shutting down\n" + eintr
	)
	for _, c := range compare(steps(t, workerLog(begin, nginx)), steps(t, workerLog(begin, ours))) {
		if c.share.unexplained != 0 || c.name == "worker 0" && c.share.explained == 0 {
			t.Errorf("%s: %+v", c.name, c.share)
		}
	}
	c := compare(steps(t, workerLog(begin, nginx)), steps(t, workerLog(begin, eintr)))
	if c[1].share.unexplained == 0 {
		t.Error("a signal that was lost is explained")
	}
}

func TestDivergencesAreMarkedInTheCode(t *testing.T) {
	for _, d := range divergences {
		file := filepath.Join("../../nginxref", d.file)
		text, err := os.ReadFile(file)
		if err != nil {
			t.Error(err)
			continue
		}
		// A comment's words, whatever lines they stand in.
		_, after, ok := strings.Cut(strings.Join(strings.Fields(strings.ReplaceAll(string(text), "//", "")), " "), "DIVERGES: ")
		if !ok || !strings.Contains(after, d.diverges) {
			t.Errorf("%s: no comment DIVERGES: ... %q", file, d.diverges)
		}
	}
}

func TestAlignKeepsWhatIsCommon(t *testing.T) {
	list := func(s string) (steps []step) {
		for _, c := range s {
			steps = append(steps, step{text: string(c)})
		}
		return steps
	}
	got := align(list("abcd"), list("bxd"))
	want := []pair{{0, -1}, {1, 0}, {2, -1}, {-1, 1}, {3, 2}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(pair{})); diff != "" {
		t.Error(diff)
	}
}
