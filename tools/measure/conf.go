package measure

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"herd/nginxref/core"
	"herd/nginxref/event"
	"herd/nginxref/sys"
)

// MaxWorkers is how many workers a subject may have.
const MaxWorkers = 512

// Conf is what the processes of a subject are told.
type Conf struct {
	Fix       string
	Workers   int
	DelayMsec int            // accept_mutex_delay
	Nginx     string         // path of the real nginx; empty: nginxref
	Lab       Lab            // a lab's program, if it has a name
	Addr      netip.AddrPort // filled in by Start
}

// Lab is a lab's program. It has fixes of its own, which are called by the
// reference's that they stand beside.
type Lab struct {
	Name  string // labs/lab03-acceptmutex
	Exe   string // path of the program
	Build string // differs if the program does
}

// Subject names the program that runs.
func (c *Conf) Subject() string {
	switch {
	case c.Nginx != "":
		return "nginx"
	case c.Lab.Name != "":
		return c.Lab.Name
	}
	return "nginxref"
}

// fix returns the fix that c names: the reference's, or the lab's own beside
// it.
func (c *Conf) fix() (*Fix, error) {
	if c.Lab.Name == "" {
		return FixByName(c.Fix)
	}
	i := slices.IndexFunc(Fixes, func(f *Fix) bool { return f.Beside == c.Fix })
	if i < 0 {
		return nil, fmt.Errorf("%s has nothing that stands beside %s", c.Lab.Name, c.Fix)
	}
	return Fixes[i], nil
}

// ErrCannotShow is the reason why this machine cannot show what was asked
// for; it is not a failure of the subject.
var ErrCannotShow = errors.New("this machine cannot show it")

// connectionsPerWorker is the size of a worker's table, nginx's default for
// worker_connections.
const connectionsPerWorker = 512

// parseConf reads what Start wrote.
func parseConf(raw []byte) (conf Conf, fix *Fix, err error) {
	if err := json.Unmarshal(raw, &conf); err != nil {
		return conf, nil, fmt.Errorf("configuration of the measured processes: %w", err)
	}
	fix, err = conf.fix()
	return conf, fix, err
}

// configure makes cycle what the Conf in raw says. The master and each worker
// call it.
func configure(cycle *event.Cycle, raw []byte) error {
	conf, fix, err := parseConf(raw)
	if err != nil {
		return err
	}

	cycle.Conf.Master = true
	cycle.Conf.WorkerProcesses = conf.Workers
	cycle.Conf.RlimitNofile = -1
	cycle.ConnectionN = connectionsPerWorker
	cycle.Event.Connections = connectionsPerWorker
	cycle.Event.AcceptMutexDelay = core.Msec(conf.DelayMsec)
	cycle.Event.EpollEvents = 512

	for i := range fix.channels(conf.Workers) {
		cycle.Listening = append(cycle.Listening, &event.Listening{
			Sockaddr:  sys.TCPSockaddr(conf.Addr),
			AddrText:  conf.Addr.String(),
			Handler:   greet,
			Log:       *cycle.Log,
			Worker:    i,
			Reuseport: fix.Reuseport || fix.Dispatch != nil, // each worker has its own
		})
	}
	if fix.Loop != nil {
		fix.replaceLoop(cycle)
		return nil
	}
	fix.Configure(cycle)
	return nil
}

// listeners returns how many listening sockets n workers need.
func (f *Fix) listeners(n int) int {
	if f.Reuseport {
		return n
	}
	return 1
}

// channels returns how many sockets n workers are told of connections by.
func (f *Fix) channels(n int) int {
	if f.Dispatch != nil {
		return n
	}
	return f.listeners(n)
}

// slots returns how many processes of a subject with n workers count what
// they do: a master that accepts does too.
func (f *Fix) slots(n int) int {
	if f.Dispatch != nil {
		return n + 1
	}
	return n
}

// greeting is the whole protocol: the server speaks first and closes. A
// connection then costs no event of its own, and what is counted is the
// listener's.
var greeting = []byte("hello\n")

func greet(c *event.Connection) {
	cycle := c.Cycle
	c.Send(greeting)
	cycle.Kernel.AtomicFetchAdd(&cycle.Zone.Active.Word, -1)
	cycle.CloseConnection(c)
}
