package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var (
	nginxName = regexp.MustCompile(`(?m)^nginx: `)
	timeOfLog = regexp.MustCompile(`(?m)^[0-9/]+ [0-9:]+ (\[[a-z]+\]) [0-9#]+: `)
)

// masked returns what a program printed, with our program's name in it
// and without the time and process of a line for the log.
func masked(r result) result {
	r.Stderr = nginxName.ReplaceAllString(r.Stderr, programName+": ")
	r.Stderr = timeOfLog.ReplaceAllString(r.Stderr, "$1 ")
	return r
}

// compare runs both programs with the same arguments.
func compare(t *testing.T, args ...string) result {
	t.Helper()
	want := masked(run(t, nginxBinary, args...))
	got := masked(run(t, nginxref, args...))
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%q (-nginx +nginxref):\n%s", args, d)
	}
	return got
}

// TestConfigTestSaysWhatNginxSays holds every message and exit code of -t
// against the real nginx 1.22.1's, for the files of testdata/conf.
func TestConfigTestSaysWhatNginxSays(t *testing.T) {
	needNginx(t)
	dir := shortDir(t)
	if err := os.CopyFS(dir, os.DirFS("testdata/conf")); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.conf"))
	if err != nil || len(files) < 40 {
		t.Fatalf("%d files to compare, error %v", len(files), err)
	}

	for _, file := range files {
		name := filepath.Base(file)
		t.Run(name, func(t *testing.T) {
			args := []string{"-p", dir, "-e", "error.log", "-c", name}
			r := compare(t, append(args, "-t")...)

			if good := strings.HasPrefix(name, "good-"); good != (r.Code == 0) {
				t.Errorf("exit code %d", r.Code)
			}
			compare(t, append(args, "-tq")...)
			if r.Code == 0 {
				compare(t, append(args, "-T")...)
			}
		})
	}
}

