package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"herd/tools/measure"
)

// subject starts workers; it returns their master's process id, and what
// stops them before the test ends.
func subject(t *testing.T, conf measure.Conf) (pid string, stop func()) {
	t.Helper()
	s, err := measure.Start(context.Background(), conf, "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	stop = sync.OnceFunc(s.Stop)
	t.Cleanup(stop)
	for _, m := range measure.Masters() {
		status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", m.Pid))
		if bytes.Contains(status, fmt.Appendf(nil, "PPid:\t%d\n", os.Getpid())) {
			return fmt.Sprint(m.Pid), stop
		}
	}
	t.Fatal("its master is not found")
	return "", nil
}

// Elsewhere than on a terminal watch prints a sample an interval. The workers
// that have not got the accept mutex poll for it: their timeouts show.
func TestWatchPrintsSamples(t *testing.T) {
	pid, _ := subject(t, measure.Conf{Fix: "accept-mutex", Workers: 3, DelayMsec: 50})
	cmd, stdout, stderr := tool("watch", "-n", "2", "-interval", "500ms", pid)
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, stderr)
	}
	out := stdout.String()
	if n := strings.Count(out, "herd "+pid+", 3 workers, by its own counters\n"); n != 2 {
		t.Errorf("%d samples, want 2:\n%s", n, out)
	}
	rows := regexp.MustCompile(`(?m)^ +\d+ +[\d.]+ +([\d.]+) +([\d.]+) +([\d.]+) `).FindAllStringSubmatch(out, -1)
	polling := 0
	for _, row := range rows {
		if row[3] != "0" {
			polling++
		}
	}
	if len(rows) != 6 || polling < 2 {
		t.Errorf("%d rows of workers, %d that poll; want 6, and some:\n%s", len(rows), polling, out)
	}
	if strings.Contains(out, "\033") {
		t.Errorf("it writes to a terminal that is not there: %q", out)
	}
}

// Of the real nginx the kernel tells: its workers, which have no slot in a
// shared zone of ours, poll for the mutex just as well.
func TestWatchShowsTheRealNginx(t *testing.T) {
	if err := measure.WitnessMissing(); err != nil {
		t.Skip("no tracepoints: ", err)
	}
	if _, err := exec.LookPath("nginx"); err != nil {
		t.Skip("the real nginx is not installed: ", err)
	}
	pid, _ := subject(t, measure.Conf{Fix: "accept-mutex", Workers: 2, DelayMsec: 50, Nginx: "nginx"})
	cmd, stdout, stderr := tool("watch", "-n", "1", "-interval", "500ms", pid)
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, stderr)
	}
	out := stdout.String()
	polls := regexp.MustCompile(`(?m)^ +all +[\d.]+ +([\d.]+) +0 +([\d.]+) `).FindStringSubmatch(out)
	if polls == nil || polls[1] == "0" || polls[1] != polls[2] || !strings.HasPrefix(out, "nginx "+pid+", 2 workers, by tracepoints\n") {
		t.Errorf("nobody connects, and one worker polls; it shows\n%s", out)
	}
}

// A server starts its workers from any of its threads.
func TestWatchShowsAServer(t *testing.T) {
	dir := t.TempDir()
	server := filepath.Join(dir, "nginxref")
	if out, err := exec.Command("go", "build", "-o", server, "herd/nginxref").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	conf := "daemon off; worker_processes 2; pid " + dir + "/pid; error_log " + dir + "/log; events {}"
	if err := os.WriteFile(dir+"/conf", []byte(conf), 0o644); err != nil {
		t.Fatal(err)
	}
	master := exec.Command(server, "-c", dir+"/conf", "-e", dir+"/log")
	if err := master.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		master.Process.Signal(os.Interrupt)
		master.Wait()
	}()
	until(t, dir+"/pid")

	cmd, stdout, stderr := tool("watch", "-n", "4", "-interval", "500ms", fmt.Sprint(master.Process.Pid))
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, stderr)
	}
	if want := fmt.Sprintf("nginxref %d, 2 workers, ", master.Process.Pid); !strings.Contains(stdout.String(), want) {
		t.Errorf("want %q in\n%s", want, stdout)
	}
}

func TestWatchComplains(t *testing.T) {
	for args, want := range map[string]string{
		"watch nonsense":                  `"nonsense" is no process id`,
		"watch 1 2":                       `unexpected argument "2"`,
		"watch -interval 1us 1":           "-interval 1µs: give at least 10ms",
		"watch -n -1":                     "-n -1: give at least 1",
		"watch 4194304":                   "no process has the id 4194304",
		fmt.Sprint("watch ", os.Getpid()): "no master or worker of nginx",
	} {
		cmd, _, stderr := tool(strings.Fields(args)...)
		cmd.Run()
		if code := cmd.ProcessState.ExitCode(); code != exitUsage && code != exitFailed || !strings.Contains(stderr.String(), want) {
			t.Errorf("%s: exit code %d, it says\n%s", args, code, stderr)
		}
	}
}

func TestWhichMasterIsWatched(t *testing.T) {
	masters := func(n int) func() []measure.Master {
		return func() []measure.Master {
			return []measure.Master{{Pid: 71, Title: "nginx: master process a"}, {Pid: 72, Title: "nginx: master process b"}}[:n]
		}
	}
	if m, err := chooseMaster("", masters(1)); m.Pid != 71 || err != nil {
		t.Errorf("of one: %v, %v", m, err)
	}
	for n, want := range map[int]string{0: "no nginx runs here", 2: "several run here, say which by its process id:\n      71  nginx: master process a\n      72  "} {
		if _, err := chooseMaster("", masters(n)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("of %d: %v", n, err)
		}
	}
}

