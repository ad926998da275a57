package process

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"herd/nginxref/shmtx"
	"herd/nginxref/stat"
)

// server is a master and its workers, as a test sees them.
type server struct {
	t    *testing.T
	conf conf
	addr string
	cmd  *exec.Cmd
	hold *os.File // each byte lets one held reload go on
	done chan struct{}
	shm  *shmtx.Shm
}

// start starts a server; all its processes end with the test.
func start(t *testing.T, c conf) *server {
	t.Helper()
	c.Core.RlimitNofile = cmp.Or(c.Core.RlimitNofile, -1)
	c.Core.RlimitCore = cmp.Or(c.Core.RlimitCore, -1)
	dir := t.TempDir()
	c.Log = filepath.Join(dir, "error.log")
	c.Pid = filepath.Join(dir, "pid")
	s := &server{t: t, conf: c, done: make(chan struct{})}

	ln := must(net.Listen("tcp", "127.0.0.1:0")).(*net.TCPListener)
	defer ln.Close()
	s.addr = ln.Addr().String()
	lnFile := must(ln.File())
	defer lnFile.Close()
	if c.Backlog != 0 {
		unix.Listen(int(lnFile.Fd()), c.Backlog)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	s.hold = w

	s.cmd = exec.Command(cmp.Or(c.program, must(os.Executable())), "one", "two")
	s.cmd.Env = append(os.Environ(), masterEnv+"="+string(must(json.Marshal(c))),
		"GORACE=atexit_sleep_ms=0") // the race detector would have each process linger
	s.cmd.ExtraFiles = []*os.File{lnFile, r}
	stderr := must(os.Create(filepath.Join(dir, "stderr")))
	defer stderr.Close()
	s.cmd.Stderr = stderr
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := os.WriteFile(c.Pid, []byte("this master"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		s.cmd.Wait()
		close(s.done)
	}()
	t.Cleanup(s.clear)
	if !c.Single {
		s.attach()
	}
	return s
}

// attach maps the master's shared zone.
func (s *server) attach() {
	s.t.Helper()
	s.until("the master has its zone", func() bool {
		fds, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", s.pid()))
		for _, fd := range fds {
			link, _ := os.Readlink(fd)
			if !strings.HasPrefix(link, "/memfd:"+stat.ZoneName) {
				continue
			}
			if f, err := unix.Open(fd, unix.O_RDWR|unix.O_CLOEXEC, 0); err == nil {
				s.shm, err = shmtx.Attach(f, stat.ZoneSize(MaxProcesses))
				return err == nil
			}
		}
		return false
	})
}

// clear kills and reaps whatever is left.
func (s *server) clear() {
	syscall.Kill(-s.pid(), syscall.SIGKILL)
	<-s.done
	for {
		if _, err := syscall.Wait4(-s.pid(), nil, 0, nil); err == syscall.ECHILD {
			break
		}
	}
	s.hold.Close()
	if s.shm != nil {
		s.shm.Free()
	}
	if s.t.Failed() {
		s.t.Logf("error log, without debug messages:\n%s", strings.Join(s.lines(`\[(emerg|alert|crit|error|warn|notice|info)\]`), "\n"))
	}
}

func (s *server) pid() int { return s.cmd.Process.Pid }

// until waits for ok and fails if that takes too long.
func (s *server) until(what string, ok func() bool) {
	s.t.Helper()
	for end := time.Now().Add(patience); !ok(); {
		if time.Now().After(end) {
			s.t.Fatalf("waited in vain until %s", what)
		}
		time.Sleep(time.Millisecond)
	}
}

// signal sends the master a signal.
func (s *server) signal(sig syscall.Signal) {
	s.t.Helper()
	if err := syscall.Kill(s.pid(), sig); err != nil {
		s.t.Fatalf("kill(master, %v): %v", sig, err)
	}
}

// slots returns the counters of the first n slots.
func (s *server) slots(n int) []stat.Worker {
	_, workers, err := stat.ZoneAt(s.shm.Addr)
	if err != nil {
		s.t.Fatal(err)
	}
	return workers[:n]
}

// pids returns the processes of slots first to last, once each is ready and
// none of them is in not.
func (s *server) pids(first, last int, not ...int) []int {
	s.t.Helper()
	var pids []int
	s.until(fmt.Sprintf("slots %d to %d have ready workers", first, last), func() bool {
		pids = nil
		for _, w := range s.slots(last + 1)[first:] {
			pid := int(w.Pid)
			if pid == 0 || w.Ready == 0 || slices.Contains(not, pid) {
				return false
			}
			pids = append(pids, pid)
		}
		return true
	})
	return pids
}

// gone waits until no process of the server is left, and takes care that the
// master ended well.
func (s *server) gone() {
	s.t.Helper()
	s.until("the master is gone", func() bool {
		select {
		case <-s.done:
			return true
		default:
			return false
		}
	})
	if !s.cmd.ProcessState.Success() {
		s.t.Errorf("master: %v", s.cmd.ProcessState)
	}
	if err := syscall.Kill(-s.pid(), 0); err != syscall.ESRCH {
		s.t.Errorf("the master is gone and left processes behind")
	}
}

// lines returns the lines of the error log that match.
func (s *server) lines(expr string) []string {
	re := regexp.MustCompile(expr)
	text, _ := os.ReadFile(s.conf.Log)
	var lines []string
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSuffix(line, "\n"); re.MatchString(line) {
			lines = append(lines, line)
		}
	}
	return lines
}

// seen waits until at least n lines of the log match.
func (s *server) seen(n int, expr string) {
	s.t.Helper()
	s.until(fmt.Sprintf("%d lines match %q", n, expr), func() bool { return len(s.lines(expr)) >= n })
}

// logged waits until n lines of the log match, and fails on more.
func (s *server) logged(n int, expr string) {
	s.t.Helper()
	s.seen(n, expr)
	if got := len(s.lines(expr)); got != n {
		s.t.Errorf("%d lines of the log match %q, want %d", got, expr, n)
	}
}

// by is the start of a log expression: a message of process pid.
func by(pid int) string { return fmt.Sprintf(` %d#%d: `, pid, pid) }

// quiet fails if anything worse than expected is in the log.
func (s *server) quiet() {
	s.t.Helper()
	for _, line := range s.lines(`\[(emerg|alert|crit|error|warn)\]`) {
		s.t.Errorf("logged: %s", line)
	}
}

// client is a connection to a worker that has greeted it.
type client struct {
	net.Conn
	r      *bufio.Reader
	pid    int
	worker int
}

// dial connects and reads the greeting. It returns nil if the connection was
// lost with its worker.
func (s *server) dial() *client {
	s.t.Helper()
	conn, err := net.Dial("tcp", s.addr)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(patience))
	c := &client{Conn: conn, r: bufio.NewReader(conn)}
	line, err := c.r.ReadString('\n')
	if ne, ok := err.(net.Error); ok && ne.Timeout() {
		s.t.Fatal("connected, and nobody greets")
	}
	if err != nil {
		return nil
	}
	if _, err := fmt.Sscan(line, &c.pid, &c.worker); err != nil {
		s.t.Fatalf("greeted by %q", line)
	}
	return c
}

