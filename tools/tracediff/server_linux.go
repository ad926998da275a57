package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// patience bounds each wait for what must happen.
const patience = 20 * time.Second

const (
	confName = "nginx.conf"
	logName  = "error.log"
	gateName = "access.log"
	pidName  = "nginx.pid"
)

// directives are those that every scenario needs. One that is about an upgrade
// has a "daemon on" of its own, because a master whose parent lives takes that
// for the one that is upgraded.
const (
	directives = "pid " + pidName + "; error_log " + logName + " debug;"
	foreground = "daemon off; "
	background = "daemon on;"
)

// server is a running nginx or nginxref.
type server struct {
	dir    string
	port   int
	cmd    *exec.Cmd
	group  int // of the processes; 0: none was started
	log    *errorLog
	seen   int            // log lines that latest has
	latest map[int]string // latest line of each process
	gate   int            // pipe in the place of the access log
}

// start starts a server in dir.
func start(ctx context.Context, binary, dir, conf string, port int) (*server, error) {
	s := &server{dir: dir, port: port, gate: -1, latest: map[int]string{},
		log: &errorLog{name: filepath.Join(dir, logName)}}
	conf = strings.ReplaceAll(conf, "PORT", fmt.Sprint(port))
	if err := os.WriteFile(filepath.Join(dir, confName), []byte(conf), 0o644); err != nil {
		return nil, err
	}
	gate := filepath.Join(dir, gateName)
	if err := unix.Mkfifo(gate, 0o666); err != nil {
		return nil, &os.PathError{Op: "mkfifo", Path: gate, Err: err}
	}
	var err error
	if s.gate, err = unix.Open(gate, unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0); err != nil {
		return nil, &os.PathError{Op: "open", Path: gate, Err: err}
	}

	// Workers that lose their master become this process's children.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("prctl(PR_SET_CHILD_SUBREAPER): %w", err)
	}
	global := foreground + directives
	if strings.Contains(conf, background) {
		global = directives
	}
	s.cmd = exec.Command(binary, "-p", dir, "-c", confName, "-e", logName, "-g", global)
	// TERM, for a master that is killed leaves its workers.
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	if err := s.cmd.Start(); err != nil {
		s.stop()
		return nil, err
	}
	s.group = s.cmd.Process.Pid
	if global == directives {
		if err := s.daemon(ctx); err != nil {
			s.stop()
			return nil, err
		}
	}
	s.log.roster.masters = []master{{pid: s.group}}
	return s, nil
}

// daemon waits for the process that was started to end, and for the daemon that
// it leaves, which leads a process group of its own.
func (s *server) daemon(ctx context.Context) error {
	if err := s.cmd.Wait(); err != nil {
		return fmt.Errorf("the daemon does not start: %w", err)
	}
	name := filepath.Join(s.dir, pidName)
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		text, _ := os.ReadFile(name)
		if n, err := fmt.Sscanf(string(text), "%d\n", &s.group); n == 1 && err == nil {
			s.log.roster.launcher = s.cmd.Process.Pid
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the daemon has not written %s", name)
		}
	}
}

// stop ends the processes and waits for them.
func (s *server) stop() {
	if s.group != 0 {
		syscall.Kill(-s.group, syscall.SIGKILL)
		s.cmd.Wait() // a daemon's has been waited for
		for {
			syscall.Kill(-s.group, syscall.SIGKILL) // a worker that was just started
			if _, err := syscall.Wait4(-s.group, nil, 0, nil); err == syscall.ECHILD {
				break
			}
		}
	}
	s.log.read()
	s.log.close()
	unix.Close(s.gate)
	os.Remove(filepath.Join(s.dir, gateName)) // whoever reads it would wait for ever
}

// until waits until done, which looks at the log.
func (s *server) until(ctx context.Context, what string, done func() bool) error {
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		if err := s.log.read(); err != nil {
			return err
		}
		if done() {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("it is not so that %s; the end of the log:%s", what, s.log.tail(20))
		}
	}
}

// rest waits until all processes sleep and have nothing left to do.
func (s *server) rest(ctx context.Context) error {
	return s.until(ctx, "all processes are at rest", func() bool {
		before := len(s.log.lines)
		if !s.atRest() {
			return false
		}
		return s.log.read() == nil && len(s.log.lines) == before
	})
}

// atRest reports whether the last that each process has logged is that it
// goes to sleep, and it sleeps.
func (s *server) atRest() bool {
	for _, l := range s.log.lines[s.seen:] {
		s.latest[l.pid] = l.text
	}
	s.seen = len(s.log.lines)

	roster := &s.log.roster
	for _, w := range roster.workers {
		if !w.ended && !(s.waits(w.pid) && asleep(w.pid)) {
			return false
		}
	}
	for _, m := range roster.masters {
		resting := (s.latest[m.pid] == "sigsuspend" || s.waits(m.pid)) && asleep(m.pid)
		if !resting && !dead(m.pid) {
			return false
		}
	}
	return true
}

// waits reports whether a process has said that its loop goes to sleep.
func (s *server) waits(pid int) bool { return strings.HasPrefix(s.latest[pid], "epoll timer: ") }

// dead reports whether a process has ended, waited for or not.
func dead(pid int) bool {
	st := state(fmt.Sprintf("/proc/%d/stat", pid))
	return st == 'Z' || st == 0
}

// asleep reports whether all threads of a process sleep. A signal to a Go
// program goes through several before the loop's.
func asleep(pid int) bool {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	for _, stat := range threads {
		if state(stat) != 'S' {
			return false
		}
	}
	return len(threads) > 0
}

// state returns the state letter in a stat file, see proc(5); 0 if the thread
// is gone.
func state(stat string) byte {
	text, _ := os.ReadFile(stat)
	if i := strings.LastIndexByte(string(text), ')'); i >= 0 && i+2 < len(text) {
		return text[i+2]
	}
	return 0
}
