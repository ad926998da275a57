package measure

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Subject is a master with its workers, running and ready to be measured.
type Subject struct {
	readyMsec float64 // that Start took
	fix       *Fix
	conf      Conf
	program   program
	witness   witness
	pid       int           // of the master
	ended     chan struct{} // closed when it has been waited for; nil: not started
	log       *os.File      // the processes' output and error log, in memory
	sockets   []int
}

// program is what a subject runs.
type program interface {
	// ready reports whether all workers wait for connections.
	ready(master, workers int) (bool, error)
	// pids returns the workers' process ids, by number.
	pids() []int
	// asleep reports whether all workers sleep.
	asleep() bool
	// samples returns what each worker has done so far.
	samples() ([]Sample, error)
	close()
}

// Start opens the listeners on addr, starts a master with conf.Workers
// workers and waits until all of them wait for connections.
func Start(ctx context.Context, conf Conf, addr string) (*Subject, error) {
	fix, err := conf.fix()
	if err != nil {
		return nil, err
	}
	if err := CheckNofile(conf.Workers); err != nil {
		return nil, err
	}
	s := &Subject{fix: fix, conf: conf}
	begin := time.Now()
	s.sockets, s.conf.Addr, err = listen(addr, fix.listeners(conf.Workers), fix.Reuseport, fix.Blocking)
	if err == nil {
		err = s.start()
	}
	if err == nil {
		err = s.waitReady(ctx)
	}
	if err != nil {
		s.Stop()
		return nil, err
	}
	s.readyMsec = time.Since(begin).Seconds() * 1e3
	s.witness = newWitness(s.program)
	return s, nil
}

// CheckNofile says so beforehand if the master could not hold a channel pair
// for each of n workers, the clones of the listener, and a few more; the same
// is enough for the clients of a burst.
func CheckNofile(n int) error {
	var lim unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &lim); err != nil {
		return err
	}
	if need := uint64(3*n + 64); lim.Cur < need {
		return fmt.Errorf("%d workers need %d open files and the limit is %d: raise it with ulimit -n %d",
			n, need, lim.Cur, need)
	}
	return nil
}

// start starts the master.
func (s *Subject) start() error {
	fd, err := unix.MemfdCreate("herd-log", unix.MFD_CLOEXEC)
	if err != nil {
		return fmt.Errorf("memfd_create: %w", err)
	}
	s.log = os.NewFile(uintptr(fd), "log")

	// Workers that lose their master become this process's children.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("prctl(PR_SET_CHILD_SUBREAPER): %w", err)
	}
	exe, argv, env, err := s.command()
	if err != nil {
		return err
	}
	// Not os/exec: it makes the listeners blocking when it asks an os.File
	// for its descriptor.
	files := []uintptr{0, uintptr(fd), uintptr(fd), uintptr(fd)}
	for _, fd := range s.sockets {
		files = append(files, uintptr(fd))
	}
	pid, err := syscall.ForkExec(exe, argv, &syscall.ProcAttr{
		Env:   append(os.Environ(), env),
		Files: files,
		Sys:   &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL},
	})
	if err != nil {
		return fmt.Errorf("starting %s: %w", exe, err)
	}
	s.pid = pid
	s.ended = make(chan struct{})
	go func() {
		syscall.Wait4(pid, nil, 0, nil)
		close(s.ended)
	}()
	return nil
}

// command returns how the master is started: nginx, a lab's program, or this
// one again.
func (s *Subject) command() (exe string, argv []string, env string, err error) {
	if s.conf.Nginx != "" {
		n, err := newNginx(s.conf.Nginx, s.conf)
		if err != nil {
			return "", nil, "", err
		}
		s.program = n
		return n.path, n.argv(), n.env(len(s.sockets)), nil
	}
	s.program = &zone{}
	raw, err := json.Marshal(s.conf)
	if err != nil {
		return "", nil, "", err
	}
	exe = s.conf.Lab.Exe
	if exe == "" {
		exe, err = os.Executable()
	}
	return exe, []string{"herd: master process"}, masterEnv + "=" + string(raw), err
}

// startTimeout is how long all workers may take to be ready.
const startTimeout = 20 * time.Second

// waitReady waits until every worker has begun to wait for connections.
func (s *Subject) waitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout,
		fmt.Errorf("the workers were not ready after %v", startTimeout))
	defer cancel()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		ready, err := s.program.ready(s.pid, s.fix.slots(s.conf.Workers))
		if ready {
			return nil
		}
		select {
		case <-s.ended:
			err = errors.New("the master ended before its workers were ready")
		case <-ctx.Done():
			err = context.Cause(ctx)
		case <-tick.C:
		}
		if line := s.complaint(); line != "" {
			return fmt.Errorf("the processes could not start: %s%s", line, s.place())
		}
		if err != nil {
			return err
		}
	}
}

// complaint returns the first line of the processes' output that names a
// reason to end: a panic, or a message of level emerg or alert.
func (s *Subject) complaint() string {
	return s.logged(func(line string) string {
		if strings.Contains(line, "[emerg] ") || strings.Contains(line, "[alert] ") {
			_, text, _ := strings.Cut(line, ": ")
			return text
		}
		return panicOf(line)
	})
}

