// Package jail runs a program that is not trusted: as another user, with its
// time, memory and processes limited, writing only where it may, and with
// nothing left of it afterwards.
//
// The program is started by way of this one's executable, which sets the
// limits on itself before it becomes the program. So main, and TestMain, call
// Main first.
//
// Outside Linux only the time is limited, and only the process group is killed.
package jail

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"runtime"
	"strconv"
	"syscall"
	"time"
)

// Limits bound a program and all processes that it starts, together if not
// said otherwise. Zero is no limit.
type Limits struct {
	Time      time.Duration // wall clock
	Memory    int64         // bytes: writable private memory of each, resident memory of all
	Processes int
	File      int64 // bytes that a file may grow to
}

// User is who the program runs as.
type User struct{ UID, GID int }

// LookupUser returns the user with the name or number.
func LookupUser(name string) (*User, error) {
	if n, err := strconv.Atoi(name); err == nil {
		return &User{n, n}, nil
	}
	u, err := user.Lookup(name)
	if err != nil {
		return nil, err
	}
	uid, err := strconv.Atoi(u.Uid)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.Atoi(u.Gid)
	return &User{uid, gid}, err
}

// Program is what is run.
type Program struct {
	Path   string
	Args   []string // without the program's name
	Env    []string
	Dir    string // its working directory, the only one that it can write to
	Stdin  string // at most a page
	User   *User  // nil: the one that calls
	Limits Limits
}

// End is how a program ended.
type End struct {
	State    *os.ProcessState
	Output   []byte   // the last of what it wrote to standard output and error
	Fd3      []byte   // the first of what it wrote to descriptor 3
	TimedOut bool     // and so was stopped
	Over     string   // the other limit that it passed, in words, and so was stopped
	Left     []string // processes that it left behind
	Elapsed  time.Duration
}

const (
	keepOutput = 64 << 10
	keepFd3    = 1 << 20
)

// env tells this executable that it is to become a program. It says on
// statusFd, which closes when it has, why it could not.
const (
	env      = "HERD_JAIL"
	statusFd = 4
)

// The limits of the processes together are looked at every watchEvery; whether
// the machine has very many all of a sudden, which is cheap to ask, every
// alarmEvery. A program that has used up its time has grace to say where it is.
const (
	alarmEvery = 5 * time.Millisecond
	watchEvery = 50 * time.Millisecond
	grace      = 3 * time.Second
)

// crowd is how many processes and threads are very many.
const crowd = 1024

// Run runs the program to its end, or to the first limit, or until ctx is
// done. The error says that it could not be run.
func Run(ctx context.Context, p *Program) (*End, error) {
	r, err := start(p)
	if err != nil {
		return nil, err
	}
	end := &End{}
	began := time.Now()
	end.State, err = r.watch(ctx, end)
	end.Elapsed = time.Since(began)
	left, killErr := r.killAll()
	if end.TimedOut || end.Over != "" || ctx.Err() != nil {
		left = nil // it did not come to its end
	}
	end.Left = left
	end.Output, end.Fd3 = r.output.read(), r.fd3.read()
	if failed := r.status.read(); len(failed) > 0 {
		err = errors.New(string(failed))
	}
	return end, errors.Join(err, killErr, ctx.Err())
}

// run is a program under way.
type run struct {
	cmd                 *exec.Cmd
	limits              Limits
	tasks               int // on the machine when it started, or at the last alarm
	output, fd3, status *stream
}

// start starts this executable, to become p.
func start(p *Program) (*run, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if err := adoptOrphans(); err != nil {
		return nil, err
	}
	spec, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	r := &run{cmd: exec.Command(self), limits: p.Limits, tasks: tasks()}
	r.cmd.Env = []string{env + "=" + string(spec)} // the program's is in it
	r.cmd.Dir = p.Dir
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	files, err := r.connect(p.Stdin)
	defer func() {
		for _, f := range files {
			f.Close()
		}
	}()
	if err != nil {
		return nil, err
	}
	if err := r.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start a process: %w", err)
	}
	return r, nil
}

