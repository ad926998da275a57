package jail

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// confine limits this process, which is about to become p.
func (p *Program) confine() error {
	uid := os.Getuid()
	if p.User != nil {
		uid = p.User.UID
	}
	limits := map[int]uint64{unix.RLIMIT_CORE: 0}
	if p.Limits.File > 0 {
		limits[unix.RLIMIT_FSIZE] = uint64(p.Limits.File)
	}
	if p.Limits.Memory > 0 {
		limits[unix.RLIMIT_DATA] = uint64(p.Limits.Memory)
	}
	if p.Limits.Processes > 0 && uid != 0 {
		limits[unix.RLIMIT_NPROC] = uint64(tasksOf(uid) + crowd)
	}
	for resource, n := range limits {
		if err := unix.Setrlimit(resource, &unix.Rlimit{Cur: n, Max: n}); err != nil {
			return fmt.Errorf("setrlimit %d: %w", resource, err)
		}
	}
	// However many it starts, this process's parent has its turn.
	if err := unix.Setpriority(unix.PRIO_PROCESS, 0, 10); err != nil {
		return fmt.Errorf("setpriority: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no_new_privs: %w", err)
	}
	if err := fence(p.Dir); err != nil {
		return err
	}
	return p.User.become()
}

// become gives up this process's user for u, if there is one.
func (u *User) become() error {
	if u == nil {
		return nil
	}
	if err := syscall.Setgroups(nil); err != nil {
		return fmt.Errorf("setgroups: %w", err)
	}
	if err := syscall.Setgid(u.GID); err != nil {
		return fmt.Errorf("setgid %d: %w", u.GID, err)
	}
	if err := syscall.Setuid(u.UID); err != nil {
		return fmt.Errorf("setuid %d: %w", u.UID, err)
	}
	return nil
}

// tasksOf counts the processes and threads of a user.
func tasksOf(uid int) (n int) {
	list, _ := filepath.Glob("/proc/[0-9]*/task/[0-9]*")
	for _, task := range list {
		var st unix.Stat_t
		if unix.Stat(task, &st) == nil && int(st.Uid) == uid {
			n++
		}
	}
	return n
}

// quit has a Go program print where it is, and end. It prints the stack of the
// thread that gets the signal and of those that wait, so the signal is for the
// one that runs, or the busiest of them.
func quit(pid int) {
	busiest := &process{pid: pid}
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	for _, thread := range threads {
		stat, _ := os.ReadFile(thread + "/stat")
		if p := parseStat(stat); p.busier(busiest) {
			busiest = p
		}
	}
	unix.Tgkill(pid, busiest.pid, unix.SIGQUIT)
}

// busier reports whether p rather than q is what keeps a processor busy.
func (p *process) busier(q *process) bool {
	if p.running != q.running {
		return p.running
	}
	return p.ticks > q.ticks
}

// tasks counts the processes and threads of the machine.
func tasks() int {
	var info unix.Sysinfo_t
	unix.Sysinfo(&info)
	return int(info.Procs)
}

// adoptOrphans makes this process the parent of its descendants whose parents
// die, so that none is lost.
func adoptOrphans() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become a subreaper: %w", err)
	}
	return nil
}

// process is one that descends from this one.
type process struct {
	pid, parent int
	name        string
	resident    int64 // bytes
	ticks       int64 // of processor time in user mode
	running     bool
	dead        bool // and not waited for yet
}

// end kills the process. One that was adopted and is dead is waited for.
func (p *process) end() {
	if p.dead && p.parent == os.Getpid() {
		unix.Wait4(p.pid, nil, unix.WNOHANG, nil)
	} else {
		unix.Kill(p.pid, unix.SIGKILL)
	}
}

// descendants returns the processes that descend from this one. The caller
// starts nothing else while a program runs.
func descendants() (all []*process) {
	children := map[int][]*process{}
	for _, name := range procNames() {
		if stat, err := os.ReadFile("/proc/" + name + "/stat"); err == nil {
			p := parseStat(stat)
			children[p.parent] = append(children[p.parent], p)
		}
	}
	for todo := children[os.Getpid()]; len(todo) > 0; {
		p := todo[0]
		todo = append(todo[1:], children[p.pid]...)
		all = append(all, p)
	}
	return all
}

// procNames returns the names in /proc. The number is bounded: while processes
// start faster than their names are read, there is no end to them.
func procNames() []string {
	proc, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer proc.Close()
	names, _ := proc.Readdirnames(8 * crowd)
	return names
}

// parseStat reads /proc/PID/stat, proc_pid_stat(5).
func parseStat(stat []byte) *process {
	p := &process{}
	open, end := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
	if open < 0 || end < open {
		return p
	}
	f := bytes.Fields(stat[end+1:]) // from field 3, the state
	if len(f) < 22 {
		return p
	}
	p.name = string(stat[open+1 : end])
	p.pid, _ = strconv.Atoi(string(bytes.TrimSpace(stat[:open])))
	p.running = f[0][0] == 'R'
	p.dead = f[0][0] == 'Z' || f[0][0] == 'X'
	p.parent, _ = strconv.Atoi(string(f[1]))
	p.ticks, _ = strconv.ParseInt(string(f[11]), 10, 64)
	pages, _ := strconv.ParseInt(string(f[21]), 10, 64)
	p.resident = pages * int64(os.Getpagesize())
	return p
}
