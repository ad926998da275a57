package measure

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// nginx is the real nginx as a subject: the binary, and a configuration that
// does what a fix does here. Its workers say nothing of themselves, so the
// kernel's tracepoints are the witness.
type nginx struct {
	path    string
	dir     string // configuration and logs
	workers []int
	trace   *Tracepoints
}

// nginxConf serves the same protocol as greet: the server speaks and closes.
const nginxConf = `%s
daemon off;
worker_processes %d;
pid %s/nginx.pid;
lock_file %s/accept.lock;
error_log stderr warn;
events {
    worker_connections %d;
    accept_mutex %s;
    accept_mutex_delay %dms;
}
stream {
    server {
        listen %s%s;
        return "hello\n";
    }
}
`

// nginxFixes are the fixes that stock nginx can be configured to.
var nginxFixes = map[string]struct{ acceptMutex, listen string }{
	"accept-mutex":      {"on", ""},
	"exclusive-reorder": {"off", ""},
	"reuseport":         {"off", " reuseport"},
}

// newNginx prepares a run of the binary at path.
func newNginx(path string, conf Conf) (*nginx, error) {
	fix, ok := nginxFixes[conf.Fix]
	if !ok {
		return nil, fmt.Errorf("stock nginx cannot be configured to %q; it can do accept-mutex, exclusive-reorder and reuseport", conf.Fix)
	}
	path, err := exec.LookPath(path)
	if err != nil {
		return nil, fmt.Errorf("%w (install nginx and its stream module, or name the binary: -subject nginx=PATH)", err)
	}
	module, err := StreamModule(path)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "herd-nginx-")
	if err != nil {
		return nil, err
	}
	text := fmt.Sprintf(nginxConf, module, conf.Workers, dir, dir, connectionsPerWorker,
		fix.acceptMutex, conf.DelayMsec, conf.Addr, fix.listen)
	n := &nginx{path: path, dir: dir}
	if err := os.WriteFile(n.conf(), []byte(text), 0o644); err != nil {
		n.close()
		return nil, err
	}
	return n, nil
}

func (n *nginx) conf() string { return filepath.Join(n.dir, "nginx.conf") }

// argv is the command line.
func (n *nginx) argv() []string {
	return []string{"nginx", "-e", "stderr", "-p", n.dir, "-c", n.conf()}
}

// env passes the listening sockets the way an old binary does.
func (n *nginx) env(sockets int) string {
	list := "NGINX="
	for i := range sockets {
		list += fmt.Sprintf("%d;", masterListenFd+i)
	}
	return list
}

// StreamModule returns the directive that loads the stream module, or nothing
// if it is built in.
func StreamModule(path string) (string, error) {
	out, err := exec.Command(path, "-V").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s -V: %w", path, err)
	}
	options := strings.Fields(string(out))
	modules := ""
	dynamic := false
	for _, option := range options {
		if option == "--with-stream" {
			return "", nil
		}
		dynamic = dynamic || option == "--with-stream=dynamic"
		if dir, ok := strings.CutPrefix(option, "--modules-path="); ok {
			modules = dir
		}
	}
	file := filepath.Join(modules, "ngx_stream_module.so")
	if _, err := os.Stat(file); !dynamic || err != nil {
		return "", fmt.Errorf("%s has no stream module (on Debian: apt-get install libnginx-mod-stream)", path)
	}
	return "load_module " + file + ";", nil
}

// ready reports whether all workers sleep in their first wait, and begins to
// count.
func (n *nginx) ready(master, workers int) (bool, error) {
	pids := childrenOf(master, "nginx: worker process")
	if len(pids) < workers {
		return false, nil
	}
	for _, pid := range pids {
		if t := loopThread(pid); !t.asleep {
			return false, nil
		}
	}
	trace, err := OpenTracepoints(pids)
	if err != nil {
		return false, errors.Join(ErrCannotShow, err)
	}
	n.workers, n.trace = pids, trace
	return true, nil
}

func (n *nginx) pids() []int { return n.workers }

func (n *nginx) asleep() bool {
	for _, pid := range n.workers {
		if t := loopThread(pid); !t.asleep {
			return false
		}
	}
	return true
}

// samples returns what the kernel counted, and the CPU time.
func (n *nginx) samples() ([]Sample, error) {
	samples, err := n.trace.Samples()
	if err != nil {
		return nil, err
	}
	for i, pid := range n.workers {
		if samples[i].CPUNsec, err = cpuNsec(pid); err != nil {
			return nil, err
		}
	}
	return samples, nil
}

// contextSwitches returns the workers' wakeups as /proc counts them.
func (n *nginx) contextSwitches() ([]Sample, error) {
	samples := make([]Sample, len(n.workers))
	for i, pid := range n.workers {
		samples[i].Wakeups = loopThread(pid).sleeps
	}
	return samples, nil
}

func (n *nginx) close() {
	if n.trace != nil {
		n.trace.Close()
	}
	os.RemoveAll(n.dir)
}