// pty is a terminal: what the tool draws is collected, what is typed reaches
// it.
type pty struct {
	master *os.File
	slave  *os.File
	mu     sync.Mutex
	drawn  bytes.Buffer
}

func newPty(t *testing.T) *pty {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("no terminals here: ", err)
	}
	t.Cleanup(func() { master.Close() })
	fd := int(master.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { slave.Close() })
	p := &pty{master: master, slave: slave}
	go func() {
		var buf [4096]byte
		for {
			n, err := master.Read(buf[:])
			if err != nil {
				return
			}
			p.mu.Lock()
			p.drawn.Write(buf[:n])
			p.mu.Unlock()
		}
	}()
	return p
}

func (p *pty) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.drawn.String()
}

// await waits until s has been drawn.
func (p *pty) await(t *testing.T, s string) {
	t.Helper()
	for range 1000 {
		if strings.Contains(p.text(), s) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	text := p.text()
	t.Fatalf("%q is not drawn; the last is %q", s, text[max(0, len(text)-500):])
}

// settings returns what stty would show.
func (p *pty) settings(t *testing.T) unix.Termios {
	t.Helper()
	s, err := unix.IoctlGetTermios(int(p.slave.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return *s
}

// However watch ends, the terminal is as it was: its settings, its screen and
// its cursor.
func TestWatchLeavesTheTerminalAsItWas(t *testing.T) {
	for name, end := range map[string]func(p *pty, cmd *exec.Cmd){
		"q":       func(p *pty, cmd *exec.Cmd) { p.master.WriteString("xq") },
		"Ctrl-C":  func(p *pty, cmd *exec.Cmd) { p.master.WriteString("\003") },
		"SIGTERM": func(p *pty, cmd *exec.Cmd) { cmd.Process.Signal(syscall.SIGTERM) },
		"SIGHUP":  func(p *pty, cmd *exec.Cmd) { cmd.Process.Signal(syscall.SIGHUP) },
	} {
		t.Run(name, func(t *testing.T) {
			pid, _ := subject(t, measure.Conf{Fix: "none", Workers: 2, DelayMsec: 500})
			p := newPty(t)
			before := p.settings(t)
			cmd, _, _ := tool("watch", "-interval", "50ms", pid)
			cmd.Stdin, cmd.Stdout, cmd.Stderr = p.slave, p.slave, p.slave
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			p.await(t, "2 workers, by its own counters; q quits")
			if p.settings(t) == before {
				t.Error("the terminal is not in raw mode: Ctrl-C would not come as a character")
			}
			end(p, cmd)
			if err := cmd.Wait(); err != nil {
				t.Errorf("%v", err)
			}
			if p.settings(t) != before {
				t.Error("the terminal's settings are changed")
			}
			p.await(t, leaveScreen)
			if text := p.text(); !strings.HasPrefix(text, enterScreen) || !strings.HasSuffix(text, leaveScreen) {
				t.Errorf("something was drawn outside of its own screen: it begins %.50q and ends %q", text, text[max(0, len(text)-50):])
			}
		})
	}
}

// If the master ends, so does watch, and says so.
func TestWatchEndsWithTheMaster(t *testing.T) {
	pid, stop := subject(t, measure.Conf{Fix: "none", Workers: 2, DelayMsec: 500})
	cmd, _, stderr := tool("watch", "-interval", "50ms", pid)
	cmd.Stdout = nil
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	io.ReadFull(out, make([]byte, 1)) // it has begun
	stop()
	io.Copy(io.Discard, out)
	if err := cmd.Wait(); err != nil || !strings.Contains(stderr.String(), "the master has ended: herd: master process") {
		t.Errorf("%v\n%s", err, stderr)
	}
}

// A worker woken, and put back to sleep by the kernel, was woken in silence.
func TestViewTellsWakeupsByCause(t *testing.T) {
	watched := &measure.Watched{Master: measure.Master{Pid: 70, Program: "nginx"}, Source: "tracepoints"}
	before := []measure.WorkerState{{Pid: 71}, {Pid: 72}}
	after := []measure.WorkerState{
		{Pid: 71, Sample: measure.Sample{Wakeups: 300, WakeupsTimeout: 20, ReturnsEvents: 200, Accepted: 150, Again: 50, CPUNsec: 1e8}},
		{Pid: 72, Sample: measure.Sample{Wakeups: 10, ReturnsEvents: 40, Accepted: 50}},
		{Pid: 73, Sample: measure.Sample{Wakeups: 1000}}, // has just been started
	}
	got := strings.Join(newView(watched, before, after, 2*time.Second).lines(), "\n")
	want := strings.Join([]string{
		"nginx 70, 3 workers, by tracepoints",
		"",
		"                wakeups/s                                                    ",
		"  worker  CPU %       all   event timeout  silent  accepts/s  EAGAIN/s  share",
		"      71    5.0       150     100    10.0    40.0       75.0      25.0   75 %",
		"      72    0.0       5.0     5.0       0       0       25.0         0   25 %",
		"     all    5.0       155     105    10.0    40.0        100      25.0  100 %",
	}, "\n")
	if got != want {
		t.Errorf("it shows\n%s\nwant\n%s", got, want)
	}

	watched.Missing = errors.New("tracepoints need root")
	got = strings.Join(newView(watched, before, after, time.Second).lines(), "\n")
	if strings.Contains(got, "accepts") || !strings.Contains(got, "Wakeups only: tracepoints need root.") {
		t.Errorf("without tracepoints it shows\n%s", got)
	}
}
