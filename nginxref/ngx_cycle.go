//go:build linux

package main

import (
	"os"
	"syscall"
	"unsafe"

	"herd/nginxref/conf"
	"herd/nginxref/core"
	"herd/nginxref/event"
	"herd/nginxref/shmtx"
)

// cycle is one configuration at work (ngx_cycle_t): the part of it that
// package event knows, and how it was configured.
type cycle struct {
	*event.Cycle

	program *program
	old     *cycle // while it is made: the one before
	initial bool   // made of the command line only: there is none before

	confPrefix string // of relative names in include
	prefix     string // of other relative names; both end in "/"
	confFile   string
	confParam  string // of -g
	errorLog   string // "": standard error
	configDump conf.Dump

	core   coreConf
	events *eventConf // nil until there is an events block
	http   *httpConf

	lockFile     string // the lock_file directive's
	openFiles    []*core.OpenFile
	newLog       core.Log // what is configured; then Log is this
	logUseStderr bool
}

// initialCycle returns a cycle that only has a log.
func (n *program) initialCycle() *cycle {
	cycle := &cycle{Cycle: event.NewCycle(n.kernel, n.log, n.times), program: n, initial: true}
	cycle.Parent = os.Getppid()
	if n.testConfig || n.signal != "" {
		cycle.Process = event.ProcessSignaller // of no use to the event core
	}
	return cycle
}

// newCycle returns a cycle that is yet to be configured, by the same names as
// the old one.
func (n *program) newCycle(old *cycle) *cycle {
	return &cycle{
		Cycle:      event.NewCycle(n.kernel, old.Log, n.times),
		program:    n,
		old:        old,
		confPrefix: old.confPrefix,
		prefix:     old.prefix,
		confFile:   old.confFile,
		confParam:  old.confParam,
		errorLog:   old.errorLog,
		core:       newCoreConf(),
	}
}

// configure reads the configuration and fills in what it leaves out. Errors
// are logged to log.
//
// DIVERGES: its own function; in nginx it is part of ngx_init_cycle.
func (c *cycle) configure(source conf.Source, log *core.Log) core.Status {
	cf := &conf.Conf{
		Modules:    modules,
		Prefix:     c.confPrefix,
		Source:     source,
		Dump:       &c.configDump,
		Log:        log,
		Ctx:        c,
		ModuleType: conf.CoreModule,
		CmdType:    conf.MainConf,
	}

	if cf.Param(c.confParam) != nil {
		return core.Error
	}

	if cf.Parse(c.confFile) != nil {
		return core.Error
	}

	if c.program.testConfig && !c.program.quietMode {
		c.program.logStderr("the configuration file %s syntax is ok", c.confFile)
	}

	if c.initCoreConf(log) != core.OK {
		return core.Error
	}

	return c.initEventConf(log)
}

// initCycle makes a cycle of the configuration as it now is, and returns nil
// if that is bad: then everything is as it was. Mirrors ngx_init_cycle.
//
// DIVERGES: there are no pools, hash tables or host name to make, no paths to
// create and no zones but the event core's.
func (n *program) initCycle(old *cycle) *cycle {
	n.times.TimeUpdate()

	log := old.Log

	c := n.newCycle(old)
	c.Process = old.Process
	c.Parent = old.Parent

	if c.configure(conf.Disk{}, log) != core.OK {
		return nil
	}

	if n.signal != "" {
		return c
	}

	if n.open(c, old, log) != core.OK {
		n.rollback(c, log)
		return nil
	}

	// Commit the new configuration.

	if !n.console.on {
		n.logRedirectStderr(c)
	}

	c.inheritZone(old)

	if n.initModules(c) != core.OK {
		os.Exit(1) // fatal
	}

	n.closeOld(c, old, log)

	c.old = nil

	return c
}

// open opens the files and sockets of the new cycle.
//
// DIVERGES: its own function; in nginx it is part of ngx_init_cycle.
func (n *program) open(c, old *cycle, log *core.Log) core.Status {
	if n.testConfig {

		if n.createPidfile(c.Conf.Pid, log) != core.OK {
			return core.Error
		}

	} else if !old.initial {

		// The first pid file is created later, by the daemon.

		if c.Conf.Pid != old.Conf.Pid {

			if n.createPidfile(c.Conf.Pid, log) != core.OK {
				return core.Error
			}

			n.deletePidfile(old)
		}
	}

	if c.Event.LockFile != "" && testLockfile(c.Event.LockFile, log) != core.OK {
		return core.Error
	}

	c.logOpenDefault()

	for _, file := range c.openFiles {

		if file.Name == "" {
			continue
		}

		f, err := openLog(file.Name)

		if err != nil {
			log.Error(core.LogEmerg, core.ErrnoOf(err), "open() \"%s\" failed", file.Name)
			return core.Error
		}
		file.W = f

		log.Debug(core.LogDebugCore, 0, "log: %p %d \"%s\"", unsafe.Pointer(file), int(f.Fd()), file.Name)
	}

	if n.console.on {
		n.console.add(&c.newLog, n)
	}
	c.chainOpenFiles()

	c.Log = &c.newLog

	c.matchListening(old)

	if c.OpenListeningSockets(n.testConfig) != core.OK {
		return core.Error
	}

	if !n.testConfig {
		c.ConfigureListeningSockets()
	}

	return core.OK
}

