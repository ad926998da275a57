//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"herd/nginxref/conf"
	"herd/nginxref/core"
)

// errlogModule is ngx_errlog_module.
var errlogModule = &conf.Module{
	Name:     "errlog",
	Type:     conf.CoreModule,
	Commands: []conf.Command{{Name: "error_log", Type: conf.MainConf | conf.OneMore, Set: setErrorLog}},
}

// The names of the levels: number 1 is emerg, and debug_core is the lowest of
// the debug masks.
var (
	errLevels   = []string{"emerg", "alert", "crit", "error", "warn", "notice", "info", "debug"}
	debugLevels = []string{
		"debug_core", "debug_alloc", "debug_mutex", "debug_event",
		"debug_http", "debug_mail", "debug_stream",
	}
)

// console repeats on a terminal, in a form for people, what is logged
// elsewhere, until the process is at work (ngx_use_stderr). It is the file of
// one more log in the chain of each log.
//
// DIVERGES: in nginx it is the end of ngx_log_error_core.
type console struct {
	on bool
	w  io.Writer
}

// Write takes a line such as "2026/11/30 12:00:00 [emerg] 7#7: text".
func (c *console) Write(line []byte) (int, error) {
	if c.on {
		_, rest, _ := bytes.Cut(line, []byte(" ["))
		level, rest, _ := bytes.Cut(rest, []byte("] "))
		_, text, _ := bytes.Cut(rest, []byte(": "))

		fmt.Fprintf(c.w, "%s: [%s] %s", programName, level, text)
	}
	return len(line), nil
}

// add puts the console into the chain of log, unless one of its files is the
// terminal already.
func (c *console) add(log *core.Log, n *program) {
	for l := log; l != nil; l = l.Next {
		if l.File.W == os.Stderr {
			return
		}
	}

	logInsert(log, &core.Log{
		Level: min(core.LogWarn, log.Level),
		File:  core.NewOpenFile("", c, n.times, n.kernel.Getpid()),
	})
}

// logStderr writes a message that is not for the log. Mirrors ngx_log_stderr.
func (n *program) logStderr(format string, args ...any) {
	fmt.Fprintf(os.Stderr, programName+": "+format+"\n", args...)
}

// logInit makes the log that is used until the configured one is open.
// Mirrors ngx_log_init.
func (n *program) logInit() {
	n.console = &console{on: true, w: os.Stderr}
	n.log = &core.Log{Level: core.LogNotice}

	name := errorLogPath
	if n.errorLog != nil {
		name = *n.errorLog
	}

	if name == "" {
		n.log.File = core.NewOpenFile("", os.Stderr, n.times, n.kernel.Getpid())
		return
	}

	if n.prefix != nil && *n.prefix != "" {
		name = conf.FullName(strings.TrimSuffix(*n.prefix, "/")+"/", name)
	}

	file, err := openLog(name)
	if err != nil {
		if !n.isDaemon() { // or the process that started it has said so
			n.logStderr("[alert] could not open error log file: open() \"%s\" failed%s",
				name, core.AppendErrno(nil, core.ErrnoOf(err)))
		}

		file = os.Stderr
	}

	n.log.File = core.NewOpenFile(name, file, n.times, n.kernel.Getpid())
	n.console.add(n.log, n)
}

// openLog opens a file to be written at its end. It bypasses the runtime's
// poller: a write to a pipe or terminal must not go through it.
func openLog(name string) (*os.File, error) {
	fd, err := unix.Open(name, unix.O_WRONLY|unix.O_APPEND|unix.O_CREAT|unix.O_CLOEXEC, 0644)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

// closeBuiltinLog closes the file of the built-in log, which nothing is
// written to any more.
func (n *program) closeBuiltinLog(cycle *cycle) {
	file, ok := n.log.File.W.(*os.File)

	if !ok || file == os.Stderr {
		return
	}

	if err := file.Close(); err != nil {
		cycle.Log.Error(core.LogAlert, core.ErrnoOf(err), "close() built-in log failed")
	}
}

// logOpenDefault has a cycle log to the default file if no other is
// configured. Mirrors ngx_log_open_default.
func (c *cycle) logOpenDefault() {
	if c.newLog.File != nil {
		return
	}

	c.newLog.Level = core.LogErr

	c.newLog.File = c.openFile(c.errorLog)
}

// logRedirectStderr has what is written to standard error go to the error
// log. Mirrors ngx_log_redirect_stderr.
func (n *program) logRedirectStderr(cycle *cycle) core.Status {
	if cycle.logUseStderr {
		return core.OK
	}

	file := cycle.newLog.File.W.(*os.File)

	if file != os.Stderr {
		if err := unix.Dup3(int(file.Fd()), int(os.Stderr.Fd()), 0); err != nil {
			cycle.Log.Error(core.LogAlert, core.ErrnoOf(err), "dup2(STDERR_FILENO) failed")

			return core.Error
		}
	}

	return core.OK
}

// setLevels reads the levels of an error_log directive. Mirrors
// ngx_log_set_levels.
func setLevels(cf *conf.Conf, log *core.Log) error {
	if len(cf.Args) == 2 {
		log.Level = core.LogErr
		return nil
	}

	for _, value := range cf.Args[2:] {
		found := false

		for n, level := range errLevels {
			if value == level {

				if log.Level != 0 {
					return cf.Errorf("duplicate log level \"%s\"", value)
				}

				log.Level = uint(n + 1)
				found = true
				break
			}
		}

		for n, level := range debugLevels {
			if value == level {
				if log.Level&^core.LogDebugAll != 0 {
					return cf.Errorf("invalid log level \"%s\"", value)
				}

				log.Level |= core.LogDebugCore << n
				found = true
				break
			}
		}

		if !found {
			return cf.Errorf("invalid log level \"%s\"", value)
		}
	}

	if log.Level == core.LogDebug {
		log.Level = core.LogDebugAll
	}

	return nil
}

// setErrorLog mirrors ngx_error_log.
func setErrorLog(cf *conf.Conf, _ *conf.Command) error {
	cycle := cf.Ctx.(*cycle)

	return cycle.setLog(cf, &cycle.newLog)
}

var errNoSuchLog = errors.New("knows files and \"stderr\" only")

// setLog adds a log to the chain that begins with head, which is empty at
// first. Mirrors ngx_log_set_log.
//
// DIVERGES: nothing is logged to syslog: or memory:.
func (c *cycle) setLog(cf *conf.Conf, head *core.Log) error {
	newLog := head

	if head.Level != 0 {
		newLog = &core.Log{}
	}

	value := cf.Args[1]

	if value == "stderr" {
		c.logUseStderr = true

		newLog.File = c.openFile("")

	} else if strings.HasPrefix(value, "memory:") || strings.HasPrefix(value, "syslog:") {
		return errNoSuchLog

	} else {
		newLog.File = c.openFile(value)
	}

	if err := setLevels(cf, newLog); err != nil {
		return err
	}

	if newLog != head {
		logInsert(head, newLog)
	}

	return nil
}

// logInsert puts newLog into the chain of log, which goes from the most to
// the least verbose. Mirrors ngx_log_insert.
func logInsert(log, newLog *core.Log) {
	if newLog.Level > log.Level {

		// The head's address is known elsewhere: its contents move.
		*log, *newLog = *newLog, *log

		log.Next = newLog
		return
	}

	for log.Next != nil {
		if newLog.Level > log.Next.Level {
			newLog.Next = log.Next
			log.Next = newLog
			return
		}

		log = log.Next
	}

	log.Next = newLog
}
