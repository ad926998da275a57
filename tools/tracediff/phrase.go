package main

import (
	"regexp"
	"strings"
)

// phrases are the log lines that are steps of the event core, with nginx's
// words. What differs from run to run stands in braces:
//
//	{fd}      a descriptor           becomes what it is: listener, channel, a client
//	{pid}     a process id           becomes its role: master, worker 0
//	{client}  a client's address     becomes its name in the script
//	{event}   an event's address     becomes the name of its descriptor
//	{wait}    a wait in milliseconds becomes the timer that it comes from
//	{n}       stays as it is
//	{-}       is left out
var phrases = compile(
	// ngx_process_cycle.c: a turn of the worker, and of the master
	`worker cycle`,
	`sigsuspend`,
	`wake up, sigio {n}`,
	`termination cycle: {n}`,
	`reap children`,
	`child: {n} {pid} e:{n} t:{n} d:{n} r:{n} j:{n}`,
	`kill ({pid}, {n})`,
	`pass channel s:{n} pid:{pid} fd:{-} to s:{n} pid:{pid} fd:{-}`,
	`pass close channel s:{n} pid:{pid} to:{pid}`,
	`channel handler`,
	`channel: {n}`,
	`channel command: {n}`,
	`get channel s:{n} pid:{pid} fd:{-}`,
	`close channel s:{n} pid:{pid} our:{pid} fd:{-}`,
	`start worker processes`,
	`gracefully shutting down`,
	`shutdown timeout`,
	`reconfiguring`,
	`reopening logs`,
	`changing binary`,
	`the changing binary signal is ignored: {n}`,
	`exiting`,
	`exit`,

	// ngx_process.c, ngx_shmtx.c: processes and signals
	`channel {-}:{-}`,
	`start worker process {pid}`,
	`start new binary process {pid}`,
	`signal {n} ({n}) received from {pid}, {n}`,
	`signal {n} ({n}) received from {pid}`,
	`signal {n} ({n}) received, {n}`,
	`signal {n} ({n}) received`,
	`worker process {pid} exited with code {n}`,
	`worker process {pid} exited on signal {n}`,
	`new binary process {pid} exited with code {n}`,
	`shmtx forced unlock`,

	// ngx_event.c, ngx_epoll_module.c: one wait
	`notify eventfd: {fd}`,
	`epoll timer: {wait}`,
	`epoll: fd:{fd} ev:{n} d:{-}`,
	`epoll: stale event {event}`,
	`epoll_wait() error on fd:{fd} ev:{n}`,
	`epoll_wait() failed ({n})`,
	`epoll_wait() returned no events without timeout`,
	`timer delta: {-}`,
	`timer signal`,
	`epoll add event: fd:{fd} op:{n} ev:{n}`,
	`epoll del event: fd:{fd} op:{n} ev:{n}`,
	`epoll add connection: fd:{fd} ev:{n}`,
	`epoll del connection: fd:{fd}`,
	`epoll_ctl({n}, {fd}) failed ({n})`,

	// ngx_event_posted.[ch], ngx_event_timer.[ch]
	`post event {event}`,
	`update posted event {event}`,
	`delete posted event {event}`,
	`posted event {event}`,
	`posted next event {event}`,
	`event timer add: {fd}: {n}:{-}`,
	`event timer del: {fd}: {-}`,
	`event timer: {fd}, old: {-}, new: {-}`,

	// ngx_event_accept.c
	`accept mutex locked`,
	`accept mutex lock failed: {n}`,
	`accept on {n}, ready: {n}`,
	`accept() not ready ({n})`,
	`accept4() failed ({n})`,
	`accept: {client} fd:{fd}`,

	// ngx_connection.c
	`bind() {n} #{-}`,
	`close listening {n} #{-}`,
	`reusable connection: {n}`,
	`reusing connection`,
	`{n} worker_connections are not enough`,

	// ngx_recv.c and, for the end of a descriptor, ngx_http_request.c
	`recv: eof:{n}, avail:{n}`,
	`recv: fd:{fd} {n} of {n}`,
	`close http connection: {fd}`,
)

// phrase is the form of a log line.
type phrase struct {
	form  string
	re    *regexp.Regexp
	texts []string // what stands around the braces
	kinds []string // what stands in them
}

var braces = regexp.MustCompile(`\{([a-z-]+)\}`)

func compile(forms ...string) (list []phrase) {
	for _, form := range forms {
		p := phrase{form: form, texts: braces.Split(form, -1)}
		for _, m := range braces.FindAllStringSubmatch(form, -1) {
			p.kinds = append(p.kinds, m[1])
		}
		re := strings.Builder{}
		for i, text := range p.texts {
			if i > 0 {
				re.WriteString(`(.+?)`)
			}
			re.WriteString(regexp.QuoteMeta(text))
		}
		p.re = regexp.MustCompile(`^` + re.String() + `$`)
		list = append(list, p)
	}
	return list
}

// recognize returns the phrase that text has the form of, and what stands in
// its braces; nil if the line is none of the event core's.
func recognize(text string) (*phrase, []string) {
	for i := range phrases {
		p := &phrases[i]
		if !strings.HasPrefix(text, p.texts[0]) {
			continue
		}
		if m := p.re.FindStringSubmatch(text); m != nil {
			return p, m[1:]
		}
	}
	return nil, nil
}

// say puts the values into the braces.
func (p *phrase) say(values []string) string {
	b := strings.Builder{}
	for i, text := range p.texts {
		if i > 0 {
			b.WriteString(values[i-1])
		}
		b.WriteString(text)
	}
	return b.String()
}
