package process

import (
	"fmt"
	"syscall"
	"testing"

	"herd/nginxref/core"
	"herd/nginxref/event"
)

// cmdStats is a message that says nothing to nginx's workers.
const cmdStats = 100

// chatter is the timer of a worker that chats: it sends 10 messages a
// millisecond on each channel.
var chatter event.Event

// talk obeys the commands about channels. It counts in the worker's slot what
// was sent, in Lab[0], and what a full channel did not take, in Lab[1].
func talk(c *event.Connection, command string) {
	switch command {
	case "shout\n":
		for tell(self.Channel) {
		}
		c.Send([]byte("full\n"))
	case "stuff\n":
		for _, fd := range siblings() {
			for tell(fd) {
			}
		}
		c.Send([]byte("full\n"))
	case "chat\n":
		chatter = event.Event{Log: c.Cycle.Log, Cancelable: true, Handler: func(ev *event.Event) {
			for _, fd := range append(siblings(), self.Channel) {
				for range 10 {
					tell(fd)
				}
			}
			self.Cycle.AddTimer(ev, 1)
		}}
		c.Cycle.AddTimer(&chatter, 1)
		c.Send([]byte("chatting\n"))
	}
}

// tell sends one message and reports whether there was room for it.
func tell(fd int) bool {
	lab := &self.Cycle.Counters.Lab
	if WriteChannel(self.Cycle.Kernel, fd, &Channel{Command: cmdStats, Fd: -1}, self.Cycle.Log) != core.OK {
		lab[1]++
		return false
	}
	lab[0]++
	return true
}

// siblings returns this worker's channels to the others.
func siblings() (fds []int) {
	for i := range MaxProcesses {
		if self.hasChannel(int64(i)) {
			fds = append(fds, self.Processes[i].Channel[0])
		}
	}
	return fds
}

// each connects until it has a client of each of n workers.
func (s *server) each(n int) []*client {
	s.t.Helper()
	clients, found := make([]*client, n), 0
	s.until("each worker has a client", func() bool {
		c := s.greeted()
		if clients[c.worker] != nil {
			s.bye(c)
			return false
		}
		clients[c.worker] = c
		found++
		return found == n
	})
	return clients
}

// CASES D34. Every channel is full in both directions, with messages that may
// as well be lost. The master's commands are not: what its channel does not
// take goes by signal, and what is in the channel is obeyed in its turn. The
// master reads nothing, and is not disturbed by what piles up there.
func TestCommandsReachWorkersWhoseChannelsAreFull(t *testing.T) {
	s := start(t, conf{Workers: 2})
	pids := s.pids(0, 1)
	s.logged(1, `get channel s:1`)
	clients := s.each(2)
	for _, c := range clients {
		s.ask(c, "shout", "full")
	}

	shouted := s.slots(2)[1].Lab[0]
	fill := func() {
		t.Helper()
		s.ask(clients[1], "stuff", "full")
	}
	// tell has the master tell the stopped worker something, and lets it go on.
	tell := func(signo syscall.Signal, text string) {
		t.Helper()
		s.signal(signo)
		s.logged(1, fmt.Sprintf(`: kill \(%d, %d\)$`, pids[0], signo))
		syscall.Kill(pids[0], syscall.SIGCONT)
		s.seen(1, by(pids[0])+text)
		stuffed := s.slots(2)[1].Lab[0] - shouted
		s.logged(int(stuffed), by(pids[0])+fmt.Sprintf(`channel command: %d$`, cmdStats))
	}

	s.stop(pids[0])
	fill()
	tell(syscall.SIGUSR1, "reopening logs$")

	s.stop(pids[0])
	s.signal(syscall.SIGUSR1)
	s.seen(2, by(s.pid())+"reopening logs$")
	s.idle()
	fill() // behind a command
	tell(syscall.SIGQUIT, "gracefully shutting down$")
	s.logged(2, by(pids[0])+"reopening logs$")

	for _, c := range clients {
		s.bye(c)
	}
	s.gone()
	s.quiet()
}

// CASES D34. Each worker sends 10,000 messages a second to the master, which
// never reads them, and as many to the other worker. All commands are obeyed
// meanwhile, and QUIT within what would be a second of that.
func TestWorkersObeyWhileTheyChat(t *testing.T) {
	s := start(t, conf{Workers: 2, Level: core.LogInfo})
	pids := s.pids(0, 1)
	clients := s.each(2)
	for _, c := range clients {
		s.ask(c, "chat", "chatting")
	}
	s.until("the workers have read what is many times a channel's room", func() bool {
		slots := s.slots(2)
		return min(slots[0].Lab[0], slots[1].Lab[0], slots[0].Lab[1], slots[1].Lab[1]) > 5000
	})

	s.signal(syscall.SIGUSR1)
	for _, pid := range pids {
		s.logged(1, by(pid)+"reopening logs$")
	}
	for _, c := range clients {
		s.bye(c)
	}

	before := s.slots(2)
	chats := [2]uint64{}
	for i, w := range before {
		chats[i] = w.Lab[0] + w.Lab[1]
	}
	s.signal(syscall.SIGQUIT)
	s.gone()
	for i, w := range s.slots(2) {
		if n := w.Lab[0] + w.Lab[1] - chats[i]; n > 2*10_000 {
			t.Errorf("worker %d tried to send %d more messages after QUIT, want at the most those of a second", i, n)
		}
	}
	s.logged(2, `gracefully shutting down$`)
	s.logged(2, `worker process \d+ exited with code 0`)
	s.quiet()
}
