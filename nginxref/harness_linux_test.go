package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// patience bounds each wait for what must happen; reaching it is a failure.
const patience = 30 * time.Second

// nginxBinary is where distributions have the real one.
const nginxBinary = "/usr/sbin/nginx"

// nginxref is this package's program.
var nginxref string

func TestMain(m *testing.M) {
	os.Exit(testMain(m))
}

// testMain builds the program and makes this process the parent of whatever
// loses its own: daemons, and the workers of a master that was killed.
func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "nginxref")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)

	nginxref = filepath.Join(dir, "nginxref")
	if out, err := exec.Command("go", "build", "-o", nginxref, ".").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
		return 1
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		fmt.Fprintln(os.Stderr, "prctl(PR_SET_CHILD_SUBREAPER):", err)
		return 1
	}

	code := m.Run()

	for pid := 1; pid > 0; { // those that have ended
		pid, _ = syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
	}
	for _, pid := range children(os.Getpid()) {
		fmt.Fprintf(os.Stderr, "left behind: process %d: %s\n", pid, title(pid))
		syscall.Kill(pid, syscall.SIGKILL)
		code = 1
	}
	return code
}

// needNginx skips the test where the real nginx is not installed, or cannot
// make the directories that it was built with.
func needNginx(t *testing.T) {
	t.Helper()
	if _, err := os.Stat(nginxBinary); err != nil {
		t.Skipf("the real nginx is not here to compare with: %v (apt-get install nginx)", err)
	}
	if os.Geteuid() != 0 {
		t.Skip("the real nginx makes its directories below /var only for root")
	}
	out, err := exec.Command(nginxBinary, "-v").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "nginx/1.22.1\n") {
		t.Skipf("the real nginx is not 1.22.1: %s", out)
	}
}

// onBoth runs a test with this package's program, and with the real nginx
// where it is: what is asked of ours is then known to be nginx's.
func onBoth(t *testing.T, test func(t *testing.T, binary string)) {
	t.Run("nginxref", func(t *testing.T) { test(t, nginxref) })
	t.Run("nginx", func(t *testing.T) {
		needNginx(t)
		test(t, nginxBinary)
	})
}

// result is what a program printed and returned.
type result struct {
	Stdout, Stderr string
	Code           int
}

// run runs a program to its end.
func run(t *testing.T, binary string, args ...string) result {
	t.Helper()
	var stdout, stderr strings.Builder
	cmd := exec.Command(binary, args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr

	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return result{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// server is a running master, a child of the test.
type server struct {
	t    *testing.T
	dir  string // prefix: nginx.conf, nginx.pid, error.log
	pid  int
	addr string // "unix:" and a path, or host and port
}

// start writes nginx.conf and starts a daemon of it. In the text, DIR is the
// prefix, SOCKET a Unix socket in it and PORT a free port. The server answers
// on the first of the two that is in the text.
func start(t *testing.T, binary, text string) *server {
	t.Helper()
	s := &server{t: t, dir: shortDir(t), addr: "unix:"}
	s.addr += filepath.Join(s.dir, "s")
	port := strconv.Itoa(freePort(t))
	if i := strings.Index(text, "PORT"); i >= 0 && !strings.Contains(text[:i], "SOCKET") {
		s.addr = "127.0.0.1:" + port
	}
	text = strings.NewReplacer("DIR", s.dir, "PORT", port, "SOCKET", "unix:"+filepath.Join(s.dir, "s")).Replace(text)
	s.configure("pid nginx.pid;\n" + text)

	if r := run(t, binary, "-p", s.dir, "-c", "nginx.conf", "-e", "error.log"); r.Code != 0 {
		t.Fatalf("%s returned %d: %s", binary, r.Code, r.Stderr)
	}
	t.Cleanup(s.kill)
	s.wait("a pid file", func() bool { s.pid = s.pidfile("nginx.pid"); return s.pid != 0 })
	s.wait("worker", func() bool { return len(s.workers(s.pid)) > 0 })
	return s
}

// shortDir returns a temporary directory whose name leaves room for that of a
// socket. Everyone may write to it: workers have another user.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "n")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	return dir
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// configure writes nginx.conf, for a start or a reload.
func (s *server) configure(text string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, "nginx.conf"), []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

// edit changes nginx.conf.
func (s *server) edit(old, new string) {
	s.t.Helper()
	text := s.read("nginx.conf")
	if !strings.Contains(text, old) {
		s.t.Fatalf("no %q in nginx.conf", old)
	}
	s.configure(strings.ReplaceAll(text, old, new))
}

// read returns a file of the prefix, "" if it is not there.
func (s *server) read(name string) string {
	text, _ := os.ReadFile(filepath.Join(s.dir, name))
	return string(text)
}

// pidfile returns the process id in a file, 0 if there is none.
func (s *server) pidfile(name string) int {
	text := s.read(name)
	pid, err := strconv.Atoi(strings.TrimSuffix(text, "\n"))
	if err != nil || !strings.HasSuffix(text, "\n") {
		return 0
	}
	return pid
}

// wait waits until done.
func (s *server) wait(what string, done func() bool) {
	s.t.Helper()
	for end := time.Now().Add(patience); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("no %s; error log:\n%s", what, s.read("error.log"))
		}
	}
}

// waitForLog waits until a text is in the error log n times.
func (s *server) waitForLog(text string, n int) {
	s.t.Helper()
	s.wait(fmt.Sprintf("%q in the log %d times", text, n), func() bool { return s.logged(text) >= n })
}

// logged returns how often a text is in the error log.
func (s *server) logged(text string) int { return strings.Count(s.read("error.log"), text) }

// waitForWorkers waits until master pid has n workers, none of which is about
// to leave, and returns them.
func (s *server) waitForWorkers(pid, n int) (workers []int) {
	s.t.Helper()
	s.wait(fmt.Sprintf("%d workers of master %d", n, pid), func() bool {
		workers = s.workers(pid)
		return len(workers) == n
	})
	return workers
}

// workers returns the workers of a master that are at work: not about to
// leave and not just begun, when a signal would end them.
func (s *server) workers(pid int) []int {
	return slices.DeleteFunc(children(pid), func(pid int) bool {
		return !strings.HasSuffix(title(pid), ": worker process") || !hasOpen(pid, "anon_inode:[eventpoll]")
	})
}

// leaving returns the workers of a master that are shutting down.
func (s *server) leaving(pid int) []int {
	return slices.DeleteFunc(children(pid), func(pid int) bool {
		return !strings.HasSuffix(title(pid), ": worker process is shutting down")
	})
}

// children returns the processes whose parent is pid.
func children(pid int) (pids []int) {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, task := range tasks {
		text, _ := os.ReadFile(task)
		for _, field := range strings.Fields(string(text)) {
			child, _ := strconv.Atoi(field)
			pids = append(pids, child)
		}
	}
	slices.Sort(pids)
	return pids
}

// title returns what ps shows of a process.
func title(pid int) string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return strings.TrimRight(strings.ReplaceAll(string(text), "\x00", " "), " ")
}

