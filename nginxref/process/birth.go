package process

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"herd/nginxref/core"
	"herd/nginxref/event"
	"herd/nginxref/sys"
)

// App is what a program that has workers tells this package. The program calls
// [Main] with it, and with the same one makes the master ([New]).
type App struct {
	// Configure makes of conf, in the master and again in each worker, the
	// same cycle: Conf, Event, ConnectionN, Modules, Actions, and Listening
	// in the same order, with Handlers. The master opens the listening
	// sockets afterwards; a worker finds them open.
	Configure func(cycle *event.Cycle, conf []byte) error

	// Procs are the program's own kinds of process, by the name they are
	// spawned with. One called WorkerProcess takes the place of nginx's.
	Procs map[string]Proc
}

// Proc is the life of a spawned process; data is what the master gave it, for
// a worker its number. If it returns, the process exits with code 0. It begins
// with the signals of nginx collected already: TERM does not end it.
type Proc func(p *Process, cycle *event.Cycle, data int)

// proc returns what the processes called name do, or nil.
func (app *App) proc(name string) Proc {
	if proc, ok := app.Procs[name]; ok {
		return proc
	}
	if name == WorkerProcess {
		return (*Process).WorkerProcessCycle
	}
	return nil
}

// birth is the birth certificate of a process: what a forked child would have
// found in its memory. It comes as JSON in a memory file whose descriptor
// birthEnv names. Descriptors in it are the child's numbers; -1 is none.
type birth struct {
	Proc       string // what the child does
	Data       int
	Name       string // before the colon in ps
	Slot       int
	Parent     int // the master's process id
	Daemonized bool
	Conf       []byte

	Listening []birthListening // those that are open
	Zone      int
	LockFile  int
	Logs      []birthLog // the error log, and those chained to it
	Channel   int

	LastProcess int
	Processes   []birthProcess // the others
}

// birthListening is an open listening socket.
type birthListening struct {
	Index  int // in Cycle.Listening
	Worker int // whose it is, of a reuseport socket's clones
	Fd     int
}

type birthLog struct {
	Name  string
	Level uint
	Fd    int
}

type birthProcess struct {
	Slot    int
	Pid     int
	Channel int // the master's end
}

const birthEnv = "NGINXREF_BIRTH"

// born is the descriptor of this process's birth certificate, or -1 if it is
// nobody's child.
var (
	born        = birthFd()
	bornSignals *notified // collected since the start of a child
)

func birthFd() int {
	fd, err := strconv.Atoi(os.Getenv(birthEnv))
	if err != nil {
		return -1
	}
	os.Unsetenv(birthEnv) // a program that the child starts is not meant
	return fd
}

// A child's loop runs on the main thread, which only init can reserve. Signals
// are collected before anything else: the child is born with them blocked (see
// MasterProcessCycle), and one that comes before that waits.
//
// DIVERGES: a forked child has its parent's handlers. When Go's runtime starts
// it unblocks HUP, INT, QUIT, TERM and CHLD in every thread, and before they are
// collected the first four end the process, in its first millisecond. The
// master replaces it, as it replaces a worker that anybody else has ended.
func init() {
	if born != -1 {
		runtime.LockOSThread()
		blockSignals()
		bornSignals = notifySignals()
	}
}

// reexec starts this program again, to be the process called name.
//
// DIVERGES: nginx forks. /proc/self/exe is the program that runs even when its
// file has been replaced, as it is before an upgrade: the old master's new
// workers must not be the new binary's.
func (p *Process) reexec(cycle *event.Cycle, data any, name string) (int, error) {
	b := &birth{
		Proc:       name,
		Data:       data.(int),
		Name:       p.Name,
		Slot:       p.Slot,
		Parent:     p.Pid,
		Daemonized: p.Daemonized,
		Conf:       p.Conf,
	}
	files := p.bequeath(b, cycle)

	cert, err := json.Marshal(b)
	if err != nil {
		return InvalidPid, err
	}
	fd, err := memfile("birth certificate", cert)
	if err != nil {
		return InvalidPid, err
	}
	defer unix.Close(fd)
	certFd := files.add(fd)

	return syscall.ForkExec("/proc/self/exe", []string{p.Name + ": " + name}, &syscall.ProcAttr{
		Env:   childEnv(certFd),
		Files: files,
		Sys:   sysProcAttr(p.Pdeathsig),
	})
}

// fileTable is the descriptors of a child, by its own numbers.
type fileTable []uintptr

// add gives the child the descriptor fd and returns the child's number of it.
func (files *fileTable) add(fd int) int {
	if fd == -1 {
		return -1
	}
	*files = append(*files, uintptr(fd))
	return len(*files) - 1
}

