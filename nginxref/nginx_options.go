//go:build linux

package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"

	"herd/nginxref/conf"
	"herd/nginxref/core"
	"herd/nginxref/http"
)

// options are the command line's.
type options struct {
	showHelp      bool
	showVersion   bool
	showConfigure bool
	testConfig    bool
	dumpConfig    bool
	quietMode     bool

	// nil: not given
	prefix     *string
	errorLog   *string
	confFile   *string
	confParams *string

	signal string // of -s; "": not given
}

const usage = `Usage: nginxref [-?hvVtTq] [-s signal] [-p prefix]
                [-e filename] [-c filename] [-g directives]

Without options: serve what nginx.conf in the current directory says.

  -p prefix      directory of everything with a relative name
                 (default: the current one)
  -c filename    configuration file (default: ` + confPath + `)
  -g directives  more directives, before those of the file
  -e filename    error log until the configured one is open, or "stderr"
                 (default: ` + errorLogPath + `)
  -t             test the configuration and exit
  -T             test it, print all its files and exit
  -q             with -t, only print errors
  -s signal      send a signal to the running master and exit:
                 stop, quit, reopen (log files) or reload (configuration)
  -v             print the version and exit
  -V             print the version and how it was built, and exit
  -?, -h         print this and exit

The master also takes signals from kill: HUP is reload, USR1 reopen, QUIT quit
and TERM or INT stop; USR2 starts the program anew with the same sockets, to
upgrade it, and WINCH ends the workers and leaves the master.

nginx.conf is nginx's, with two more directives in its events block:
  accept_exclusive on|off         off: register listeners without EPOLLEXCLUSIVE,
                                  so that every sleeping worker is woken
  accept_mutex_lock atomic|file   file: make accept_mutex a lock on lock_file

`

// showVersionInfo mirrors ngx_show_version_info.
func (n *program) showVersionInfo() {
	fmt.Fprintf(os.Stderr, "%s version: %s\n", programName, http.Version)

	if n.showHelp {
		fmt.Fprint(os.Stderr, usage)
	}

	if n.showConfigure {
		fmt.Fprintf(os.Stderr, "built by %s for %s/%s\n", runtime.Version(), runtime.GOOS, runtime.GOARCH)
	}
}

// getOptions reads the command line, in which options may be joined: -tq,
// -cnginx.conf. Mirrors ngx_get_options.
func (n *program) getOptions(argv []string) core.Status {
	for i := 1; i < len(argv); i++ {

		p, ok := strings.CutPrefix(argv[i], "-")

		if !ok {
			n.logStderr("invalid option: \"%s\"", argv[i])
			return core.Error
		}

		for len(p) > 0 {
			option := p[0]
			p = p[1:]

			if n.flag(option) {
				continue
			}

			kind, ok := arguments[option]
			if !ok {
				n.logStderr("invalid option: \"%s\"", []byte{option})
				return core.Error
			}

			if p == "" {
				i++
				if i >= len(argv) {
					n.logStderr("option \"-%c\" requires %s", option, kind)
					return core.Error
				}

				p = argv[i]
			}

			if !n.argument(option, p) {
				n.logStderr("invalid option: \"-s %s\"", p)
				return core.Error
			}

			break
		}
	}

	return core.OK
}

// flag sets an option without an argument and reports whether it is one.
//
// DIVERGES: its own function; in nginx it is part of ngx_get_options.
func (n *program) flag(option byte) bool {
	switch option {

	case '?', 'h':
		n.showVersion = true
		n.showHelp = true

	case 'v':
		n.showVersion = true

	case 'V':
		n.showVersion = true
		n.showConfigure = true

	case 't':
		n.testConfig = true

	case 'T':
		n.testConfig = true
		n.dumpConfig = true

	case 'q':
		n.quietMode = true

	default:
		return false
	}

	return true
}

// arguments says what the options with an argument want.
var arguments = map[byte]string{
	'p': "directory name",
	'e': "file name",
	'c': "file name",
	'g': "parameter",
	's': "parameter",
}

// argument sets an option with an argument and reports whether that is a good
// one.
//
// DIVERGES: its own function; in nginx it is part of ngx_get_options.
func (n *program) argument(option byte, p string) bool {
	switch option {

	case 'p':
		n.prefix = &p

	case 'e':
		if p == "stderr" {
			p = ""
		}
		n.errorLog = &p

	case 'c':
		n.confFile = &p

	case 'g':
		n.confParams = &p

	case 's':
		n.signal = p

		return p == "stop" || p == "quit" || p == "reopen" || p == "reload"
	}

	return true
}

// processOptions sets the cycle's names. Mirrors ngx_process_options.
func (n *program) processOptions(cycle *cycle) core.Status {
	if n.prefix != nil {
		p := *n.prefix

		if p != "" && !strings.HasSuffix(p, "/") {
			p += "/"
		}

		cycle.confPrefix = p
		cycle.prefix = p

	} else {
		p, err := os.Getwd()
		if err != nil {
			n.logStderr("[emerg]: getcwd() failed: %s", err)
			return core.Error
		}

		p += "/"

		cycle.confPrefix = p
		cycle.prefix = p
	}

	if n.confFile != nil {
		cycle.confFile = *n.confFile

	} else {
		cycle.confFile = confPath
	}

	cycle.confFile = conf.FullName(cycle.prefix, cycle.confFile)

	if i := strings.LastIndexByte(cycle.confFile, '/'); i > 0 {
		cycle.confPrefix = cycle.confFile[:i+1]
	}

	if n.errorLog != nil {
		cycle.errorLog = *n.errorLog

	} else {
		cycle.errorLog = errorLogPath
	}

	if n.confParams != nil {
		cycle.confParam = *n.confParams
	}

	if n.testConfig {
		cycle.Log.Level = core.LogInfo
	}

	return core.OK
}