// matchListening finds out which sockets are open already, in the old cycle
// or because they were inherited, and what has to be changed on them.
//
// DIVERGES: its own function; in nginx it is part of ngx_init_cycle.
func (c *cycle) matchListening(old *cycle) {
	for _, ls := range old.Listening {
		ls.Remain = false
	}

	for _, nls := range c.Listening {

		for _, ls := range old.Listening {
			if ls.Ignore {
				continue
			}

			if ls.Remain {
				continue
			}

			if ls.Type != nls.Type {
				continue
			}

			if conf.SameAddress(&nls.Sockaddr, &ls.Sockaddr, true) {
				nls.Fd = ls.Fd
				nls.Inherited = ls.Inherited
				ls.Remain = true

				if ls.Backlog != nls.Backlog {
					nls.Listen = true
				}

				if ls.DeferredAccept && !nls.DeferredAccept {
					nls.DeleteDeferred = true

				} else if ls.DeferredAccept != nls.DeferredAccept {
					nls.AddDeferred = true
				}

				if nls.Reuseport && !ls.Reuseport {
					nls.AddReuseport = true
				}

				break
			}
		}

		if nls.Fd == -1 {
			nls.Open = true

			if nls.DeferredAccept {
				nls.AddDeferred = true
			}
		}
	}
}

// inheritZone takes over the shared zone and the lock, which are made once in
// the life of a master.
//
// DIVERGES: in nginx they are globals.
func (c *cycle) inheritZone(old *cycle) {
	if old.initial {
		return
	}

	if c.Event.LockFile != old.Event.LockFile {
		c.Log.Error(core.LogEmerg, 0, "\"accept_mutex_lock\" could not be changed, ignored")
		c.Event.LockFile = old.Event.LockFile
	}

	c.Shm = old.Shm
	c.Zone = old.Zone
	c.AcceptMutex = old.AcceptMutex
	c.LockFile = old.LockFile

	// The lock's messages go to the log of the cycle at work.
	if mtx, ok := c.AcceptMutex.(*shmtx.Atomic); ok {
		mtx.Log = c.Log
	}
	if c.LockFile != nil {
		c.LockFile.Log = c.Log
	}
}

// initModules mirrors ngx_init_modules.
func (n *program) initModules(c *cycle) core.Status {
	for _, module := range c.Modules {
		if module.InitModule != nil {
			if module.InitModule(c.Cycle) != core.OK {
				return core.Error
			}
		}
	}

	return core.OK
}

// closeOld closes what only the old cycle had.
//
// DIVERGES: its own function; in nginx it is part of ngx_init_cycle.
func (n *program) closeOld(c, old *cycle, log *core.Log) {
	for _, ls := range old.Listening {

		if ls.Remain || ls.Fd == -1 {
			continue
		}

		if err := n.kernel.Close(ls.Fd); err != 0 {
			log.Error(core.LogEmerg, err, "close() socket listening socket on %s failed", ls.AddrText)
		}

		if name := ls.Sockaddr.Path(); name != "" {

			c.Log.Error(core.LogWarn, 0, "deleting socket %s", name)

			if err := syscall.Unlink(name); err != nil {
				c.Log.Error(core.LogEmerg, core.ErrnoOf(err), "unlink() %s failed", name)
			}
		}
	}

	closeFiles(old, log)
}

// rollback closes what the new cycle has opened.
//
// DIVERGES: its own function; in nginx it is the end of ngx_init_cycle.
func (n *program) rollback(c *cycle, log *core.Log) {
	closeFiles(c, log)

	if n.testConfig {
		return
	}

	for _, ls := range c.Listening {
		if ls.Fd == -1 || !ls.Open {
			continue
		}

		if err := n.kernel.Close(ls.Fd); err != 0 {
			log.Error(core.LogEmerg, err, "close() socket %s failed", ls.AddrText)
		}
	}
}

// closeFiles closes the open files of a cycle.
//
// DIVERGES: its own function; nginx has it twice in ngx_init_cycle.
func closeFiles(c *cycle, log *core.Log) {
	for _, file := range c.openFiles {

		f, ok := file.W.(*os.File)

		if !ok || f == os.Stderr {
			continue
		}

		if err := f.Close(); err != nil {
			log.Error(core.LogEmerg, core.ErrnoOf(err), "close() \"%s\" failed", file.Name)
		}
	}
}

// reconfigure makes the cycle of a changed configuration, for the master.
func (n *program) reconfigure(*event.Cycle) *event.Cycle {
	cycle := n.initCycle(n.current)
	if cycle == nil {
		return nil
	}

	n.current = cycle
	n.process.Conf = cycle.bequest()
	return cycle.Cycle
}