// connect gives the program its descriptors 0 to 4. It returns the ends that
// are to be closed once the program has them.
func (r *run) connect(stdin string) (files []*os.File, err error) {
	in, err := filled(stdin)
	if err != nil {
		return nil, err
	}
	files = append(files, in)
	for _, s := range []struct {
		at                  **stream
		keepFirst, keepLast int
	}{{&r.output, 0, keepOutput}, {&r.fd3, keepFd3, 0}, {&r.status, keepFd3, 0}} {
		var w *os.File
		if *s.at, w, err = newStream(s.keepFirst, s.keepLast); err != nil {
			return files, err
		}
		files = append(files, w)
	}
	r.cmd.Stdin, r.cmd.Stdout, r.cmd.Stderr = files[0], files[1], files[1]
	r.cmd.ExtraFiles = files[2:]
	return files, nil
}

// watch waits for the end of the program, and stops it when it passes a limit.
func (r *run) watch(ctx context.Context, end *End) (*os.ProcessState, error) {
	type exit struct {
		state *os.ProcessState
		err   error
	}
	exited := make(chan exit, 1)
	go func() {
		state, err := r.cmd.Process.Wait()
		exited <- exit{state, err}
	}()
	alarm := time.NewTicker(alarmEvery)
	defer alarm.Stop()
	over, done := make(chan string, 1), make(chan struct{})
	defer close(done)
	go r.limits.watch(over, done)
	var timeout <-chan time.Time
	if r.limits.Time > 0 {
		timeout = time.After(r.limits.Time)
	}
	for {
		select {
		case e := <-exited:
			return e.state, e.err
		case <-ctx.Done():
			r.signal(syscall.SIGKILL)
			ctx = context.Background()
		case <-timeout:
			if !end.TimedOut {
				end.TimedOut = true
				quit(r.cmd.Process.Pid)
				timeout = time.After(grace)
				continue
			}
			r.signal(syscall.SIGKILL)
		case <-alarm.C:
			if tasks() > r.tasks+crowd {
				r.alarm(end)
			}
		case limit := <-over:
			r.stop(end, limit)
		}
	}
}

// alarm looks whose the many new processes are. The program waits meanwhile:
// its processes are counted, and do not become more.
func (r *run) alarm(end *End) {
	r.signal(syscall.SIGSTOP)
	if over := r.limits.passed(); over != "" {
		r.stop(end, over)
	}
	r.signal(syscall.SIGCONT)
	r.tasks = tasks()
}

// stop ends the program for what it did.
func (r *run) stop(end *End, over string) {
	if end.Over == "" {
		end.Over = over
	}
	r.signal(syscall.SIGKILL)
}

// signal signals the program's process group.
func (r *run) signal(sig syscall.Signal) {
	syscall.Kill(-r.cmd.Process.Pid, sig)
}

// watch sends to over when the processes together have passed a limit. It runs
// beside the alarm, since looking at very many takes long.
func (l *Limits) watch(over chan<- string, done <-chan struct{}) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return
		case <-tick.C:
		}
		if limit := l.passed(); limit != "" {
			over <- limit
			return
		}
	}
}

// passed says which limit the processes together have passed, or "".
func (l *Limits) passed() string {
	var memory int64
	n := 0
	for _, p := range descendants() {
		if !p.dead {
			n++
			memory += p.resident
		}
	}
	switch {
	case l.Processes > 0 && n > l.Processes:
		return fmt.Sprintf("it started more than %d processes", l.Processes)
	case l.Memory > 0 && memory > l.Memory:
		return fmt.Sprintf("it used more than %d MB of memory", l.Memory>>20)
	}
	return ""
}

// killAll kills what is left of the program and returns the names of those
// processes.
func (r *run) killAll() (left []string, err error) {
	seen := map[int]bool{}
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(time.Millisecond) {
		all := descendants()
		r.signal(syscall.SIGKILL)
		for _, p := range all {
			if !p.dead && !seen[p.pid] {
				seen[p.pid] = true
				left = append(left, p.name)
			}
			p.end()
		}
		if len(all) == 0 {
			return left, nil
		}
		if time.Now().After(deadline) {
			return left, fmt.Errorf("%d processes cannot be killed", len(all))
		}
	}
}

// Main becomes the program if this process was started to do so; then it does
// not return.
func Main() {
	spec, ok := os.LookupEnv(env)
	if !ok {
		return
	}
	runtime.LockOSThread() // some limits are a thread's
	syscall.CloseOnExec(statusFd)
	var p Program
	err := json.Unmarshal([]byte(spec), &p)
	if err == nil {
		err = p.confine()
	}
	if err == nil {
		err = syscall.Exec(p.Path, append([]string{p.Path}, p.Args...), p.Env)
	}
	fmt.Fprintf(os.NewFile(statusFd, "status"), "run %s: %v", p.Path, err)
	os.Exit(1)
}
