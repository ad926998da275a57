// Package lab10 holds the checks and the measurement of lab 10, reload and
// upgrade.
package lab10

import (
	"fmt"
	"slices"
	"strings"

	"herd/tools/lab"
)

// Functions are what the student writes.
type Functions struct {
	Reload         func(m *Master)
	ChangeBinary   func(m *Master) bool
	Winch          func(m *Master)
	NewBinaryEnded func(m *Master)

	// Part B.
	ReloadWhenReady func(m *Master) bool
}

const (
	readReload  = "src/os/unix/ngx_process_cycle.c 211-252 (ngx_master_process_cycle), nginxref/process/ngx_process_cycle.go MasterProcessCycle"
	readUpgrade = "src/core/nginx.c 649-746 (ngx_exec_new_binary), src/os/unix/ngx_process.c 374-391, src/os/unix/ngx_process_cycle.c 617-637; chapters/12-reload-upgrade.md"
	readReady   = "chapters/12-reload-upgrade.md, what 100 ms are for"
)

// Lab returns lab 10 for the given functions.
func Lab(f Functions) *lab.Lab {
	c := checks{f}
	return &lab.Lab{
		Number: 10,
		Name:   "lab10-reload",
		Title:  "Reload and upgrade",
		Files:  []string{"reload.go", "upgrade.go", "ready.go"},
		Checks: []lab.Check{
			{Part: "A", Name: "new-before-old", Points: 20, Read: readReload, Run: c.newBeforeOld,
				Sentence: "HUP starts the new workers, gives them 100 ms, and only then tells the old ones to leave."},
			{Part: "A", Name: "a-bad-configuration-changes-nothing", Points: 15, Read: readReload, Run: c.badConf,
				Sentence: "A bad configuration starts nobody and sends nobody away."},
			{Part: "A", Name: "hup-after-winch-brings-the-workers-back", Points: 15, Read: readReload, Run: c.hupAfterWinch,
				Sentence: "While a new binary runs, HUP reads no configuration: it starts this master's workers again."},
			{Part: "A", Name: "the-pid-files-are-right", Points: 15, Read: readUpgrade, Run: c.pidFiles,
				Sentence: "USR2 renames the pid file to .oldbin before the new binary starts; when the new binary ends, or could not start, the name is given back."},
			{Part: "A", Name: "never-three-masters", Points: 10, Read: readUpgrade, Run: c.neverThree,
				Sentence: "USR2 is refused while the new binary runs, and in the new binary while the old one lives."},
			{Part: "A", Name: "the-old-one-returns-by-itself", Points: 5, Read: readUpgrade, Run: c.returns,
				Sentence: "If the workers were sent away (WINCH) and the new binary ends, the workers are started again."},
			{Part: "B", Name: "nobody-leaves-before-somebody-is-ready", Points: 10, Read: readReady, Run: c.readyFirst,
				Sentence: "The old workers are told to leave when every new one is ready, however long that takes."},
			{Part: "B", Name: "failed-workers-keep-the-old-ones", Points: 10, Read: readReady, Run: c.keepOld,
				Sentence: "If a new worker ends before it is ready, the new ones are sent away and the old ones stay."},
		},
	}
}

type checks struct{ f Functions }

// host plays the system and keeps what was asked of it.
type host struct {
	t       *lab.T
	next    int
	asked   []string
	badConf bool
	noExec  bool
	parent  bool
	now     int         // ms
	born    map[int]int // process id -> ms when it was started
	ended   map[int]bool
	slow    int // ms until a new worker is ready
	dies    int // the worker that ends instead, counted from 1; 0: none
	files   []string
}

func newMaster(t *lab.T) (*Master, *host) {
	h := &host{t: t, next: 200, slow: 30, born: map[int]int{}, ended: map[int]bool{}, files: []string{Pidfile}}
	return &Master{Host: h, Workers: []int{101, 102}, N: 2}, h
}

