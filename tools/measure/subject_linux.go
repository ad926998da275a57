package measure

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"herd/nginxref/core"
	"herd/nginxref/event"
	"herd/nginxref/process"
	"herd/nginxref/stat"
	"herd/nginxref/sys"
)

// masterEnv holds the Conf of a process that is to be a subject's master.
const masterEnv = "HERD_MASTER"

// The descriptors that a master finds open.
const (
	masterLogFd    = 3
	masterListenFd = 4 // and those after it
)

// Main must be called first in main: in the master and the workers of a
// subject, which are the same program started again, it does not return.
func Main() {
	app := process.App{Configure: configure}
	process.Main(app)
	if raw, ok := os.LookupEnv(masterEnv); ok {
		os.Unsetenv(masterEnv)
		runMaster(app, []byte(raw))
	}
}

// runMaster is the life of a subject's master.
func runMaster(app process.App, raw []byte) {
	runtime.LockOSThread()
	kernel, err := sys.New()
	if err != nil {
		fmt.Fprintln(os.Stderr, "herd:", err)
		os.Exit(1)
	}
	times := core.NewTimes(kernel)
	file := core.NewOpenFile("", os.NewFile(masterLogFd, "log"), times, kernel.Getpid())
	log := &core.Log{Level: core.LogWarn, File: file}
	unix.CloseOnExec(masterLogFd)

	cycle := event.NewCycle(kernel, log, times)
	cycle.Process = event.ProcessMaster
	if err := app.Configure(cycle, raw); err != nil {
		log.Error(core.LogEmerg, 0, "%s", err.Error())
		os.Exit(1)
	}
	for i, ls := range cycle.Listening {
		ls.Fd = masterListenFd + i
		unix.CloseOnExec(ls.Fd)
	}
	for _, m := range cycle.Modules {
		if m.InitModule != nil && m.InitModule(cycle) == core.Error {
			os.Exit(1)
		}
	}

	p := process.New(app, cycle, raw)
	p.Name = "herd"
	p.Pdeathsig = syscall.SIGKILL // blocked in accept, a worker hears nothing else
	p.InitSignals()
	p.MasterProcessCycle(cycle)
	os.Exit(0)
}

// Subject is a master with its workers, running and ready to be measured.
type Subject struct {
	fix     *Fix
	conf    Conf
	pid     int           // of the master
	ended   chan struct{} // closed when it has been waited for; nil: not started
	log     *os.File      // the processes' output and error log, in memory
	sockets []int
	zone    []byte
	workers []stat.Worker
}

// Start opens the listeners on addr, starts a master with conf.Workers
// workers and waits until all of them wait for connections.
func Start(ctx context.Context, conf Conf, addr string) (*Subject, error) {
	fix, err := FixByName(conf.Fix)
	if err != nil {
		return nil, err
	}
	if err := checkNofile(conf.Workers); err != nil {
		return nil, err
	}
	s := &Subject{fix: fix, conf: conf}
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
	return s, nil
}

