package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"herd/tools/measure"
)

// examine looks at all that a measurement needs. The error says why nothing
// can be measured.
func examine(ctx context.Context) ([]check, error) {
	herd, err := checkHerd(ctx)
	checks := []check{
		checkKernel(measure.ThisMachine().Kernel),
		checkCPUs(runtime.NumCPU()),
		checkQuota(os.ReadFile),
		checkLoad(runtime.NumCPU(), os.ReadFile),
		checkSandbox(os.ReadFile),
		checkFiles(),
		checkPorts(os.ReadFile),
		checkTracepoints(),
		checkPrivileges(os.Geteuid(), os.ReadFile),
		checkNginx(),
		herd,
	}
	return checks, err
}

// checkHerd measures a small herd: what nothing else can tell.
func checkHerd(ctx context.Context) (check, error) {
	const workers, conns = 2, 20
	c := check{what: "measurement"}
	run, err := func() (measure.Run, error) {
		s, err := measure.Start(ctx, measure.Conf{Fix: "none", Workers: workers, DelayMsec: 500}, "127.0.0.1:0")
		if err != nil {
			return measure.Run{}, err
		}
		defer s.Stop()
		return s.Measure(ctx, measure.Load{Conns: conns}, func(int) {})
	}()
	if err == nil && run.WakeupsPerConn == 0 {
		err = errors.New("the kernel does not count voluntary context switches (a sandbox such as gVisor?)")
	}
	if err != nil {
		c.says = err.Error()
		return c, err
	}
	c.says = fmt.Sprintf("a connection to %d workers wakes %.2f of them", workers, run.WakeupsPerConn)
	c.ok = math.Abs(run.WakeupsPerConn-workers) < 0.1*workers
	if !c.ok {
		c.says += fmt.Sprintf(", but should wake %d: distrust the figures", workers)
	}
	return c, nil
}

// checkKernel compares the release with what is used of it.
func checkKernel(release string) check {
	c := check{what: "kernel", says: "Linux " + release}
	var major, minor int
	fmt.Sscanf(release, "%d.%d", &major, &minor)
	switch version := major*1000 + minor; {
	case version < 4005:
		c.says += ": before 4.5 there is no EPOLLEXCLUSIVE"
	case version < 4017:
		c.says += ": before 4.17 the timeline cannot tell sleep from preemption"
	default:
		c.ok = true
	}
	return c
}

// checkCPUs: one CPU runs one worker after the other, and the first accepts
// before the second looks.
func checkCPUs(n int) check {
	c := check{what: "CPUs", ok: n > 1, says: fmt.Sprintf("%d usable", n)}
	if !c.ok {
		c.says += ": workers run one after the other, so EAGAIN stays 0; wakeups are right"
		c.mend = "taskset -cp 0-1 $$, or give the virtual machine or container a second CPU"
	}
	return c
}

// checkLoad: workers that must wait for a CPU are awake when the next
// connection comes, and so are not woken.
func checkLoad(cpus int, read readFile) check {
	c := check{what: "load", mend: "top, and stop what it shows"}
	var load float64
	text, err := read("/proc/loadavg")
	if err == nil {
		_, err = fmt.Sscan(string(text), &load)
	}
	if err != nil {
		c.says = err.Error()
		return c
	}
	c.says = fmt.Sprintf("%.1f of %d CPUs busy in the last minute", load, cpus)
	if c.ok = load <= float64(cpus); !c.ok {
		c.says += ": paced wakeups and latencies come out wrong"
	}
	return c
}

// readFile is os.ReadFile, or a test's.
type readFile func(path string) ([]byte, error)

// number reads a file that holds one.
func (read readFile) number(path string) (int, error) {
	text, err := read(path)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(text)))
}

// checkQuota looks for a limit of CPU time on the process's control group and
// those above it.
func checkQuota(read readFile) check {
	limit := math.Inf(1)
	text, _ := read("/proc/self/cgroup")
	for line := range strings.Lines(string(text)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) < 3 {
			continue
		}
		for path := fields[2]; ; path = path[:strings.LastIndexByte(path, '/')] {
			path = strings.TrimRight(path, "/")
			limit = min(limit, quotaOf(read, fields[1], path))
			if path == "" {
				break
			}
		}
	}
	switch {
	case math.IsInf(limit, 1):
		return check{what: "CPU limit", ok: true, says: "none"}
	case limit >= 1:
		return check{what: "CPU limit", ok: true, says: fmt.Sprintf("%.2g CPUs", limit)}
	}
	return check{
		what: "CPU limit",
		says: fmt.Sprintf("%.2g of a CPU: latencies and bursts show the limit, not the fix; counts are right", limit),
		mend: "docker update --cpus 2 CONTAINER, or systemctl set-property UNIT CPUQuota=200%",
	}
}