func (h *host) ask(format string, args ...any) {
	h.asked = append(h.asked, fmt.Sprintf(format, args...))
	h.t.Step(format, args...)
}

func (h *host) Configure() bool {
	h.ask("configure")
	return !h.badConf
}

func (h *host) Spawn() int {
	h.next++
	h.born[h.next] = h.now
	if h.next-200 == h.dies {
		h.ended[h.next] = true
	}
	h.ask("spawn %d", h.next)
	return h.next
}

func (h *host) Quit(pid int) { h.ask("quit %d", pid) }

func (h *host) Sleep(msec int) {
	h.now += msec
	h.ask("sleep %d", msec)
	h.t.Expect(h.now < 60_000, "a minute has passed, and it is still waited")
}

func (h *host) Ready(pid int) (ready, ended bool) {
	return !h.ended[pid] && h.now-h.born[pid] >= h.slow, h.ended[pid]
}

func (h *host) Exec() int {
	h.ask("exec, with the pid file at %s", strings.Join(h.files, " and "))
	if h.noExec {
		return 0
	}
	h.files = append(h.files, Pidfile) // the new program writes its own
	return 300
}

func (h *host) Rename(from, to string) {
	h.ask("rename %s %s", from, to)
	i := slices.Index(h.files, from)
	h.t.Expect(i != -1, "there is no file %s to rename; there is %q", from, h.files)
	h.files[i] = to
}

func (h *host) ParentIsMaster() bool { return h.parent }

func (h *host) take() []string {
	asked := h.asked
	h.asked = nil
	return asked
}

// expect holds what was asked to want, in order.
func (h *host) expect(rule string, want ...string) {
	if got := h.take(); !slices.Equal(got, want) {
		h.t.Wrong("%s: asked for %q, want %q", rule, got, want)
	}
}

func (c *checks) newBeforeOld(t *lab.T) {
	m, h := newMaster(t)
	t.Step("HUP")
	c.f.Reload(m)
	h.expect("new workers, a pause, and the old ones leave",
		"configure", "spawn 201", "spawn 202", "sleep 100", "quit 101", "quit 102")
	t.Expect(slices.Equal(m.Workers, []int{201, 202}), "the workers meant to serve are %v, want the new ones", m.Workers)
	t.Step("HUP again")
	m.N = 1
	c.f.Reload(m)
	h.expect("one worker now", "configure", "spawn 203", "sleep 100", "quit 201", "quit 202")
}

func (c *checks) badConf(t *lab.T) {
	m, h := newMaster(t)
	h.badConf = true
	t.Step("HUP, with a bad configuration")
	c.f.Reload(m)
	h.expect("a bad configuration", "configure")
	t.Expect(slices.Equal(m.Workers, []int{101, 102}), "the workers changed to %v", m.Workers)
}

// hupAfterWinch holds CASES D11.
func (c *checks) hupAfterWinch(t *lab.T) {
	m, h := newMaster(t)
	t.Step("USR2")
	t.Expect(c.f.ChangeBinary(m), "USR2 was refused")
	t.Step("WINCH")
	h.take()
	c.f.Winch(m)
	h.expect("the workers leave and the master stays", "quit 101", "quit 102")
	t.Expect(len(m.Workers) == 0 && m.Noaccepting, "after WINCH there are workers %v; Noaccepting is %v", m.Workers, m.Noaccepting)
	t.Step("HUP to the old master")
	c.f.Reload(m)
	h.expect("its workers return", "spawn 201", "spawn 202")
	t.Expect(!m.Noaccepting && slices.Equal(m.Workers, []int{201, 202}), "workers %v, Noaccepting %v", m.Workers, m.Noaccepting)
}