func TestOptionsAsNginx(t *testing.T) {
	needNginx(t)
	dir := shortDir(t)
	conf := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(conf, []byte("pid nginx.pid;\nevents {}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	good := []string{"-p", dir, "-e", "error.log", "-c", "nginx.conf"}

	for _, args := range [][]string{
		{"-x"},
		{"-\xff"},
		{"x"},
		{"-tx"},
		{"-p"},
		{"-c"},
		{"-e"},
		{"-g"},
		{"-s"},
		{"-s", "start"},
		{"-sstart"},
		append(good, "-t", "-g", "worker_processes 2;"),
		append(good, "-tgworker_processes 2;"),
		append(good, "-t", "-g", "worker_processes 2"),
		append(good, "-t", "-g", "nothing;"),
		append(good, "-t", "-g", "events {}"),
		append(good, "-t", "-g", "daemon x;"),
		append(good, "-t", "-g", "pid a;"),
		{"-tp" + dir, "-eerror.log", "-cnginx.conf"},            // joined
		{"-p", dir + "/", "-e", "error.log", "-c", conf, "-tq"}, // full name
		{"-p", dir, "-e", "none/error.log", "-c", "nginx.conf", "-t"},
		{"-p", dir, "-e", "error.log", "-c", "none.conf", "-t"},
		append(good, "-s", "stop"), // there is an empty pid file by now
	} {
		compare(t, args...)
	}
}

// What is no pid file is as bad to both. The numbers are of no process.
func TestBadPidFilesAsNginx(t *testing.T) {
	needNginx(t)
	dir := shortDir(t)
	for name, text := range map[string]string{
		"nginx.conf": "pid nginx.pid;\nevents {}\n",
		"dir.conf":   "pid .;\nevents {}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{"-p", dir, "-e", "error.log", "-s", "reopen", "-c"}

	for _, text := range []string{
		"", "\n", "x\n", "99999999", "99999999\r\n", "99999999 \n", " 99999999\n", "99999999\nx", "-99999999\n",
		"99999999" + strings.Repeat("\n", 14) + "x", "9223372036854775808\n", strings.Repeat("0", 20) + "99999999\n", strings.Repeat("x", 1000),
	} {
		if err := os.WriteFile(filepath.Join(dir, "nginx.pid"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if r := compare(t, append(args, "nginx.conf")...); r.Code != 1 {
			t.Errorf("pid file %q: exit code %d", text, r.Code)
		}
	}
	compare(t, append(args, "dir.conf")...)
}

func TestHelpNamesEveryOption(t *testing.T) {
	for _, args := range [][]string{{"-h"}, {"-?"}, {"-vh"}} {
		r := run(t, nginxref, args...)
		if r.Code != 0 || r.Stdout != "" {
			t.Errorf("%q: exit code %d, output %q", args, r.Code, r.Stdout)
		}
		for _, option := range strings.Split("?hvVtTqspceg", "") {
			if !strings.Contains(r.Stderr, "\n  -"+option) && !strings.Contains(r.Stderr, ", -"+option) {
				t.Errorf("%q does not explain -%s", args, option)
			}
		}
	}
	if r := run(t, nginxref, "-v"); r != (result{Stderr: "nginxref version: nginxref/1.22.1\n"}) {
		t.Errorf("-v: %+v", r)
	}
	if r := run(t, nginxref, "-V"); r.Code != 0 || !strings.Contains(r.Stderr, "\nbuilt by go") {
		t.Errorf("-V: %+v", r)
	}
}

// Relative names of files are below the prefix, but those of include next to
// nginx.conf.
func TestNamesAreRelativeToThePrefix(t *testing.T) {
	needNginx(t)
	dir := shortDir(t)
	os.Mkdir(filepath.Join(dir, "etc"), 0o777)
	for name, text := range map[string]string{
		"etc/nginx.conf": "include inner.conf;\nevents {}\n",
		"etc/inner.conf": "pid nginx.pid;\nerror_log error2.log;\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	compare(t, "-p", dir, "-e", "error.log", "-c", "etc/nginx.conf", "-T")

	for _, name := range []string{"nginx.pid", "error2.log", "error.log"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
}

// TestOwnDirectives covers the two that nginx does not have.
func TestOwnDirectives(t *testing.T) {
	dir := shortDir(t)
	for _, test := range []struct{ text, want string }{
		{"accept_exclusive off; accept_mutex_lock file;", ""},
		{"accept_exclusive on; accept_mutex_lock atomic;", ""},
		{"accept_exclusive no;", `invalid value "no" in "accept_exclusive" directive, it must be "on" or "off" in DIR/nginx.conf:1`},
		{"accept_mutex_lock flock;", `invalid value "flock" in DIR/nginx.conf:1`},
		{"accept_mutex_lock file; accept_mutex_lock file;", `"accept_mutex_lock" directive is duplicate in DIR/nginx.conf:1`},
	} {
		text := "events { " + test.text + " }\n"
		if err := os.WriteFile(filepath.Join(dir, "nginx.conf"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		want, code := "", 0
		if test.want != "" {
			want, code = "nginxref: [emerg] "+strings.ReplaceAll(test.want, "DIR", dir)+"\n"+
				"nginxref: configuration file "+dir+"/nginx.conf test failed\n", 1
		}
		if got := run(t, nginxref, "-p", dir, "-tq"); got.Stderr != want || got.Code != code {
			t.Errorf("%s: exit code %d, %q, want %q", test.text, got.Code, got.Stderr, want)
		}
	}
}

// Sizes and times, at their edges, as nginx takes them.
func TestSizesAndTimesAsNginx(t *testing.T) {
	needNginx(t)
	dir := shortDir(t)
	compareAll := func(format string, values ...string) {
		t.Helper()
		for _, value := range values {
			text := "pid nginx.pid;\nevents {}\n" + strings.ReplaceAll(format, "VALUE", value)
			if err := os.WriteFile(filepath.Join(dir, "nginx.conf"), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			compare(t, "-p", dir, "-e", "error.log", "-c", "nginx.conf", "-t")
		}
	}
	times := []string{
		"0", "1", "1s", "1m", "1h", "1d", "1w", "1M", "1y", "1ms", "1 ", `"1 "`, `"1m 2"`, `"1m  2s"`, `"1 1s"`, `""`, `" "`,
		"s", "ms", "1h1m1s1ms", "1ms1s", "1s1s", "1S", "-1", "1.5s", "007",
		"9223372036854775807", "9223372036854775808", "9223372036854775", "9223372036854776", "15250284452471w", "15250284452472w",
	}
	compareAll("timer_resolution VALUE;\n", times...)
	compareAll("http { access_log off; keepalive_timeout 1 VALUE; }\n", times...)
	compareAll("http { access_log off; server { listen 127.0.0.1:18079 rcvbuf=VALUE; } }\n",
		"0", "1", "1k", "1K", "1m", "1M", "1g", "k", "", "1kk", "-1", "0x10", "1.5k",
		"9223372036854775807", "9223372036854775808", "9007199254740991k", "9007199254740992k", "8796093022207m", "8796093022208m")
	compareAll("worker_rlimit_nofile VALUE;\n", "0", "1", "007", "-1", "+1", "1k", `""`, "9223372036854775807", "9223372036854775808")
	compareAll("worker_priority VALUE;\n", "0", "-5", "+5", "5", "--5", "-", `""`, "5x")
}
