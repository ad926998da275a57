package fake_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"herd/nginxref/sys"
)

// childEnv makes the test binary the process that is stopped: it watches the
// listener on descriptor 3 and prints how its epoll_wait ends.
const childEnv = "FAKE_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) == "" {
		os.Exit(m.Run())
	}
	k, err := sys.New()
	if err != nil {
		panic(err)
	}
	ep, _ := k.EpollCreate()
	k.EpollCtl(ep, sys.EPOLL_CTL_ADD, 3, sys.MakeEpollEvent(in|excl, 0))
	fmt.Println("ready")
	_, errno := k.EpollWait(ep, make([]sys.EpollEvent, 1), -1)
	fmt.Println(name(errno))
}

func TestStoppedProcessIsInNoQueueOfLinux(t *testing.T) {
	m := &linux{t: t}
	defer m.close()
	s0 := m.listen(511)

	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childEnv+"=1", "GODEBUG=asyncpreemptoff=1")
	child.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: unix.SIGKILL}
	dup, err := unix.Dup(s0.(int))
	m.must(err)
	inherited := os.NewFile(uintptr(dup), "listener")
	defer inherited.Close()
	child.ExtraFiles = []*os.File{inherited}
	out, err := child.StdoutPipe()
	m.must(err)
	m.must(child.Start())
	defer child.Wait()
	defer child.Process.Kill()
	lines := bufio.NewScanner(out)
	lines.Scan()

	proc := fmt.Sprintf("/proc/%d/", child.Process.Pid)
	m.until("the child sleeps in epoll_wait", func() bool {
		call, _ := os.ReadFile(proc + "syscall")
		return strings.HasPrefix(string(call), fmt.Sprint(unix.SYS_EPOLL_PWAIT, " "))
	})
	p := sleepers(&bench{machine: m}, s0, in|excl)[0]
	p.wait(&bench{machine: m})
	m.must(child.Process.Signal(unix.SIGSTOP))
	m.until("the child is stopped", func() bool {
		stat, _ := os.ReadFile(proc + "stat")
		return strings.Contains(string(stat), ") T ")
	})
	m.connect(s0)
	m.settle()
	other, _ := p.result()
	got := []string{"the other is woken: " + other}
	m.must(child.Process.Signal(unix.SIGCONT))
	lines.Scan()
	got = append(got, "the one that is continued: "+lines.Text())
	if diff := cmp.Diff(stopped, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	m.ring(p.bell)
	m.settle()
}