// bequeath enters the descriptors that a forked child would have into b and
// into the table of its files.
func (p *Process) bequeath(b *birth, cycle *event.Cycle) fileTable {
	files := fileTable{0, 1, 2}

	for i, ls := range cycle.Listening {
		if ls.Fd != -1 {
			b.Listening = append(b.Listening, birthListening{i, ls.Worker, files.add(ls.Fd)})
		}
	}

	b.Zone, b.LockFile = -1, -1
	if cycle.Shm != nil {
		b.Zone = files.add(cycle.Shm.Fd)
	}
	if cycle.LockFile != nil {
		b.LockFile = files.add(cycle.LockFile.Fd)
	}

	for log := cycle.Log; log != nil; log = log.Next {
		fd := 2
		if f, ok := log.File.W.(*os.File); ok {
			fd = files.add(int(f.Fd()))
		}
		b.Logs = append(b.Logs, birthLog{log.File.Name, log.Level, fd})
	}

	b.Channel = files.add(p.Channel)

	b.LastProcess = p.LastProcess
	for i := range p.LastProcess {
		e := &p.Processes[i]
		if i != p.Slot && e.Pid != -1 && e.Channel[0] != -1 {
			b.Processes = append(b.Processes, birthProcess{i, e.Pid, files.add(e.Channel[0])})
		}
	}
	return files
}

// childEnv returns the environment of a child. Preemption by signal would
// blur what the loop counts. Two processors are enough for the loop and the
// thread that reads signals. A panic must look like the crash it is: Go's exit
// code for it is 2, nginx's for a failed start that is not to be repeated;
// with "crash" it ends by SIGABRT.
func childEnv(certFd int) []string {
	env := os.Environ()

	godebug := "asyncpreemptoff=1"
	if old := os.Getenv("GODEBUG"); old != "" {
		godebug = old + "," + godebug
	}
	env = setenv(env, "GODEBUG", godebug)
	env = setenv(env, "GOMAXPROCS", "2")
	env = setenv(env, "GOTRACEBACK", "crash")
	return setenv(env, birthEnv, strconv.Itoa(certFd))
}

// setenv returns env with name set to value. Of two settings Go's runtime
// takes the first.
func setenv(env []string, name, value string) []string {
	env = slices.DeleteFunc(env, func(s string) bool { return strings.HasPrefix(s, name+"=") })
	return append(env, name+"="+value)
}

// Main must be called at the start of main, before flags are looked at. In a
// process that this package has started it does what the process is for and
// does not return; otherwise it does nothing.
func Main(app App) {
	if born == -1 {
		return
	}

	b, err := readBirth(born)
	if err != nil {
		fmt.Fprintf(os.Stderr, "birth certificate: %v\n", err)
		os.Exit(2)
	}
	setComm(b.Name)

	cycle, err := b.newCycle()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}

	p := New(app, cycle, b.Conf)
	if err := p.grow(b); err != nil {
		cycle.Log.Error(core.LogEmerg, core.ErrnoOf(err), "%s: %s", b.Proc, err.Error())
		os.Exit(2)
	}
	app.proc(b.Proc)(p, cycle, b.Data)
	os.Exit(0)
}

// readBirth reads the certificate and makes every inherited descriptor
// close-on-exec: the certificate's is the last.
func readBirth(fd int) (*birth, error) {
	f := os.NewFile(uintptr(fd), "birth certificate")
	defer f.Close()

	for i := 3; i < fd; i++ {
		unix.CloseOnExec(i)
	}

	b := &birth{}
	if err := json.NewDecoder(f).Decode(b); err != nil {
		return nil, err
	}
	return b, nil
}

// newCycle returns a cycle that logs where the master does.
func (b *birth) newCycle() (*event.Cycle, error) {
	kernel, err := sys.New()
	if err != nil {
		return nil, err
	}
	times := core.NewTimes(kernel)

	var log *core.Log
	for _, l := range slices.Backward(b.Logs) {
		file := core.NewOpenFile(l.Name, os.NewFile(uintptr(l.Fd), l.Name), times, kernel.Getpid())
		log = &core.Log{Level: l.Level, File: file, Next: log}
	}
	return event.NewCycle(kernel, log, times), nil
}

// grow configures the cycle and gives it what was inherited.
func (p *Process) grow(b *birth) error {
	cycle := p.Cycle

	if p.App.proc(b.Proc) == nil {
		return fmt.Errorf("this program has no such process")
	}
	if err := p.App.Configure(cycle, b.Conf); err != nil {
		return err
	}
	for _, l := range b.Listening {
		if l.Index >= len(cycle.Listening) || cycle.Listening[l.Index].Worker != l.Worker {
			return fmt.Errorf("listening socket %d is configured otherwise than in the master", l.Index)
		}
		cycle.Listening[l.Index].Fd = l.Fd
	}
	if b.Zone != -1 && cycle.AttachZone(b.Zone, b.LockFile, b.Slot) != core.OK {
		return fmt.Errorf("the shared zone cannot be attached")
	}

	p.Name = b.Name
	p.Daemonized = b.Daemonized
	p.signals = bornSignals
	p.Slot = b.Slot
	p.Channel = b.Channel
	p.LastProcess = b.LastProcess
	for _, o := range b.Processes {
		p.Processes[o.Slot] = Entry{Pid: o.Pid, Channel: [2]int{o.Channel, -1}}
	}
	cycle.Parent = b.Parent
	return nil
}