// greeted connects and fails unless a worker greets.
func (s *server) greeted() *client {
	s.t.Helper()
	c := s.dial()
	if c == nil {
		s.t.Fatal("the connection was closed before the greeting")
	}
	return c
}

// ask sends a command and fails unless the worker echoes answer.
func (s *server) ask(c *client, command, answer string) {
	s.t.Helper()
	fmt.Fprintln(c, command)
	if line, err := c.r.ReadString('\n'); line != answer+"\n" {
		s.t.Fatalf("worker %d answers %q, %v to %s", c.pid, line, err, command)
	}
}

// closed fails unless the worker closes the connection.
func (s *server) closed(c *client) {
	s.t.Helper()
	if rest, err := io.ReadAll(c.r); err != nil || len(rest) > 0 {
		s.t.Errorf("worker %d: %q, %v, want the end of the connection", c.pid, rest, err)
	}
}

// bye ends the conversation and fails unless the worker answers.
func (s *server) bye(c *client) {
	s.t.Helper()
	s.ask(c, "bye", "bye")
	s.closed(c)
	c.Close()
}

// titleOf returns what ps shows of a process.
func titleOf(t *testing.T, pid int) string {
	t.Helper()
	text := must(os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline"))
	return strings.TrimRight(string(text), "\x00")
}
