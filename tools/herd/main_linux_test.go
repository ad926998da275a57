package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"herd/tools/measure"
)

// toolEnv makes the test binary the tool.
const toolEnv = "HERD_TEST_TOOL"

func TestMain(m *testing.M) {
	measure.Main()
	if os.Getenv(toolEnv) != "" {
		main()
		return
	}
	// What a killed tool leaves becomes this process's child.
	unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	os.Exit(m.Run())
}

// tool returns the command herd with args. Its standard output and error are
// collected.
func tool(args ...string) (cmd *exec.Cmd, stdout, stderr *bytes.Buffer) {
	cmd = exec.Command("/proc/self/exe", args...)
	cmd.Env = append(os.Environ(), toolEnv+"=1")
	stdout, stderr = &bytes.Buffer{}, &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	cmd.Dir = os.TempDir() // where a report would be written
	return cmd, stdout, stderr
}

// nothingLeft fails the test if a process that the tool started still runs. A
// killed one takes a moment to end.
func nothingLeft(t *testing.T) {
	t.Helper()
	for range 1000 {
		pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil)
		if errors.Is(err, unix.ECHILD) {
			return
		}
		if pid == 0 {
			time.Sleep(10 * time.Millisecond)
		}
	}
	t.Fatal("the tool left a process that does not end")
}

func TestJSONIsOneObject(t *testing.T) {
	cmd, stdout, stderr := tool("-fix", "none,accept-mutex", "-workers", "2", "-rate", "100", "-conns", "20", "-json")
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, stderr)
	}
	var got struct {
		Runs       []map[string]any
		Machine    map[string]any
		DelayMs    int       `json:"accept_mutex_delay_ms"`
		MeasuredAt time.Time `json:"measured_at"`
	}
	dec := json.NewDecoder(stdout)
	dec.DisallowUnknownFields()
	if err := dec.Decode(&got); err != nil {
		t.Fatal(err)
	}
	if dec.More() {
		t.Error("there is more on standard output than the object")
	}
	want := []string{"accepted", "conns", "cpu_us_per_conn", "eagain_per_conn", "fix", "jain", "latency_cdf", "latency_us",
		"load", "polling_wakeups_per_s", "predicted_wakeups_per_conn", "predicted_wakeups_per_s", "rate", "returns_per_conn", "shares",
		"subject", "wakeups_per_conn", "wakeups_per_s", "workers"}
	for _, run := range got.Runs {
		var keys []string
		for key := range run {
			if key != "witness" && key != "disagreements" { // not without tracepoints
				keys = append(keys, key)
			}
		}
		slices.Sort(keys)
		if diff := cmp.Diff(want, keys); diff != "" {
			t.Errorf("keys of a run (-want +got):\n%s", diff)
		}
		if run["accepted"] != 20.0 || len(run["shares"].([]any)) != 2 {
			t.Errorf("accepted %v, shares %v; want 20 by 2 workers", run["accepted"], run["shares"])
		}
	}
	if len(got.Runs) != 2 || got.Machine["kernel"] == "" {
		t.Errorf("%d runs on kernel %q", len(got.Runs), got.Machine["kernel"])
	}
	nothingLeft(t)
}

// A complaint is one line that says what to do, and the exit code tells a
// wrong command line from a failed measurement.
func TestComplaints(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()

	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"-fix nonesuch", exitUsage, `no fix is called "nonesuch"`},
		{"-workers 0", exitUsage, "-workers 0: give 1 to 512"},
		{"-workers 1000", exitUsage, "-workers 1000: give 1 to 512"},
		{"-rate -1", exitUsage, "-rate -1: give 0 (burst) to 100000"},
		{"-rate NaN", exitUsage, "-rate NaN: give 0 (burst) to 100000"},
		{"-conns 0", exitUsage, "-conns 0: give at least 1"},
		{"-delay 10us", exitUsage, "-delay 10µs: give whole milliseconds"},
		{"-subject apache", exitUsage, "-subject apache: give nginxref, nginx, nginx=PATH, or a lab's directory"},
		{"-compare", exitUsage, "-compare needs -subject nginx"},
		{"-subject nginx=/nonesuch", exitFailed, "no such file or directory (install nginx"},
		{"-subject nginx -fix none", exitUsage, "-fix none: the subject has no such fix; it has accept-mutex, exclusive-reorder, reuseport"},
		{"-subject labs/lab03-acceptmutex", exitUsage, "there is no such directory; run this from the one that has go.mod in it"},
		{"more", exitUsage, `unexpected argument "more"`},
		{"-rate 1 -listen " + taken.Addr().String(), exitFailed, "address already in use"},
		{"-rate 1 -listen 192.0.2.1:80", exitFailed, "give a loopback address"},
	} {
		cmd, stdout, stderr := tool(strings.Fields(c.args)...)
		cmd.Run()
		if code := cmd.ProcessState.ExitCode(); code != c.code {
			t.Errorf("%s: exit code %d, want %d", c.args, code, c.code)
		}
		if !strings.Contains(stderr.String(), c.want) || stdout.Len() > 0 {
			t.Errorf("%s: it says\n%s%s\nwant %s", c.args, stdout, stderr, c.want)
		}
		complaints := 0
		for line := range strings.Lines(stderr.String()) {
			if strings.HasPrefix(line, "herd: ") {
				complaints++
			}
		}
		if complaints != 1 {
			t.Errorf("%s: %d complaints, want one:\n%s", c.args, complaints, stderr)
		}
	}
	nothingLeft(t)
}

// Too few descriptors for the workers asked for is said beforehand.
func TestTooFewDescriptors(t *testing.T) {
	cmd, _, stderr := tool("-workers", "200", "-rate", "1")
	cmd.Path, cmd.Args = "/bin/sh", append([]string{"sh", "-c", `ulimit -n 256; exec "$0" "$@"`, cmd.Path}, cmd.Args[1:]...)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Args[3] = exe
	cmd.Run()
	const want = "herd: none: 200 workers need 664 open files and the limit is 256: raise it with ulimit -n 664\n"
	if code := cmd.ProcessState.ExitCode(); code != exitFailed || stderr.String() != want {
		t.Errorf("exit code %d, want %d; it says\n%swant\n%s", code, exitFailed, stderr, want)
	}
}

// However the tool ends, its processes end with it.
func TestNothingOutlivesTheTool(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL} {
		for _, fix := range []string{"none", "blocking", "lock-only", "file-lock"} {
			for range 3 {
				after := time.Duration(rand.IntN(400)) * time.Millisecond
				t.Run(fmt.Sprintf("%v/%s", sig, fix), func(t *testing.T) {
					cmd, _, stderr := tool("-fix", fix, "-rate", "50", "-conns", "1000")
					if err := cmd.Start(); err != nil {
						t.Fatal(err)
					}
					time.Sleep(50*time.Millisecond + after)
					cmd.Process.Signal(sig)
					cmd.Wait()
					// On a busy machine the signal may come before the tool listens.
					early := stderr.Len() == 0 && cmd.ProcessState.Sys().(syscall.WaitStatus).Signaled()
					if code := cmd.ProcessState.ExitCode(); sig != syscall.SIGKILL && !early && code != exitInterrupted {
						t.Errorf("exit code %d, want %d\n%s", code, exitInterrupted, stderr)
					}
					nothingLeft(t)
				})
			}
		}
	}
}

func TestHelp(t *testing.T) {
	cmd, stdout, _ := tool("-h")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	for _, fix := range measure.Fixes {
		if !strings.Contains(stdout.String(), fix.Name+" ") {
			t.Errorf("-h does not explain %s", fix.Name)
		}
	}
}
