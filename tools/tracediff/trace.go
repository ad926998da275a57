package main

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// step is one thing that the event core did, in words that are the same in
// every run that does the same.
type step struct {
	text string
	line int // in the log
}

// trace is what one process did.
type trace struct {
	name  string
	steps []step
}

// namer gives names to what the log of one process has numbers for.
type namer struct {
	roster  *roster
	clients map[string]string // address to name in the script
	delay   string            // accept_mutex_delay in milliseconds

	channel   string // descriptor
	listeners int
	fds       map[string]string
	conns     map[string]string // "*N " to client
	events    map[string]string // address to name
	timers    []timer           // in the order they were set
	ready     string            // descriptor of the event reported last
	refused   bool              // the lock, in this turn
}

// timer is one that is set.
type timer struct {
	fd   string // its name
	msec string
	key  int // when it is due
}

// reduce makes traces of a log: the masters' first, then the workers' in the
// order they were started.
func reduce(l *errorLog, clients map[string]string, delay string) []trace {
	var traces []trace
	for _, pid := range l.roster.pids() {
		n := &namer{roster: &l.roster, clients: clients, delay: delay,
			fds: map[string]string{}, conns: map[string]string{}, events: map[string]string{}}
		if l.roster.byPid(pid) != nil {
			n.channel = channelFd(l.lines, pid)
		}
		t := trace{name: l.roster.name(pid)}
		for _, line := range l.lines {
			if line.pid != pid {
				continue
			}
			if p, values := recognize(line.text); p != nil {
				t.steps = append(t.steps, step{line.conn + n.name(p, values, line), line.number})
			}
		}
		traces = append(traces, t)
	}
	return traces
}

// channelFd returns the descriptor of a worker's channel: the last that it
// registers before its first turn.
func channelFd(lines []line, pid int) (fd string) {
	for _, l := range lines {
		if l.pid != pid {
			continue
		}
		p, values := recognize(l.text)
		switch {
		case p == nil:
		case p.form == "worker cycle":
			return fd
		case strings.HasPrefix(p.form, "epoll add event"):
			fd = values[0]
		}
	}
	return fd
}

// name puts names in the place of numbers, and takes note of what the line
// says about them.
func (n *namer) name(p *phrase, values []string, l line) string {
	n.before(p, values, l)
	named := slices.Clone(values)
	for i, kind := range p.kinds {
		named[i] = n.value(kind, values[i])
	}
	n.after(p, values, named)
	return p.say(named)
}

func (n *namer) value(kind, value string) string {
	switch kind {
	case "fd":
		return n.fd(value)
	case "pid":
		pid, _ := strconv.Atoi(value)
		return n.roster.name(pid)
	case "client":
		return cmp.Or(n.clients[value], "somebody")
	case "event":
		return cmp.Or(n.events[value], "unknown")
	case "wait":
		return n.wait(value)
	case "-":
		return "-"
	}
	return value
}

// fd names a descriptor. One that is not a client's is named by what it must
// be. For the timer of no connection nginx logs what lies where the number
// would be.
func (n *namer) fd(fd string) string {
	number, _ := strconv.Atoi(fd)
	switch {
	case n.fds[fd] != "":
	case fd == n.channel:
		n.fds[fd] = "channel"
	case number < 0 || number > 1<<20:
		n.fds[fd] = "none"
	default:
		n.listeners++
		n.fds[fd] = "listener " + strconv.Itoa(n.listeners)
	}
	return n.fds[fd]
}

// wait names the timer that a wait will end by: the first that is due, unless
// the accept mutex's delay comes before it.
func (n *namer) wait(msec string) string {
	if msec == "-1" || msec == "0" || n.refused && msec == n.delay {
		return msec
	}
	if len(n.timers) == 0 {
		return msec
	}
	first := slices.MinFunc(n.timers, func(a, b timer) int { return cmp.Compare(a.key, b.key) })
	return first.msec + " of " + first.fd
}

// before learns what the names of a line are from the line itself.
func (n *namer) before(p *phrase, values []string, l line) {
	switch p.form {
	case "worker cycle":
		n.refused = false
	case "accept mutex lock failed: {n}":
		n.refused = true
	case "notify eventfd: {fd}":
		n.fds[values[0]] = "notify"
	case "accept: {client} fd:{fd}":
		n.fds[values[1]] = n.value("client", values[0])
		n.conns[l.conn] = n.fds[values[1]]
	case "epoll: fd:{fd} ev:{n} d:{-}":
		n.ready = n.fd(values[0])
	case "post event {event}":
		n.events[values[0]] = cmp.Or(n.conns[l.conn], n.ready)
	}
}

// after learns what the line changes.
func (n *namer) after(p *phrase, values, named []string) {
	switch p.form {
	case "event timer add: {fd}: {n}:{-}":
		key, _ := strconv.Atoi(values[2])
		n.timers = append(n.timers, timer{named[0], values[1], key})
	case "event timer del: {fd}: {-}":
		n.timers = slices.DeleteFunc(n.timers, func(t timer) bool { return t.fd == named[0] })
	}
}
