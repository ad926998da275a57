package process

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestWorkersStartAndAnswer(t *testing.T) {
	s := start(t, conf{Workers: 4})
	pids := s.pids(0, 3)

	for range 20 {
		c := s.greeted()
		if slot := slices.Index(pids, c.pid); slot != c.worker {
			t.Errorf("worker %d in slot %d greeted", c.worker, slot)
		}
		s.bye(c)
	}
	s.quiet()
}

func TestStopSignalsLeaveNoProcess(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGQUIT} {
		t.Run(sig.String(), func(t *testing.T) {
			s := start(t, conf{Workers: 4})
			s.pids(0, 3)
			s.signal(sig)
			s.gone()
			s.logged(4, `worker process \d+ exited with code 0`)
			s.quiet()
			if _, err := os.Stat(s.conf.Pid); !os.IsNotExist(err) {
				t.Errorf("the pid file is left behind: %v", err)
			}
		})
	}
}

func TestPsShowsTitles(t *testing.T) {
	s := start(t, conf{Workers: 1})
	pid := s.pids(0, 0)[0]

	want := "nginxref: master process " + s.cmd.Path + " one two"
	if got := titleOf(t, s.pid()); got != want {
		t.Errorf("master: %q, want %q", got, want)
	}
	if got := titleOf(t, pid); got != "nginxref: worker process" {
		t.Errorf("worker: %q", got)
	}
	comm, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/comm")
	if got := strings.TrimSpace(string(comm)); got != "nginxref" {
		t.Errorf("worker's short name: %q, %v", got, err)
	}

	c := s.greeted()
	s.signal(syscall.SIGQUIT)
	s.logged(1, "gracefully shutting down")
	s.until("the worker says that it is shutting down", func() bool {
		return titleOf(t, pid) == "nginxref: worker process is shutting down"
	})
	s.bye(c)
	s.gone()
}

func TestSixtyFourWorkersStart(t *testing.T) {
	began := time.Now()
	s := start(t, conf{Workers: 64})
	s.pids(0, 63)
	t.Logf("64 workers ready after %v", time.Since(began).Round(time.Millisecond))
	s.signal(syscall.SIGTERM)
	s.gone()
}

// Before an upgrade the program's file is replaced: the old master's new
// workers must still be of the old program.
func TestWorkersStartWhenTheProgramFileIsGone(t *testing.T) {
	program := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(program, must(os.ReadFile(must(os.Executable()))), 0o755); err != nil {
		t.Fatal(err)
	}
	s := start(t, conf{Workers: 1, program: program})
	old := s.pids(0, 0)
	os.Remove(program)

	syscall.Kill(old[0], syscall.SIGKILL)
	s.pids(0, 0, old...)
	s.bye(s.greeted())
}

// A worker that understands its certificate otherwise than its master meant
// must not start, and says why.
func TestCertificateThatDoesNotFit(t *testing.T) {
	text := []byte(`{"Workers": 1}`)
	for _, test := range []struct {
		name string
		b    birth
		want string
	}{
		{"unknown process", birth{Proc: "sorcerer"}, "no such process"},
		{"bad configuration", birth{Proc: WorkerProcess, Conf: []byte("{")}, "unexpected end of JSON input"},
		{"one listener too many", birth{Proc: WorkerProcess, Conf: text,
			Listening: []birthListening{{Index: 1}}}, "configured otherwise"},
		{"another worker's listener", birth{Proc: WorkerProcess, Conf: text,
			Listening: []birthListening{{Index: 0, Worker: 1}}}, "configured otherwise"},
	} {
		p, _ := newProcess(clock{})
		p.App = testApp
		test.b.Zone = -1
		if err := p.grow(&test.b); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want an error with %q", test.name, err, test.want)
		}
	}
}
