package shmtx

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"herd/nginxref/core"
	"herd/nginxref/sys"
)

// The processes of these tests are peers: the test binary started again with
// peerEnv set, the zone on descriptor 3 and the lock file on 4. A peer reads
// one command a line and answers each with one line.
//
//	trylock  lock  unlock   what the mutex does; trylock answers true or false
//	count N                 N times: lock, add 1 to the zone's counter, unlock;
//	                        answers how often it slept for the lock
//	dup  reopen             get another descriptor of the lock file and close it
//	flock  flock-own        flock(2) the inherited descriptor, or one of its own
const (
	peerEnv = "SHMTX_TEST_PEER" // "atomic" or "file"
	zoneFd  = 3
	lockFd  = 4
)

// patience bounds the wait for what must happen at once; reaching it is a
// failure.
const patience = 30 * time.Second

func TestMain(m *testing.M) {
	if variant := os.Getenv(peerEnv); variant != "" {
		peerMain(variant)
		return
	}
	code := m.Run()
	if _, err := unix.Wait4(-1, nil, unix.WNOHANG, nil); err != unix.ECHILD {
		fmt.Fprintln(os.Stderr, "a test left a process behind")
		code = 1
	}
	os.Exit(code)
}

// holdUp is how many locks lie between two in which a process gives the
// processor away while it is inside. A lock and unlock takes 14 ns: without
// these the processes would hardly meet.
const holdUp = 100

// noting is the real kernel; it counts the sleeps on a futex.
type noting struct {
	sys.Kernel
	sleeps int
}

func (k *noting) FutexWait(word *sys.Futex, value uint32) sys.Errno {
	k.sleeps++
	return k.Kernel.FutexWait(word, value)
}

// zone is what the processes of one test share.
type zone struct {
	mutex   Shared
	_       [128 - unsafe.Sizeof(Shared{})]byte
	counter uint64 // protected by the mutex alone: not atomic
}

// read and write are apart, and not inlined, so that two processes inside the
// mutex at once lose counts on any machine.
//
//go:noinline
func (z *zone) read() uint64 { return z.counter }

//go:noinline
func (z *zone) write(n uint64) { z.counter = n }

func zoneOf(shm *Shm) *zone { return (*zone)(unsafe.Pointer(&shm.Addr[0])) }

// must is for the steps that set a test up.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func newAtomic(kernel sys.Kernel, w io.Writer, addr *Shared) *Atomic {
	mtx := &Atomic{Kernel: kernel, Log: newLog(kernel, w, core.LogErr), Ncpu: 2}
	mtx.Create(addr)
	return mtx
}

func newFile(kernel sys.Kernel, w io.Writer) *File {
	return &File{Kernel: kernel, Log: newLog(kernel, w, core.LogErr)}
}

func peerMain(variant string) {
	var (
		mutex  Mutex
		kernel = &noting{Kernel: must(sys.New())}
	)

	z := zoneOf(must(Attach(zoneFd, int(unsafe.Sizeof(zone{})))))
	switch variant {
	case "atomic":
		mutex = newAtomic(kernel, os.Stderr, &z.mutex)
	case "file":
		f := newFile(kernel, os.Stderr)
		f.Fd, f.Name = lockFd, "inherited"
		mutex = f
	}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		fmt.Println(obey(z, mutex, kernel, in.Text()))
	}
}

// obey carries out one command and returns the answer.
func obey(z *zone, mutex Mutex, kernel *noting, command string) string {
	name, arg, _ := strings.Cut(command, " ")
	switch name {
	case "trylock":
		return strconv.FormatBool(mutex.Trylock())
	case "lock":
		mutex.Lock()
	case "unlock":
		mutex.Unlock()
	case "count":
		for i := range must(strconv.Atoi(arg)) {
			mutex.Lock()
			n := z.read()
			if i%holdUp == 0 {
				kernel.SchedYield()
			}
			z.write(n + 1)
			mutex.Unlock()
		}
		return strconv.Itoa(kernel.sleeps)
	case "dup":
		unix.Close(must(unix.Dup(lockFd)))
	case "reopen":
		unix.Close(reopen(lockFd))
	case "flock":
		return strconv.FormatBool(unix.Flock(lockFd, unix.LOCK_EX|unix.LOCK_NB) == nil)
	case "flock-own":
		return strconv.FormatBool(unix.Flock(reopen(lockFd), unix.LOCK_EX|unix.LOCK_NB) == nil)
	default:
		return "what is " + name + "?"
	}
	return "done"
}