// signal sends a signal to a process.
func (s *server) signal(pid int, sig syscall.Signal) {
	s.t.Helper()
	if err := syscall.Kill(pid, sig); err != nil {
		s.t.Fatalf("kill(%d, %v): %v", pid, sig, err)
	}
}

// waitForEnd waits until a daemon, which is the test's child, has ended, and
// returns how.
func (s *server) waitForEnd(pid int) (status syscall.WaitStatus) {
	s.t.Helper()
	s.wait(fmt.Sprintf("end of process %d", pid), func() bool {
		got, err := syscall.Wait4(pid, &status, syscall.WNOHANG, nil)
		return got == pid || err != nil
	})
	return status
}

// quit has a master end gracefully and checks that it did.
func (s *server) quit(pid int) {
	s.t.Helper()
	s.signal(pid, syscall.SIGQUIT)
	if status := s.waitForEnd(pid); !status.Exited() || status.ExitStatus() != 0 {
		s.t.Errorf("master %d ended with %x", pid, int(status))
	}
}

// kill ends what is left of the server: its masters, then their workers,
// which become the test's children.
func (s *server) kill() {
	for range 3 { // a master, a new one, workers
		for _, pid := range children(os.Getpid()) {
			if hasOpen(pid, s.dir+"/") {
				syscall.Kill(pid, syscall.SIGKILL)
				syscall.Wait4(pid, nil, 0, nil)
			}
		}
	}
}

// hasOpen reports whether a process has an open file whose name begins so.
func hasOpen(pid int, name string) bool {
	fds, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	return slices.ContainsFunc(fds, func(fd string) bool {
		file, _ := os.Readlink(fd)
		return strings.HasPrefix(file, name)
	})
}

// dial connects to the server.
func (s *server) dial() (net.Conn, error) {
	network, addr := "tcp", s.addr
	if path, ok := strings.CutPrefix(s.addr, "unix:"); ok {
		network, addr = "unix", path
	}
	conn, err := net.Dial(network, addr)
	if err == nil {
		conn.SetDeadline(time.Now().Add(patience))
	}
	return conn, err
}

// connect connects and sends text.
func (s *server) connect(text string) net.Conn {
	s.t.Helper()
	conn, err := s.dial()
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { conn.Close() })
	if _, err := io.WriteString(conn, text); err != nil {
		s.t.Fatal(err)
	}
	return conn
}

// get asks for a page on a connection of its own and returns the whole
// answer.
func (s *server) get(uri string) string {
	s.t.Helper()
	return s.ask("GET " + uri + " HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
}

// ask sends a request and returns what comes until the server closes.
func (s *server) ask(request string) string {
	s.t.Helper()
	answer, err := io.ReadAll(s.connect(request))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(answer)
}