// quotaOf returns how many CPUs a control group may use.
func quotaOf(read readFile, controllers, path string) float64 {
	if controllers == "" { // version 2
		var quota, period float64
		text, _ := read("/sys/fs/cgroup" + path + "/cpu.max")
		if n, _ := fmt.Sscan(string(text), &quota, &period); n == 2 {
			return quota / period
		}
		return math.Inf(1)
	}
	dir := "/sys/fs/cgroup/cpu" + path
	quota, err := read.number(dir + "/cpu.cfs_quota_us")
	period, err2 := read.number(dir + "/cpu.cfs_period_us")
	if !strings.Contains(","+controllers+",", ",cpu,") || err != nil || err2 != nil || quota <= 0 {
		return math.Inf(1)
	}
	return float64(quota) / float64(period)
}

// checkSandbox says what stands between this process and the machine.
func checkSandbox(read readFile) check {
	c := check{what: "container", ok: true, says: "none seen"}
	if version, _ := read("/proc/version"); strings.Contains(strings.ToLower(string(version)), "gvisor") {
		return check{what: "sandbox", says: "gVisor: its kernel is not Linux and wakes as it likes", mend: "docker run --runtime=runc"}
	}
	for path, kind := range map[string]string{"/.dockerenv": "Docker", "/run/.containerenv": "Podman"} {
		if _, err := read(path); err == nil {
			c.says = kind + ": the kernel is the host's"
		}
	}
	if maps, _ := read("/proc/self/uid_map"); len(maps) > 0 && strings.Fields(string(maps))[1] != "0" {
		c.says = "a user namespace: its root is no root outside"
	}
	return c
}

// checkFiles says how many workers the limit of open files lets start.
func checkFiles() check {
	c := check{what: "open files"}
	var lim unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &lim); err != nil {
		c.says = err.Error()
		return c
	}
	c.says = fmt.Sprintf("%d", lim.Cur)
	if err := measure.CheckNofile(64); err != nil {
		c.says, c.mend = err.Error(), "ulimit -n 1024"
		return c
	}
	c.ok = true
	return c
}

// checkPorts: each connection has a port of its own, and keeps it for a
// minute when it is closed.
func checkPorts(read readFile) check {
	const enough = 5000
	c := check{what: "ports"}
	var first, last int
	text, err := read("/proc/sys/net/ipv4/ip_local_port_range")
	if err == nil {
		_, err = fmt.Sscan(string(text), &first, &last)
	}
	if err != nil {
		c.says = err.Error()
		return c
	}
	c.says = fmt.Sprintf("%d for outgoing connections", last-first+1)
	if c.ok = last-first+1 >= enough; !c.ok {
		c.says += ": too few for bursts"
		c.mend = `sysctl -w net.ipv4.ip_local_port_range="10000 65000"`
	}
	return c
}

// sudoHerd runs the tool as root, who may not have Go in the PATH.
const sudoHerd = "sudo $(which go) run ./tools/herd"

// checkTracepoints: they are the second witness, the only one for the real
// nginx, and the timeline.
func checkTracepoints() check {
	c := check{what: "tracepoints", ok: true, says: "counted by perf_event_open"}
	err := measure.WitnessMissing()
	if err == nil {
		return c
	}
	c.ok = false
	c.says = fmt.Sprintf("no second witness, no real nginx, no timeline: %v", err)
	c.mend = sudoHerd
	if os.Geteuid() == 0 && errors.Is(err, os.ErrPermission) {
		c.mend = "docker run --cap-add PERFMON --cap-add SYS_ADMIN --security-opt seccomp=unconfined"
	} else if os.Geteuid() == 0 {
		c.mend = "mount -t tracefs tracefs " + measure.Tracefs
	}
	return c
}

// Capabilities that tracepoints need one of (linux/capability.h).
const (
	capSysAdmin = 21
	capPerfmon  = 38
)

// checkPrivileges says who may trace.
func checkPrivileges(euid int, read readFile) check {
	var caps uint64
	status, _ := read("/proc/self/status")
	for line := range strings.Lines(string(status)) {
		fmt.Sscanf(line, "CapEff: %x", &caps)
	}
	paranoid, _ := readFile(read).number("/proc/sys/kernel/perf_event_paranoid")
	has := func(bit int) string {
		if caps>>bit&1 == 1 {
			return "yes"
		}
		return "no"
	}
	c := check{
		what: "privileges",
		ok:   caps>>capPerfmon&1 == 1 || caps>>capSysAdmin&1 == 1,
		says: fmt.Sprintf("user %d; CAP_PERFMON %s, CAP_SYS_ADMIN %s; perf_event_paranoid %d", euid, has(capPerfmon), has(capSysAdmin), paranoid),
	}
	if !c.ok {
		c.mend = sudoHerd
	}
	return c
}

// checkNginx looks for the real nginx and its stream module.
func checkNginx() check {
	c := check{what: "nginx", mend: "apt-get install nginx libnginx-mod-stream"}
	path, err := exec.LookPath("nginx")
	if err == nil {
		_, err = measure.StreamModule(path)
	}
	if err != nil {
		c.says = fmt.Sprintf("no comparison with the real one: %v", err)
		return c
	}
	version, _ := exec.Command(path, "-v").CombinedOutput()
	c.ok = true
	c.says = fmt.Sprintf("%s, %s, with its stream module", path, strings.TrimPrefix(strings.TrimSpace(string(version)), "nginx version: "))
	return c
}
