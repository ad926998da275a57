package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// files is a file system for a check.
func files(contents map[string]string) readFile {
	return func(path string) ([]byte, error) {
		if text, ok := contents[path]; ok {
			return []byte(text), nil
		}
		return nil, os.ErrNotExist
	}
}

func TestDoctorFitsOnAScreenAndExitsWithZero(t *testing.T) {
	cmd, stdout, stderr := tool("doctor")
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s%s", err, stdout, stderr)
	}
	out := stdout.String()
	if n := strings.Count(out, "\n"); n > 24 {
		t.Errorf("%d lines do not fit on a screen", n)
	}
	for _, what := range []string{"kernel", "CPUs", "CPU limit", "load", "container", "open files", "ports", "tracepoints", "privileges", "nginx", "measurement"} {
		if !strings.Contains(out, " "+what+" ") {
			t.Errorf("nothing is said of %s:\n%s", what, out)
		}
	}
	nothingLeft(t)
}

// With too few descriptors not even two workers start: then, and only then,
// the exit code is 3.
func TestDoctorTellsWhenNothingCanBeMeasured(t *testing.T) {
	cmd, stdout, stderr := tool("doctor")
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Path, cmd.Args = "/bin/sh", []string{"sh", "-c", `ulimit -n 40; exec "$0" doctor`, exe}
	cmd.Run()
	if code := cmd.ProcessState.ExitCode(); code != exitCannotShow {
		t.Errorf("exit code %d, want %d\n%s", code, exitCannotShow, stderr)
	}
	for _, want := range []string{"cannot   open files", "mend: ulimit -n 1024", "cannot   measurement"} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, stdout)
		}
	}
}

// Without privileges it says which, and what to do; the rest is measured.
func TestDoctorWithoutPrivileges(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to be somebody else")
	}
	setpriv, err := exec.LookPath("setpriv")
	if err != nil {
		t.Skip(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	copied := t.TempDir() + "/herd" // where everybody can read it
	if out, err := exec.Command("sh", "-c", `cp "$1" "$2" && chmod 755 "$2" "$(dirname "$2")" "$(dirname "$(dirname "$2")")"`, "sh", exe, copied).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	cmd, stdout, stderr := tool()
	cmd.Path, cmd.Args = setpriv, []string{"setpriv", "--reuid", "65534", "--clear-groups", copied, "doctor"}
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s%s", err, stdout, stderr)
	}
	for _, want := range []string{"cannot   tracepoints", "mend: sudo", "CAP_PERFMON no", "ok       measurement"} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, stdout)
		}
	}
}

func TestKernelIsOldEnoughToMatter(t *testing.T) {
	for release, want := range map[string]string{
		"6.18.44-fc": "", "4.18.0": "", "4.17.0": "", "4.4.0": "no EPOLLEXCLUSIVE", "3.10.0-1160": "no EPOLLEXCLUSIVE", "4.9.1": "cannot tell sleep",
	} {
		c := checkKernel(release)
		if c.ok != (want == "") || !strings.Contains(c.says, want) {
			t.Errorf("%s: %+v, want %q", release, c, want)
		}
	}
}

func TestCPULimitIsFound(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		ok    bool
		says  string
	}{
		"none": {nil, true, "none"},
		"version 2, unlimited": {map[string]string{
			"/proc/self/cgroup": "0::/a/b\n", "/sys/fs/cgroup/a/b/cpu.max": "max 100000\n"}, true, "none"},
		"version 2, of a parent": {map[string]string{
			"/proc/self/cgroup": "0::/a/b\n", "/sys/fs/cgroup/a/b/cpu.max": "max 100000\n", "/sys/fs/cgroup/a/cpu.max": "50000 100000\n"}, false, "0.5 of a CPU"},
		"version 2, the root": {map[string]string{
			"/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/cpu.max": "150000 100000\n"}, true, "1.5 CPUs"},
		"version 1": {map[string]string{
			"/proc/self/cgroup":                      "9:memory:/x\n4:cpu,cpuacct:/x\n0::/\n",
			"/sys/fs/cgroup/cpu/x/cpu.cfs_quota_us":  "25000\n",
			"/sys/fs/cgroup/cpu/x/cpu.cfs_period_us": "100000\n"}, false, "0.25 of a CPU"},
		"version 1, unlimited": {map[string]string{
			"/proc/self/cgroup":                    "4:cpu:/\n",
			"/sys/fs/cgroup/cpu/cpu.cfs_quota_us":  "-1\n",
			"/sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n"}, true, "none"},
	} {
		got := checkQuota(files(c.files))
		if got.ok != c.ok || !strings.HasPrefix(got.says, c.says) || !got.ok && got.mend == "" {
			t.Errorf("%s: %+v, want %v, %q", name, got, c.ok, c.says)
		}
	}
}

func TestSurroundingsAreSeen(t *testing.T) {
	for want, f := range map[string]map[string]string{
		"none seen":        {"/proc/self/uid_map": "         0          0 4294967295\n"},
		"Docker":           {"/.dockerenv": "", "/proc/self/uid_map": "         0          0 4294967295\n"},
		"a user namespace": {"/proc/self/uid_map": "0 1000 1\n"},
		"gVisor":           {"/proc/version": "Linux version 4.4.0 gVisor"},
	} {
		if got := checkSandbox(files(f)); !strings.HasPrefix(got.says, want) || got.ok != (want != "gVisor") {
			t.Errorf("%s: %+v", want, got)
		}
	}
	for text, ok := range map[string]bool{"32768\t60999\n": true, "60000 60100\n": false, "": false} {
		if got := checkPorts(files(map[string]string{"/proc/sys/net/ipv4/ip_local_port_range": text})); got.ok != ok {
			t.Errorf("ports %q: %+v", text, got)
		}
	}
	for caps, ok := range map[string]bool{"0000000000000000": false, "0000004000000000": true, "0000000000200000": true, "0000000000000001": false} {
		got := checkPrivileges(1000, files(map[string]string{"/proc/self/status": "Name:\tx\nCapEff:\t" + caps + "\n", "/proc/sys/kernel/perf_event_paranoid": "3\n"}))
		if got.ok != ok || !strings.Contains(got.says, "perf_event_paranoid 3") {
			t.Errorf("CapEff %s: %+v", caps, got)
		}
	}
	for text, ok := range map[string]bool{"2.00 1.0 0.5 1/90 7\n": true, "2.01 1.0 0.5 1/90 7\n": false, "": false} {
		if got := checkLoad(2, files(map[string]string{"/proc/loadavg": text})); got.ok != ok {
			t.Errorf("load %q: %+v", text, got)
		}
	}
	if one, two := checkCPUs(1), checkCPUs(2); one.ok || one.mend == "" || !two.ok {
		t.Errorf("CPUs: %+v, %+v", one, two)
	}
}