// checkNofile says so beforehand if the master could not hold a channel pair
// for each of n workers, the clones of the listener, and a few more; the same
// is enough for the clients of a burst.
func checkNofile(n int) error {
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
	raw, err := json.Marshal(s.conf)
	if err != nil {
		return err
	}
	fd, err := unix.MemfdCreate("herd-log", unix.MFD_CLOEXEC)
	if err != nil {
		return fmt.Errorf("memfd_create: %w", err)
	}
	s.log = os.NewFile(uintptr(fd), "log")

	exe, err := os.Executable()
	if err != nil {
		return err
	}
	// Not os/exec: it makes the listeners blocking when it asks an os.File
	// for its descriptor.
	files := []uintptr{0, uintptr(fd), uintptr(fd), uintptr(fd)}
	for _, fd := range s.sockets {
		files = append(files, uintptr(fd))
	}
	// Workers that lose their master become this process's children.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("prctl(PR_SET_CHILD_SUBREAPER): %w", err)
	}
	pid, err := syscall.ForkExec(exe, []string{"herd: master process"}, &syscall.ProcAttr{
		Env:   append(os.Environ(), masterEnv+"="+string(raw)),
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

// startTimeout is how long all workers may take to be ready.
const startTimeout = 20 * time.Second

// waitReady waits until every worker has begun to wait for connections.
func (s *Subject) waitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout,
		fmt.Errorf("the workers were not ready after %v", startTimeout))
	defer cancel()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !s.ready() {
		var err error
		select {
		case <-s.ended:
			err = errors.New("the master ended before its workers were ready")
		case <-ctx.Done():
			err = context.Cause(ctx)
		case <-tick.C:
		}
		if line := s.complaint(); line != "" {
			return fmt.Errorf("the processes could not start: %s", line)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// complaint returns the first line of the processes' output that names a
// reason to end: a panic, or a message of level emerg or alert.
func (s *Subject) complaint() string {
	var buf [64 << 10]byte
	n, _ := s.log.ReadAt(buf[:], 0)
	for line := range strings.Lines(string(buf[:n])) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "panic: ") {
			return line
		}
		if strings.Contains(line, " [emerg] ") || strings.Contains(line, " [alert] ") {
			_, text, _ := strings.Cut(line, ": ")
			return text
		}
	}
	return ""
}

// ready reports whether all workers wait for connections, and maps the shared
// zone once the master has made it.
func (s *Subject) ready() bool {
	if s.zone == nil && !s.mapZone() {
		return false
	}
	for i := range s.workers {
		if atomic.LoadUint64(&s.workers[i].Ready) == 0 {
			return false
		}
	}
	return true
}

// mapZone finds the shared zone among the master's descriptors and maps it;
// it reports whether it was there.
func (s *Subject) mapZone() bool {
	dir := fmt.Sprintf("/proc/%d/fd/", s.pid)
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		target, _ := os.Readlink(dir + e.Name())
		if !strings.HasPrefix(target, "/memfd:"+stat.ZoneName) {
			continue
		}
		f, err := os.Open(dir + e.Name())
		if err != nil {
			return false
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil || info.Size() < int64(stat.ZoneSize(s.conf.Workers)) {
			return false
		}
		mem, err := unix.Mmap(int(f.Fd()), 0, int(info.Size()), unix.PROT_READ, unix.MAP_SHARED)
		if err != nil {
			return false
		}
		_, workers, err := stat.ZoneAt(mem)
		if err != nil {
			return false
		}
		s.zone, s.workers = mem, workers[:s.conf.Workers]
		return true
	}
	return false
}

// settle is how long the workers get to fall asleep before a measurement and
// after it.
const settle = 20 * time.Millisecond

// Measure makes the connections of load and returns what the workers did
// meanwhile. step is called with the number of connections finished.
func (s *Subject) Measure(ctx context.Context, load Load, step func(int)) (Run, error) {
	load.addr = s.conf.Addr.String()
	load.asleep = s.asleep
	time.Sleep(settle)
	before, begin := s.snapshot(), time.Now()

	lat := load.run(ctx, step)
	if load.Rate > 0 {
		// The last connection's interval belongs to the run.
		sleepUntil(ctx, begin.Add(time.Duration(float64(load.Conns)/load.Rate*float64(time.Second))))
	} else {
		time.Sleep(settle)
	}

	after, end := s.snapshot(), time.Now()
	if ctx.Err() != nil {
		return Run{}, ctx.Err()
	}
	if lat.Failed > 0 {
		return Run{}, fmt.Errorf("%d of %d connections failed; the first: %w", lat.Failed, load.Conns, lat.FirstErr)
	}

	run := Run{Fix: s.fix.Name, Workers: s.conf.Workers, Rate: load.Rate, Conns: load.Conns}
	run.fill(before, after, end.Sub(begin).Seconds(), lat)
	if load.Rate > 0 {
		p := s.fix.Wakeups(float64(s.conf.Workers), load.Rate, float64(s.conf.DelayMsec)/1e3)
		run.PredictedWakeupsPerS = &p
	}
	return run, nil
}

// asleep reports whether the loop thread of every worker sleeps in its wait.
func (s *Subject) asleep() bool {
	for i := range s.workers {
		w := &s.workers[i]
		if asleep, _ := loopThread(w.Pid); !asleep || atomic.LoadUint64(&w.Wait.Inside) == 0 {
			return false
		}
	}
	return true
}

// snapshot copies the workers' counters, as soon as each worker sleeps, and
// adds the wakeups of the waits they are in: of those that the kernel put back
// to sleep, the workers themselves learn only when they return.
func (s *Subject) snapshot() []stat.Worker {
	workers := make([]stat.Worker, len(s.workers))
	for i := range workers {
		for !s.snapshotOne(i, &workers[i]) {
			time.Sleep(100 * time.Microsecond)
		}
	}
	return workers
}

// snapshotOne copies the counters of worker i and reports whether it slept in
// its wait all the while, or is gone.
func (s *Subject) snapshotOne(i int, w *stat.Worker) bool {
	*w = s.workers[i]
	asleep, sleeps := loopThread(w.Pid)
	if !asleep {
		return sleeps == 0
	}
	w.Wakeups += sleeps - w.Wait.SleepsBefore - 1
	return w.Wait.Inside == 1 && w.Wait == s.workers[i].Wait
}

// loopThread reads from /proc/PID/status, which speaks of the main thread,
// whether it sleeps and its voluntary context switches; none if the process is
// gone.
func loopThread(pid uint64) (asleep bool, sleeps uint64) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return false, 0
	}
	for line := range bytes.Lines(status) {
		if state, ok := bytes.CutPrefix(line, []byte("State:\t")); ok {
			asleep = state[0] == 'S'
		}
		if n, ok := bytes.CutPrefix(line, []byte("voluntary_ctxt_switches:\t")); ok {
			sleeps, _ = strconv.ParseUint(string(bytes.TrimSpace(n)), 10, 64)
		}
	}
	return asleep, sleeps
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
	if s.zone != nil {
		unix.Munmap(s.zone)
	}
	if s.log != nil {
		s.log.Close()
	}
	closeAll(s.sockets)
}

// waitWorkersGone ends the workers that a killed master left and waits for
// them: their listeners must be closed before the next subject starts. Start
// has made the tool their parent in that case.
func (s *Subject) waitWorkersGone() {
	for i := range s.workers {
		pid := int(s.workers[i].Pid)
		if pid == 0 {
			continue
		}
		syscall.Kill(pid, syscall.SIGKILL)
		syscall.Wait4(pid, nil, 0, nil)
	}
}
