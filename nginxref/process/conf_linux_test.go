package process

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"herd/nginxref/event"
)

// procStatus returns a field of /proc/PID/status.
func procStatus(pid int, field string) string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	m := regexp.MustCompile(`(?m)^` + field + `:\s+(.*?)\s*$`).FindSubmatch(text)
	if m == nil {
		return ""
	}
	return string(m[1])
}

// What the kernel says of a worker whose every limit is configured.
func TestWorkerTakesItsLimits(t *testing.T) {
	cpu := event.CPUSet{}
	cpu.Set(0)
	dir := t.TempDir()
	c := conf{Workers: 1, Core: event.CoreConf{
		Priority:         5,
		RlimitNofile:     123,
		RlimitCore:       4096,
		CPUAffinity:      []event.CPUSet{cpu},
		WorkingDirectory: dir,
	}}
	s := start(t, c)
	pid := s.pids(0, 0)[0]

	limits := must(os.ReadFile(fmt.Sprintf("/proc/%d/limits", pid)))
	for _, want := range []string{`Max open files\s+123\s+123\s`, `Max core file size\s+4096\s+4096\s`} {
		if !regexp.MustCompile(want).Match(limits) {
			t.Errorf("no limit %q in\n%s", want, limits)
		}
	}
	if got := procStatus(pid, "Cpus_allowed_list"); got != "0" {
		t.Errorf("runs on processors %s, want 0", got)
	}
	stat := must(os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)))
	behind := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if got := behind[16]; got != "5" { // field 19
		t.Errorf("nice value %s, want 5", got)
	}
	if got, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid)); got != dir {
		t.Errorf("works in %s, %v; want %s", got, err, dir)
	}
	s.quiet()
}

func TestWorkerOfRootChangesItsUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	s := start(t, conf{Workers: 1, Core: event.CoreConf{Username: "nobody", User: 65534, Group: 65534}})
	pid := s.pids(0, 0)[0]

	tasks, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	for _, task := range tasks {
		var tid int
		fmt.Sscan(task.Name(), &tid)
		for field, want := range map[string]string{
			"Uid": "65534\t65534\t65534\t65534", "Gid": "65534\t65534\t65534\t65534", "Groups": "65534",
		} {
			if got := procStatus(tid, field); got != want {
				t.Errorf("thread %d has %s %q, want %q", tid, field, got, want)
			}
		}
	}
	s.bye(s.greeted())
	s.quiet()
}

func TestWorkerThatCannotChangeDirectoryIsNotRespawned(t *testing.T) {
	s := start(t, conf{Workers: 1, Core: event.CoreConf{WorkingDirectory: "/nowhere"}})
	s.logged(1, `\[alert\] .*chdir\("/nowhere"\) failed \(2: No such file or directory\)`)
	s.logged(1, `exited with fatal code 2 and cannot be respawned`)
	s.signal(syscall.SIGTERM)
	s.gone()
	s.logged(1, `start worker process \d`)
}

// The expectations are ngx_get_cpu_affinity's.
func TestWhichProcessorsAWorkerGets(t *testing.T) {
	set := func(cpus ...int) (s event.CPUSet) {
		for _, cpu := range cpus {
			s.Set(cpu)
		}
		return s
	}
	for _, test := range []struct {
		name   string
		sets   []event.CPUSet
		auto   bool
		worker int
		want   []int
	}{
		{"none configured", nil, false, 0, nil},
		{"one each", []event.CPUSet{set(0), set(1, 3)}, false, 1, []int{1, 3}},
		{"the last serves the rest", []event.CPUSet{set(0), set(2)}, false, 5, []int{2}},
		{"auto", []event.CPUSet{set(1, 3, 1023)}, true, 1, []int{3}},
		{"auto, round again", []event.CPUSet{set(1, 3, 1023)}, true, 3, []int{1}},
		{"auto, an empty mask", []event.CPUSet{set()}, true, 0, nil},
		{"auto, an empty mask, not the first worker", []event.CPUSet{set()}, true, 2, nil},
	} {
		p, _ := newProcess(clock{})
		p.Cycle.Conf.CPUAffinity = test.sets
		p.Cycle.Conf.CPUAffinityAuto = test.auto

		var got []int
		if s := getCPUAffinity(p.Cycle, test.worker); s != nil {
			for cpu := range 1024 {
				if s.IsSet(cpu) {
					got = append(got, cpu)
				}
			}
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: worker %d gets %v, want %v", test.name, test.worker, got, test.want)
		}
	}
}

// Of two settings of a variable Go takes the first; a child must see ours, and
// keep what else GODEBUG says.
func TestChildEnvironment(t *testing.T) {
	t.Setenv("GODEBUG", "gctrace=0")
	t.Setenv("GOMAXPROCS", "7")
	t.Setenv("GOTRACEBACK", "none")
	t.Setenv("HERD_OTHER", "kept")
	env := childEnv(9)
	for _, want := range []string{
		"GODEBUG=gctrace=0,asyncpreemptoff=1", "GOMAXPROCS=2", "GOTRACEBACK=crash", birthEnv + "=9", "HERD_OTHER=kept",
	} {
		name, _, _ := strings.Cut(want, "=")
		var got []string
		for _, setting := range env {
			if strings.HasPrefix(setting, name+"=") {
				got = append(got, setting)
			}
		}
		if len(got) != 1 || got[0] != want {
			t.Errorf("%v, want %s", got, want)
		}
	}
}
