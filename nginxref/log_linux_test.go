package main

import (
	"bufio"
	"fmt"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"herd/nginxref/core"
)

// A chain of logs goes from the most to the least verbose, wherever a log is
// put in, and its first one stays at its address.
func TestLogsAreChainedByLevel(t *testing.T) {
	head := &core.Log{Level: core.LogErr, Action: "first"}
	for _, l := range []core.Log{
		{Level: core.LogCrit, Action: "less"},
		{Level: core.LogInfo, Action: "more"},
		{Level: core.LogErr, Action: "equal"},
		{Level: core.LogDebugAll, Action: "most"},
		{Level: core.LogEmerg, Action: "least"},
	} {
		logInsert(head, &l)
	}

	var got []string
	for l := head; l != nil; l = l.Next {
		got = append(got, l.Action)
	}
	if d := cmp.Diff([]string{"most", "more", "first", "equal", "less", "least"}, got); d != "" {
		t.Errorf("chain (-want +got):\n%s", d)
	}
}

// Each file gets the messages up to its level, from workers too.
func TestErrorLogsGetTheirLevels(t *testing.T) {
	s := start(t, nginxref, strings.Replace(twoWorkers, "error_log error.log info;",
		"error_log error.log debug_event;\nerror_log notice.log notice;\nerror_log crit.log crit;", 1))
	conn := s.connect("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	readAnswer(t, bufio.NewReader(conn))
	conn.Close()
	s.waitForLog("closed keepalive connection", 1) // of level info
	s.quit(s.pid)

	level := regexp.MustCompile(`^[0-9/]+ [0-9:]+ \[([a-z]+)\] [0-9]+#[0-9]+: `)
	levels := func(name string) string {
		seen := map[string]bool{}
		for line := range strings.Lines(s.read(name)) {
			m := level.FindStringSubmatch(line)
			if m == nil {
				t.Fatalf("%s: not a line of nginx's form: %q", name, line)
			}
			seen[m[1]] = true
		}
		return fmt.Sprint(seen)
	}
	for name, want := range map[string]string{
		"error.log":  "map[debug:true info:true notice:true]",
		"notice.log": "map[notice:true]",
		"crit.log":   "map[]",
	} {
		if got := levels(name); got != want {
			t.Errorf("%s has levels %s, want %s", name, got, want)
		}
	}
	if text := s.read("error.log"); !strings.Contains(text, "epoll timer: ") || strings.Contains(text, "http process request line") {
		t.Error("debug_event has other messages in the log than those of the event core")
	}
}

// The terminal gets what is wrong at the start, but nothing later.
func TestTerminalIsToldAtTheStartOnly(t *testing.T) {
	s := start(t, nginxref, twoWorkers) // fails if the start prints anything to a closed pipe
	s.configure("nothing;\n")
	s.signal(s.pid, syscall.SIGHUP)
	s.waitForLog(`[emerg] `+fmt.Sprintf("%d#%[1]d", s.pid)+`: unknown directive "nothing"`, 1)

	// Its standard error is the error log by now.
	name, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/2", s.pid))
	if err != nil || name != s.dir+"/error.log" {
		t.Errorf("standard error is %s, error %v", name, err)
	}
	if n := s.logged("nginxref: [emerg]"); n != 0 {
		t.Error("the message is repeated in the form for a terminal")
	}
}

// One process can do without a master, and timers can have a resolution.
func TestSingleProcess(t *testing.T) {
	s := &server{t: t, dir: shortDir(t)}
	s.addr = "unix:" + s.dir + "/s"
	s.configure("master_process off;\ntimer_resolution 10ms;\npid nginx.pid;\nerror_log error.log info;\n" +
		"events {}\nhttp { access_log off; server { listen " + s.addr + "; return 200 \"one\\n\"; } }\n")
	if r := run(t, nginxref, "-p", s.dir); r.Code != 0 {
		t.Fatalf("exit code %d: %s", r.Code, r.Stderr)
	}
	t.Cleanup(s.kill)
	s.pid = s.pidfile("nginx.pid")
	s.wait("loop", func() bool { return hasOpen(s.pid, "anon_inode:[eventpoll]") })

	if answer := s.get("/"); !strings.HasSuffix(answer, "one\n") {
		t.Errorf("answer %q", answer)
	}
	if n := len(children(s.pid)); n != 0 {
		t.Errorf("%d workers", n)
	}
	s.quit(s.pid)
	if pid := s.pidfile("nginx.pid"); pid != 0 {
		t.Errorf("the pid file is left behind with %d", pid)
	}
}

// A new binary gets of the environment what env directives name, and the
// sockets.
func TestEnvironmentOfANewBinary(t *testing.T) {
	t.Setenv("KEPT", "kept")
	t.Setenv("LOST", "lost")
	t.Setenv("TZ", "UTC")
	s := start(t, nginxref, "env KEPT;\nenv SET=set;\nenv NONE;\n"+strings.Replace(twoWorkers, "info", "debug_core", 1))
	newPid := s.upgrade(s.pid, 2)

	var env []string
	for _, m := range regexp.MustCompile(`#[0-9]+: env: (.*)`).FindAllStringSubmatch(s.read("error.log"), -1) {
		env = append(env, m[1])
	}
	if d := cmp.Diff([]string{"KEPT=kept", "SET=set", "TZ=UTC", "NGINX=3;"}, env); d != "" {
		t.Errorf("environment (-want +got):\n%s", d)
	}
	s.quit(s.pid)
	s.quit(newPid)
}
