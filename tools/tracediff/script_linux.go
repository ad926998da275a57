package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// op is a command of a script.
type op struct {
	name        string
	args        string // for messages
	least, most int    // number of arguments
	run         func(r *run, ctx context.Context, args []string) error
}

// ops are the commands. Each ends when what it is about is over; then the
// script waits until all processes are at rest.
var ops = [...]op{
	// What the scheduler has chosen. The run begins anew until it is so.
	// A PROCESS is "master" or "worker N"; of a new binary, "new master" or "new
	// worker N".
	{"holder", "PROCESS", 1, 1, (*run).holder}, // it holds the lock, and nobody lost it
	{"in order", "", 0, 0, (*run).inOrder},     // the workers registered one after the other
	{"without", "TEXT", 1, 1, (*run).without},  // in the log

	// Clients. NAME is what the report calls the connection.
	{"connect", "NAME [from N]", 1, 3, (*run).connect}, // from the Nth port after the server's
	{"queue", "NAME", 1, 1, (*run).queue},              // nobody will accept it yet
	{"get", "NAME [REQUESTS]", 1, 2, of((*run).get)},
	{"last", "NAME", 1, 1, of((*run).last)}, // get, and have the server close
	{"send", "NAME TEXT", 2, 2, of((*run).send)},
	{"receive", "NAME", 1, 1, of((*run).receive)},
	{"gone", "NAME", 1, 1, of((*run).gone)}, // the server has closed it
	{"close", "NAME", 1, 1, of((*run).hangUp)},

	// The server.
	{"idle", "TIMES", 1, 1, (*run).idle},             // all waits of at most a second time out
	{"await", "[PROCESS: ]TEXT", 1, 1, (*run).await}, // in the log, since the command before
	{"signal", "SIGNAL PROCESS", 2, 2, (*run).signal},
	{"files", "NUMBER PROCESS", 2, 2, (*run).files}, // it can open no more than that
	{"edit", "OLD -> NEW", 1, 1, (*run).edit},       // the configuration
	{"block log", "", 0, 0, (*run).blockLog},        // the access log: who writes to it sleeps
	{"unblock log", "", 0, 0, (*run).unblockLog},
}

// errOtherOrder ends a run in which the scheduler did not choose what the
// script wants.
var errOtherOrder = errors.New("the scheduler chose another order")

// run is a script at work on a server.
type run struct {
	*server
	clients map[string]*client
	names   map[string]string // clients' addresses to names
	mark    int               // log lines before what await looks at
}

// script runs all commands.
func (r *run) script(ctx context.Context, list []command) error {
	if err := r.rest(ctx); err != nil {
		return fmt.Errorf("at the start: %w", err)
	}
	for _, c := range list {
		if c.op.name != "await" {
			r.mark = len(r.log.lines)
		}
		err := c.op.run(r, ctx, c.args)
		if err == nil && !c.busy {
			err = r.rest(ctx)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", c.text, err)
		}
	}
	return nil
}

// logged reports whether a line has the text, among those that were written
// since the command began. pid 0 is any process.
func (r *run) logged(pid int, text string) bool {
	return slices.ContainsFunc(r.log.lines[r.mark:], func(l line) bool {
		return (pid == 0 || l.pid == pid) && strings.Contains(l.text, text)
	})
}

// processName is the form of a process's name.
var processName = regexp.MustCompile(`^(new )?(master|worker \d+)$`)

// process returns the process id of a process of the server.
func (r *run) process(name string) (pid int, err error) {
	if pid = r.log.roster.called(name); pid == 0 {
		err = fmt.Errorf("no %q", name)
	}
	return pid, err
}

func (r *run) without(ctx context.Context, args []string) error {
	for _, l := range r.log.lines {
		if strings.Contains(l.text, args[0]) {
			return errOtherOrder
		}
	}
	return nil
}

func (r *run) holder(ctx context.Context, args []string) error {
	pid, err := r.process(args[0])
	if err != nil {
		return err
	}
	last := 0
	for _, l := range r.log.lines {
		if l.text == "accept mutex locked" {
			last = l.pid
		}
	}
	if last != pid {
		return errOtherOrder
	}
	return r.without(ctx, []string{"accept mutex lock failed: 1"})
}

