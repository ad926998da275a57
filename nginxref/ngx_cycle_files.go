//go:build linux

package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"unsafe"

	"herd/nginxref/conf"
	"herd/nginxref/core"
	"herd/nginxref/event"
	"herd/nginxref/process"
)

// openFile returns the cycle's open file of that name, relative to the
// prefix; the empty name is standard error. It is opened later, with all
// others. Mirrors ngx_conf_open_file.
func (c *cycle) openFile(name string) *core.OpenFile {
	var w io.Writer

	if name != "" {
		name = conf.FullName(c.prefix, name)

		for _, file := range c.openFiles {
			if file.Name == name {
				return file
			}
		}

	} else {
		w = os.Stderr
	}

	file := core.NewOpenFile(name, w, c.program.times, c.Kernel.Getpid())
	c.openFiles = append(c.openFiles, file)

	return file
}

// createPidfile writes the process id to the named file; in a test of the
// configuration it only finds out whether that could be done. Mirrors
// ngx_create_pidfile.
func (n *program) createPidfile(name string, log *core.Log) core.Status {
	create := os.O_TRUNC
	if n.testConfig {
		create = 0
	}

	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|create, 0644)

	if err != nil {
		log.Error(core.LogEmerg, core.ErrnoOf(err), "open() \"%s\" failed", name)
		return core.Error
	}

	rc := core.OK

	if !n.testConfig {
		pid := fmt.Appendf(nil, "%d\n", n.kernel.Getpid())

		log.Debug(core.LogDebugCore, 0, "write: %d, %p, %d, %d",
			int(file.Fd()), unsafe.Pointer(&pid[0]), len(pid), 0)

		if _, err := file.Write(pid); err != nil {
			log.Error(core.LogCrit, core.ErrnoOf(err), "pwrite() \"%s\" failed", name)
			rc = core.Error
		}
	}

	if err := file.Close(); err != nil {
		log.Error(core.LogAlert, core.ErrnoOf(err), "close() \"%s\" failed", name)
	}

	return rc
}

// deletePidfile deletes this master's pid file, which has another name while
// a new binary runs. Mirrors ngx_delete_pidfile.
func (n *program) deletePidfile(cycle *cycle) {
	name := cycle.Conf.Pid
	if cycle.NewBinary != 0 {
		name = cycle.Conf.Oldpid
	}

	if err := syscall.Unlink(name); err != nil {
		cycle.Log.Error(core.LogAlert, core.ErrnoOf(err), "unlink() \"%s\" failed", name)
	}
}

// maxPidFile is how much of a pid file is read, in bytes: a number of 64 bits
// with its sign, and the end of the line.
const maxPidFile = len("-9223372036854775808\r\n")

// signalProcess sends a signal to the process of the pid file, for the -s
// option. Mirrors ngx_signal_process.
func (n *program) signalProcess(cycle *cycle, sig string) int {
	cycle.Log.Error(core.LogNotice, 0, "signal process started")

	name := cycle.Conf.Pid

	file, err := os.Open(name)

	if err != nil {
		cycle.Log.Error(core.LogErr, core.ErrnoOf(err), "open() \"%s\" failed", name)
		return 1
	}
	defer file.Close()

	var buf [maxPidFile]byte

	length, err := file.Read(buf[:])

	if err != nil && err != io.EOF {
		cycle.Log.Error(core.LogCrit, core.ErrnoOf(err), "pread() \"%s\" failed", name)
		return 1
	}

	text := strings.TrimRight(string(buf[:length]), "\r\n")

	pid := conf.Atoi(text)

	if pid == conf.Unset {
		cycle.Log.Error(core.LogErr, 0, "invalid PID number \"%s\" in \"%s\"", text, name)
		return 1
	}

	return process.OSSignalProcess(cycle.Cycle, sig, pid)
}

// testLockfile finds out whether the file of a file lock can be made. Mirrors
// ngx_test_lockfile.
func testLockfile(name string, log *core.Log) core.Status {
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0644)

	if err != nil {
		log.Error(core.LogEmerg, core.ErrnoOf(err), "open() \"%s\" failed", name)
		return core.Error
	}

	if err := file.Close(); err != nil {
		log.Error(core.LogAlert, core.ErrnoOf(err), "close() \"%s\" failed", name)
	}

	if err := syscall.Unlink(name); err != nil {
		log.Error(core.LogAlert, core.ErrnoOf(err), "unlink() \"%s\" failed", name)
	}

	return core.OK
}

// reopenFiles opens the log files anew, after they were renamed, and unless
// user is -1 makes them the user's. Mirrors ngx_reopen_files.
func (n *program) reopenFiles(cycle *event.Cycle, user int) {
	for _, file := range n.current.openFiles {

		if file.Name == "" {
			continue
		}

		fd, err := openLog(file.Name)

		if err != nil {
			cycle.Log.Error(core.LogEmerg, core.ErrnoOf(err), "open() \"%s\" failed", file.Name)
			continue
		}
		old := file.W.(*os.File)

		cycle.Log.Debug(core.LogDebugEvent, 0, "reopen file \"%s\", old:%d new:%d",
			file.Name, int(old.Fd()), int(fd.Fd()))

		if user != conf.Unset {
			if err := giveFile(file.Name, user); err != nil {
				cycle.Log.Error(core.LogEmerg, core.ErrnoOf(err), "%s", err.Error())
				fd.Close()
				continue
			}
		}

		if err := old.Close(); err != nil {
			cycle.Log.Error(core.LogEmerg, core.ErrnoOf(err), "close() \"%s\" failed", file.Name)
		}

		file.W = fd
	}

	n.logRedirectStderr(n.current)
}

// giveFile makes a file the user's, to read and write.
//
// DIVERGES: its own function; in nginx it is part of ngx_reopen_files.
func giveFile(name string, user int) error {
	info, err := os.Stat(name)
	if err != nil {
		return err
	}

	if int(info.Sys().(*syscall.Stat_t).Uid) != user {
		if err := os.Chown(name, user, -1); err != nil {
			return err
		}
	}

	if info.Mode()&0600 != 0600 {
		return os.Chmod(name, info.Mode()|0600)
	}

	return nil
}
