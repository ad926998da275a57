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
)

// directives are those that every scenario needs.
const directives = "daemon off; pid nginx.pid; error_log " + logName + " debug;"

// server is a running nginx or nginxref.
type server struct {
	dir    string
	port   int
	cmd    *exec.Cmd
	log    *errorLog
	seen   int            // log lines that latest has
	latest map[int]string // latest line of each process
	gate   int            // pipe in the place of the access log
}

// start starts a server in dir.
func start(binary, dir, conf string, port int) (*server, error) {
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
	s.cmd = exec.Command(binary, "-p", dir, "-c", confName, "-e", logName, "-g", directives)
	// TERM, for a master that is killed leaves its workers.
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	if err := s.cmd.Start(); err != nil {
		s.stop()
		return nil, err
	}
	s.log.roster.master = s.cmd.Process.Pid
	return s, nil
}

// stop ends the processes and waits for them.
func (s *server) stop() {
	if s.cmd != nil && s.cmd.Process != nil {
		group := s.cmd.Process.Pid
		syscall.Kill(-group, syscall.SIGKILL)
		s.cmd.Wait()
		for {
			syscall.Kill(-group, syscall.SIGKILL) // a worker that was just started
			if _, err := syscall.Wait4(-group, nil, 0, nil); err == syscall.ECHILD {
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
	if len(roster.workers) == 0 {
		return false
	}
	for _, w := range roster.workers {
		if !w.ended && !(strings.HasPrefix(s.latest[w.pid], "epoll timer: ") && asleep(w.pid)) {
			return false
		}
	}
	if s.latest[roster.master] == "sigsuspend" {
		return asleep(roster.master)
	}
	return state(fmt.Sprintf("/proc/%d/stat", roster.master)) == 'Z'
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