// pidFiles holds CASES D30.
func (c *checks) pidFiles(t *lab.T) {
	m, h := newMaster(t)
	t.Step("USR2")
	t.Expect(c.f.ChangeBinary(m), "USR2 was refused")
	h.expect("rename, then start", "rename nginx.pid nginx.pid.oldbin", "exec, with the pid file at nginx.pid.oldbin")
	t.Expect(m.NewBinary == 300, "NewBinary is %d, want 300", m.NewBinary)
	t.Step("the new binary ends, and has removed its pid file")
	h.files = []string{Oldbin}
	c.f.NewBinaryEnded(m)
	h.expect("the name is given back", "rename nginx.pid.oldbin nginx.pid")
	t.Expect(m.NewBinary == 0, "NewBinary is still %d", m.NewBinary)

	h.noExec = true
	t.Step("USR2, and the file cannot be executed")
	c.f.ChangeBinary(m)
	h.expect("the name is given back at once", "rename nginx.pid nginx.pid.oldbin",
		"exec, with the pid file at nginx.pid.oldbin", "rename nginx.pid.oldbin nginx.pid")
	t.Expect(m.NewBinary == 0, "a binary that did not start counts as %d", m.NewBinary)
}

// neverThree holds CASES D10.
func (c *checks) neverThree(t *lab.T) {
	m, h := newMaster(t)
	t.Step("USR2")
	c.f.ChangeBinary(m)
	h.take()
	t.Step("USR2 again")
	t.Expect(!c.f.ChangeBinary(m), "a second USR2 was not refused")
	h.expect("a second USR2")
	m, h = newMaster(t)
	h.parent = true
	t.Step("USR2 to the new binary, whose parent lives")
	t.Expect(!c.f.ChangeBinary(m), "USR2 to the new binary was not refused")
	h.expect("USR2 to the new binary")
}

func (c *checks) returns(t *lab.T) {
	m, h := newMaster(t)
	c.f.ChangeBinary(m)
	t.Step("WINCH")
	c.f.Winch(m)
	h.take()
	h.files = []string{Oldbin}
	t.Step("the new binary ends")
	c.f.NewBinaryEnded(m)
	h.expect("the old master serves again", "rename nginx.pid.oldbin nginx.pid", "spawn 201", "spawn 202")
	t.Expect(!m.Noaccepting && slices.Equal(m.Workers, []int{201, 202}), "workers %v, Noaccepting %v", m.Workers, m.Noaccepting)
}

// readyFirst holds CASES D05 and C07.
func (c *checks) readyFirst(t *lab.T) {
	for _, slow := range []int{0, 30, 3000} {
		m, h := newMaster(t)
		h.slow = slow
		t.Step("HUP; the new workers need %d ms", slow)
		t.Expect(c.f.ReloadWhenReady(m), "the reload was given up")
		quit := slices.Index(h.asked, "quit 101")
		t.Expect(quit != -1 && slices.Contains(h.asked, "quit 102"), "the old workers were not told to leave")
		slept := 0
		for _, asked := range h.asked[:quit] {
			var msec int
			fmt.Sscanf(asked, "sleep %d", &msec)
			slept += msec
		}
		t.Expect(slept >= slow, "the old workers were told to leave after %d ms, the new ones need %d", slept, slow)
		t.Expect(slept <= slow+50, "%d ms were waited for workers that need %d", slept, slow)
		t.Expect(slices.Equal(m.Workers, []int{201, 202}), "the workers meant to serve are %v", m.Workers)
	}
}

func (c *checks) keepOld(t *lab.T) {
	m, h := newMaster(t)
	h.dies = 2
	t.Step("HUP; the second new worker ends at once")
	t.Expect(!c.f.ReloadWhenReady(m), "a reload that failed is said to have worked")
	t.Expect(!slices.Contains(h.asked, "quit 101") && !slices.Contains(h.asked, "quit 102"), "old workers were told to leave")
	t.Expect(slices.Contains(h.asked, "quit 201"), "the new worker that lives was not sent away")
	t.Expect(slices.Equal(m.Workers, []int{101, 102}), "the workers meant to serve are %v, want the old ones", m.Workers)
	h.take()
	h.dies, h.badConf = 0, true
	t.Expect(!c.f.ReloadWhenReady(m), "a bad configuration is said to have worked")
	h.expect("a bad configuration", "configure")
}
