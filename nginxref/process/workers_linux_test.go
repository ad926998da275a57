package process

import (
	"os"
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