// panicked returns an error if a process has panicked. An alert while a
// subject runs may be what is measured.
func (s *Subject) panicked() error {
	if line := s.logged(panicOf); line != "" {
		return fmt.Errorf("a worker has failed: %s%s", line, s.place())
	}
	return nil
}

// place returns where the first panic came from, if it was a function of
// package main: in a lab that is the student's.
func (s *Subject) place() string {
	frame := false
	return s.logged(func(line string) string {
		if frame {
			path, _, _ := strings.Cut(line, " +0x")
			return fmt.Sprintf(" (%s)", filepath.Base(path))
		}
		frame = strings.HasPrefix(line, "main.") && !strings.HasPrefix(line, "main.main(")
		return ""
	})
}

// panicOf returns the line if it is the first of those that a panic, or an
// error of Go's runtime, leaves.
func panicOf(line string) string {
	if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
		return line
	}
	return ""
}

// logged returns the first that find makes of a line of the processes' output.
func (s *Subject) logged(find func(line string) string) string {
	var buf [64 << 10]byte
	n, _ := s.log.ReadAt(buf[:], 0)
	for line := range strings.Lines(string(buf[:n])) {
		if found := find(strings.TrimSpace(line)); found != "" {
			return found
		}
	}
	return ""
}

// settle is how long the workers get to fall asleep before a measurement and
// after it.
const settle = 20 * time.Millisecond

// Measure makes the connections of load and returns what the workers did
// meanwhile. step is called with the number of connections finished.
func (s *Subject) Measure(ctx context.Context, load Load, step func(int)) (Run, error) {
	load.addr = s.conf.Addr.String()
	load.asleep = s.program.asleep
	time.Sleep(settle)
	before, err := s.reading()
	if err != nil {
		return Run{}, err
	}

	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	lat := load.run(ctx, func(done int) {
		if err := s.panicked(); err != nil {
			cancel(err)
		}
		step(done)
	})
	if load.Rate > 0 {
		// The last connection's interval belongs to the run.
		sleepUntil(ctx, before.at.Add(time.Duration(float64(load.Conns)/load.Rate*float64(time.Second))))
	} else {
		time.Sleep(settle)
	}
	if err := s.failure(ctx, load, lat); err != nil {
		return Run{}, err
	}
	after, err := s.reading()
	if err != nil {
		return Run{}, err
	}

	run := Run{
		Fix:     s.conf.Fix,
		Subject: s.conf.Subject(),
		Build:   s.conf.Lab.Build,
		Workers: s.conf.Workers,
		Load:    load.kind(),
		Rate:    load.Rate,
		Clients: load.Clients,
		Conns:   load.Conns,
		Refused: lat.Failed,

		ReadyMsec: s.readyMsec,
	}
	run.fill(before.samples, after.samples, after.at.Sub(before.at).Seconds(), lat)
	run.predict(s.fix, load, float64(s.conf.DelayMsec)/1e3)
	if load.Rate > 0 {
		run.Witness = s.witness.name
		run.Disagreements = s.witness.disagreements(before, after)
	}
	return run, nil
}

// failure says why the load was not served.
func (s *Subject) failure(ctx context.Context, load Load, lat *Latencies) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := s.panicked(); err != nil { // at the last connection
		return err
	}
	if lat.Failed > 0 && !load.Hold {
		return fmt.Errorf("%d of %d connections failed; the first: %w", lat.Failed, load.Conns, lat.FirstErr)
	}
	return nil
}

// reading is what both witnesses say at one moment.
type reading struct {
	at      time.Time
	samples []Sample
	second  []Sample
}

func (s *Subject) reading() (r reading, err error) {
	if r.samples, err = s.program.samples(); err != nil {
		return r, err
	}
	r.at = time.Now()
	r.second, err = s.witness.samples()
	return r, err
}

// stopTimeout is how long the master gets to stop its workers in order.
const stopTimeout = 300 * time.Millisecond

// Stop ends the master and its workers; none outlives it.
func (s *Subject) Stop() {
	if s.ended != nil {
		syscall.Kill(s.pid, syscall.SIGTERM)
		select {
		case <-s.ended:
		case <-time.After(stopTimeout):
			syscall.Kill(s.pid, syscall.SIGKILL)
			<-s.ended
		}
		s.waitWorkersGone()
	}
	if s.program != nil {
		s.program.close()
	}
	if s.witness.close != nil {
		s.witness.close()
	}
	if s.log != nil {
		s.log.Close()
	}
	closeAll(s.sockets)
}

// waitWorkersGone ends the workers that a killed master left and waits for
// them: their listeners must be closed before the next subject starts. start
// has made this process their parent in that case.
func (s *Subject) waitWorkersGone() {
	for _, pid := range s.program.pids() {
		if pid == 0 {
			continue
		}
		syscall.Kill(pid, syscall.SIGKILL)
		syscall.Wait4(pid, nil, 0, nil)
	}
}