// inOrder checks that each worker had registered its first descriptor before
// the next began to.
func (r *run) inOrder(ctx context.Context, args []string) error {
	done := 0
	for _, w := range r.log.roster.workers {
		began, ended := 0, 0
		for _, l := range r.log.lines {
			switch {
			case l.pid != w.pid || ended > 0:
			case began > 0:
				ended = l.number
			case strings.HasPrefix(l.text, "epoll add event"):
				began = l.number
			}
		}
		if began < done {
			return errOtherOrder
		}
		done = ended
	}
	return nil
}

func (r *run) idle(ctx context.Context, args []string) error {
	times, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	const short = 1000 // milliseconds
	waiting := map[int]bool{}
	for pid, text := range r.latest {
		var msec int
		if scan(text, "epoll timer: %d", &msec) && msec >= 0 && msec <= short {
			waiting[pid] = true
		}
	}
	return r.until(ctx, fmt.Sprintf("%d waits of each worker time out", times), func() bool {
		count := map[int]int{}
		for _, l := range r.log.lines[r.mark:] {
			if strings.HasPrefix(l.text, "timer delta: ") {
				count[l.pid]++
			}
		}
		for pid := range waiting {
			if count[pid] < times {
				return false
			}
		}
		return true
	})
}

func (r *run) await(ctx context.Context, args []string) error {
	process, text, ok := strings.Cut(args[0], ": ")
	if !ok || !processName.MatchString(process) {
		process, text = "", args[0]
	}
	return r.until(ctx, fmt.Sprintf("%q is in the log", args[0]), func() bool {
		for i, l := range r.log.lines[r.mark:] {
			if strings.Contains(l.text, text) && (process == "" || r.log.roster.name(l.pid) == process) {
				r.mark += i + 1
				return true
			}
		}
		return false
	})
}

func (r *run) signal(ctx context.Context, args []string) error {
	pid, err := r.process(args[1])
	if err != nil {
		return err
	}
	sig := unix.SignalNum("SIG" + args[0])
	if sig == 0 {
		return fmt.Errorf("no signal %q", args[0])
	}
	if err := syscall.Kill(pid, sig); err != nil {
		return err
	}
	return r.until(ctx, "the signal is logged", func() bool {
		return r.logged(pid, "(SIG"+args[0]+") received") ||
			sig == syscall.SIGKILL && r.logged(0, fmt.Sprintf("worker process %d exited", pid))
	})
}

// files lowers the worker's limit of descriptors.
func (r *run) files(ctx context.Context, args []string) error {
	pid, err := r.process(args[1])
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	// Descriptors are taken from the lowest free number up.
	limit := uint64(0)
	for ; ; limit++ {
		_, err := os.Lstat(fmt.Sprintf("/proc/%d/fd/%d", pid, limit))
		if err == nil {
			continue
		}
		if n == 0 {
			break
		}
		n--
	}
	lim := unix.Rlimit{}
	if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, &lim); err != nil {
		return err
	}
	lim.Cur = limit
	return unix.Prlimit(pid, unix.RLIMIT_NOFILE, &lim, nil)
}

func (r *run) edit(ctx context.Context, args []string) error {
	old, new, ok := strings.Cut(args[0], " -> ")
	name := filepath.Join(r.dir, confName)
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if !ok || !strings.Contains(string(text), old) {
		return fmt.Errorf("no %q in the configuration", old)
	}
	return os.WriteFile(name, []byte(strings.Replace(string(text), old, new, 1)), 0o644)
}

// blockLog fills the pipe that stands for the access log.
func (r *run) blockLog(ctx context.Context, args []string) error {
	for _, size := range []int{os.Getpagesize(), 1} {
		for {
			if _, err := unix.Write(r.gate, make([]byte, size)); err == unix.EAGAIN {
				break
			} else if err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *run) unblockLog(ctx context.Context, args []string) error {
	buf := make([]byte, 64<<10)
	for {
		if _, err := unix.Read(r.gate, buf); err == unix.EAGAIN {
			return nil
		} else if err != nil {
			return err
		}
	}
}
