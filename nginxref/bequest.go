//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"herd/nginxref/conf"
	"herd/nginxref/core"
	"herd/nginxref/event"
)

// bequest is what a worker makes its cycle from: what a forked child would
// find in its memory. It has the text of the configuration files as the
// master read them, because they may be others by the time a worker starts.
type bequest struct {
	NCPU       int
	ConfPrefix string
	Prefix     string
	ConfFile   string
	ConfParam  string
	ErrorLog   string
	LockFile   string // of the accept mutex; see inheritZone
	Dump       conf.Dump
}

// bequest returns what the cycle's workers are made from.
func (c *cycle) bequest() []byte {
	b, err := json.Marshal(bequest{
		NCPU:       c.program.ncpu,
		ConfPrefix: c.confPrefix,
		Prefix:     c.prefix,
		ConfFile:   c.confFile,
		ConfParam:  c.confParam,
		ErrorLog:   c.errorLog,
		LockFile:   c.Event.LockFile,
		Dump:       c.configDump,
	})
	if err != nil {
		panic(err) // strings and bytes only
	}
	return b
}

// configureWorker makes the master's cycle once more, in a worker. See
// process.App.
func (n *program) configureWorker(cycle *event.Cycle, conf []byte) error {
	var b bequest

	if err := json.Unmarshal(conf, &b); err != nil {
		return err
	}
	n.kernel = cycle.Kernel
	n.times = cycle.Time
	n.log = cycle.Log // for ever: a file that is forgotten is closed, its number used for another
	n.ncpu = b.NCPU

	c := b.cycle(n, cycle)

	// What there is to say about the configuration, the master has said.
	if c.configure(&b.Dump, &core.Log{File: n.log.File}) != core.OK {
		return errors.New("the configuration is not the master's")
	}
	c.Event.LockFile = b.LockFile

	c.logOpenDefault()
	if err := c.adoptFiles(n.log); err != nil {
		return err
	}
	c.Log = &c.newLog
	for _, ls := range c.Listening {
		ls.Log = *ls.LogP
	}

	n.current = c
	n.setEnvironment()
	return nil
}

// cycle returns the cycle that b is about.
func (b *bequest) cycle(n *program, c *event.Cycle) *cycle {
	return &cycle{
		Cycle:      c,
		program:    n,
		confPrefix: b.ConfPrefix,
		prefix:     b.Prefix,
		confFile:   b.ConfFile,
		confParam:  b.ConfParam,
		errorLog:   b.ErrorLog,
		core:       newCoreConf(),
	}
}

// setEnvironment leaves a worker the variables that are configured.
func (n *program) setEnvironment() {
	env := n.environment(n.current)

	os.Clearenv()
	for _, v := range env {
		name, value, _ := strings.Cut(v, "=")
		os.Setenv(name, value)
	}
}

// chainOpenFiles puts the open files that are no error log at the end of the
// error log's chain, at a level at which nothing is logged: the files of that
// chain are those a worker inherits.
func (c *cycle) chainOpenFiles() {
	last := &c.newLog
	chained := map[*core.OpenFile]bool{last.File: true}

	for last.Next != nil {
		last = last.Next
		chained[last.File] = true
	}

	for _, file := range c.openFiles {
		if !chained[file] {
			last.Next = &core.Log{File: file}
			last = last.Next
		}
	}
}

// adoptFiles finds the cycle's open files among those that the master left in
// the chain of log.
func (c *cycle) adoptFiles(log *core.Log) error {
	inherited := map[string]*core.OpenFile{}

	for ; log != nil; log = log.Next {
		inherited[log.File.Name] = log.File
	}

	for _, file := range c.openFiles {
		if file.Name == "" {
			continue
		}
		from := inherited[file.Name]
		if from == nil {
			return fmt.Errorf("log file %s was not inherited", file.Name)
		}
		file.W = from.W
	}
	return nil
}