// reopen opens the file behind fd once more, though it has no name any longer.
func reopen(fd int) int {
	return must(unix.Open(fmt.Sprintf("/proc/self/fd/%d", fd), unix.O_RDWR|unix.O_CLOEXEC, 0))
}

// group is the processes of one test, and what they share with it.
type group struct {
	t       *testing.T
	variant string
	zone    *zone
	lock    *File      // the test's own handle on the lock file
	files   []*os.File // what peers inherit as descriptors 3 and 4
}

func newGroup(t *testing.T, variant string) *group {
	shm := must(Alloc("test", int(unsafe.Sizeof(zone{}))))
	lock := newFile(must(sys.New()), os.Stderr)
	if lock.Create(filepath.Join(t.TempDir(), "lock")) != core.OK {
		t.FailNow()
	}
	// Of the lock file the test has one descriptor only: to close a second one
	// would drop its lock.
	files := []*os.File{
		os.NewFile(uintptr(must(unix.Dup(shm.Fd))), "zone"),
		os.NewFile(uintptr(lock.Fd), "lock"),
	}
	t.Cleanup(func() {
		for _, f := range files {
			f.Close()
		}
		shm.Free()
	})
	return &group{t: t, variant: variant, zone: zoneOf(shm), lock: lock, files: files}
}

// peer is one process as the test sees it.
type peer struct {
	t    *testing.T
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *os.File
	read *bufio.Reader
	errs bytes.Buffer // what it wrote to its error log
}

// start starts a peer. It ends with the test, or with the test binary.
func (g *group) start() *peer {
	a := &peer{t: g.t, cmd: exec.Command(must(os.Executable()))}
	a.cmd.Env = append(os.Environ(), peerEnv+"="+g.variant)
	a.cmd.ExtraFiles = g.files
	a.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	a.cmd.Stderr = &a.errs
	a.in = must(a.cmd.StdinPipe())
	a.out = must(a.cmd.StdoutPipe()).(*os.File)
	a.read = bufio.NewReader(a.out)
	if err := a.cmd.Start(); err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() {
		a.kill()
		if a.errs.Len() > 0 {
			g.t.Errorf("process %d logged: %s", a.pid(), &a.errs)
		}
	})
	return a
}

func (a *peer) pid() int { return a.cmd.Process.Pid }

// kill ends the process with SIGKILL and reaps it.
func (a *peer) kill() {
	a.cmd.Process.Kill()
	a.cmd.Wait()
}

// send gives a command and does not wait for the answer.
func (a *peer) send(command string) { fmt.Fprintln(a.in, command) }

// answer waits for the answer to an earlier command.
func (a *peer) answer() string {
	a.t.Helper()
	a.out.SetReadDeadline(time.Now().Add(patience))
	line, err := a.read.ReadString('\n')
	if err != nil {
		a.t.Fatalf("process %d gives no answer: %v", a.pid(), err)
	}
	return strings.TrimSpace(line)
}

// want gives a command and fails unless the answer is want.
func (a *peer) want(command, want string) {
	a.t.Helper()
	a.send(command)
	if got := a.answer(); got != want {
		a.t.Fatalf("process %d: %s: %s, want %s", a.pid(), command, got, want)
	}
}

// waiters waits until n processes are owed a post.
func (g *group) waiters(n int64) {
	g.t.Helper()
	for end := time.Now().Add(patience); int64(g.zone.mutex.Wait.Load()) != n; {
		if time.Now().After(end) {
			g.t.Fatalf("waiter count %d, want %d", int64(g.zone.mutex.Wait.Load()), n)
		}
		time.Sleep(time.Millisecond)
	}
}

// count lets n processes count at once, each times times, once all are there;
// it runs ready before it waits for them. It returns them, and how often they
// slept.
func (g *group) count(n, times int, ready func()) (peers []*peer, sleeps int) {
	for range n {
		a := g.start()
		a.send(fmt.Sprintf("count %d", times))
		peers = append(peers, a)
	}
	ready()
	for _, a := range peers {
		sleeps += must(strconv.Atoi(a.answer()))
	}
	if want := uint64(n * times); g.zone.counter != want {
		g.t.Errorf("%d processes counted to %d, want %d", n, g.zone.counter, want)
	}
	return peers, sleeps
}
