//go:build linux

package main

import (
	"io"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"herd/nginxref/conf"
	"herd/nginxref/core"
)

// daemonEnv tells a process that it is to be the daemon, and by which
// descriptor the process that started it hears that it runs.
const daemonEnv = "NGINXREF_DAEMON"

// daemonReadyFd is that descriptor, or -1 in a process that is no daemon.
var daemonReadyFd = daemonFd()

func daemonFd() int {
	fd := conf.Atoi(os.Getenv(daemonEnv))
	if fd != conf.Unset {
		os.Unsetenv(daemonEnv)
		unix.CloseOnExec(fd)
	}
	return fd
}

func (n *program) isDaemon() bool { return daemonReadyFd != -1 }

// wantsDaemon reports whether the configuration asks for a daemon and can be
// read; what is wrong with it, the process finds out for itself.
func (n *program) wantsDaemon(initCycle *cycle) bool {
	if n.isDaemon() || n.inherited || n.testConfig || n.signal != "" {
		return false
	}

	cycle := n.newCycle(initCycle)
	silent := &core.Log{File: initCycle.Log.File}

	return cycle.configure(conf.Disk{}, silent) == core.OK && cycle.core.daemon == 1
}

// daemon starts this program again, without a terminal, and returns the exit
// code of this process when the other one runs or has failed.
//
// Mirrors ngx_daemon.
//
// DIVERGES: nginx forks when its sockets are open. Here the daemon opens them,
// and the pid file is there when this process ends.
func (n *program) daemon() int {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		n.log.Error(core.LogEmerg, core.ErrnoOf(err), "open(\"/dev/null\") failed")
		return 1
	}

	ready, done, err := os.Pipe()
	if err != nil {
		n.log.Error(core.LogEmerg, core.ErrnoOf(err), "pipe() failed")
		return 1
	}

	files := []uintptr{null.Fd(), null.Fd(), 2, done.Fd()}

	pid, err := syscall.ForkExec("/proc/self/exe", n.argv, &syscall.ProcAttr{
		Env:   append(n.environ[:len(n.environ):len(n.environ)], daemonEnv+"="+strconv.Itoa(len(files)-1)),
		Files: files,
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		n.log.Error(core.LogEmerg, core.ErrnoOf(err), "fork() failed")
		return 1
	}
	done.Close()

	if _, err := io.ReadFull(ready, make([]byte, 1)); err == nil {
		return 0
	}

	var status syscall.WaitStatus
	syscall.Wait4(pid, &status, 0, nil)
	return max(status.ExitStatus(), 1)
}

// daemonReady lets the process that started this one end.
func (n *program) daemonReady() {
	if !n.isDaemon() {
		return
	}

	unix.Write(daemonReadyFd, []byte{1})
	unix.Close(daemonReadyFd)
}
