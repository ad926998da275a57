package process

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"herd/nginxref/core"
	"herd/nginxref/event"
	"herd/nginxref/sys"
)

// channelPair returns a worker with its loop set up and the master's end of
// its channel; turns is how often the channel's handler ran.
func channelPair(t *testing.T) (p *Process, master int, turns *int) {
	t.Helper()
	p, log := newProcess(must(sys.New()))
	cycle := p.Cycle
	cycle.ConnectionN = 4
	cycle.Event.EpollEvents = 4
	for _, module := range cycle.Modules {
		if module.InitProcess(cycle) != core.OK {
			t.Fatal(log)
		}
	}
	fds, err := cycle.Kernel.Socketpair()
	if err != 0 {
		t.Fatal(err)
	}
	unix.SetNonblock(fds[0], true)
	unix.SetNonblock(fds[1], true)
	turns = new(int)
	handler := func(ev *event.Event) {
		*turns++
		p.channelHandler(ev)
	}
	if AddChannelEvent(cycle, fds[1], event.ReadEvent, handler) != core.OK {
		t.Fatal(log)
	}
	t.Cleanup(func() {
		unix.Close(fds[0])
		unix.Close(fds[1])
		cycle.EpollDone()
	})
	return p, fds[0], turns
}

// send writes messages to a channel.
func send(t *testing.T, p *Process, fd int, messages ...Channel) {
	t.Helper()
	for i := range messages {
		if status := WriteChannel(p.Cycle.Kernel, fd, &messages[i], p.Cycle.Log); status != core.OK {
			t.Fatalf("message %d: %d", i, status)
		}
	}
}

// turn lets the worker's loop look once, without waiting.
func (p *Process) turn() { p.Cycle.ProcessEvents(0, 0) }

// CASES D03: two commands, one wakeup. nginx 0.7.0 read one and left the
// other.
func TestBothCommandsOfOneWakeupAreObeyed(t *testing.T) {
	p, master, turns := channelPair(t)
	send(t, p, master, Channel{Command: CmdReopen, Fd: -1}, Channel{Command: CmdQuit, Fd: -1})
	p.turn()
	if got := p.flags(); got != "quit reopen" || *turns != 1 {
		t.Errorf("%d turns obey %q, want one that obeys both", *turns, got)
	}
}

// CASES D20: data and descriptors in any order stay together.
func TestChannelsOpenAndClose(t *testing.T) {
	p, master, _ := channelPair(t)
	fd, err := unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	send(t, p, master,
		Channel{Command: CmdReopen, Fd: -1},
		Channel{Command: CmdOpenChannel, Pid: 11, Slot: 1, Fd: int32(fd)},
		Channel{Command: CmdOpenChannel, Pid: 22, Slot: 2, Fd: int32(fd)},
		Channel{Command: CmdReopen, Fd: -1},
		Channel{Command: CmdOpenChannel, Pid: 33, Slot: MaxProcesses - 1, Fd: int32(fd)},
	)
	p.turn()

	var opened []int
	for slot, pid := range map[int]int{1: 11, 2: 22, MaxProcesses - 1: 33} {
		e := p.Processes[slot]
		var st unix.Stat_t
		if e.Pid != pid || unix.Fstat(e.Channel[0], &st) != nil || st.Rdev != unix.Mkdev(1, 3) {
			t.Errorf("slot %d: process %d, descriptor %d; want %d and /dev/null", slot, e.Pid, e.Channel[0], pid)
		}
		if flags, _ := unix.FcntlInt(uintptr(e.Channel[0]), unix.F_GETFD, 0); flags != unix.FD_CLOEXEC {
			t.Errorf("slot %d: its descriptor would be inherited", slot)
		}
		opened = append(opened, e.Channel[0])
		send(t, p, master, Channel{Command: CmdCloseChannel, Pid: int32(pid), Slot: int64(slot), Fd: -1})
	}

	p.turn()
	for _, fd := range opened {
		if unix.Fstat(fd, &unix.Stat_t{}) != unix.EBADF {
			t.Errorf("descriptor %d is still open", fd)
		}
	}
}

// CASES D21. The kernel cuts a descriptor off when the receiver may have no
// more; the worker must still obey the command behind it.
func TestMissingDescriptorDoesNotCostTheChannel(t *testing.T) {
	p, master, _ := channelPair(t)
	var old unix.Rlimit
	unix.Getrlimit(unix.RLIMIT_NOFILE, &old)
	send(t, p, master,
		Channel{Command: CmdOpenChannel, Pid: 11, Slot: 1, Fd: int32(master)},
		Channel{Command: CmdOpenChannel, Pid: 22, Slot: 2, Fd: -1},
		Channel{Command: CmdQuit, Fd: -1})

	unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 3, Max: old.Max})
	p.turn()
	unix.Setrlimit(unix.RLIMIT_NOFILE, &old)

	if p.flags() != "quit" {
		t.Errorf("asked for %q, want quit", p.flags())
	}
	if p.Processes[1].Pid != 0 || p.Processes[2].Pid != 0 {
		t.Error("a message without its descriptor was taken")
	}
}

// A full channel, or a lack of descriptors, costs a worker messages about the
// others' channels (D21, D34). It must not close what it has not opened: a
// place of the table that was never filled has descriptor 0.
func TestMissedMessagesAboutChannels(t *testing.T) {
	for _, test := range []struct {
		name     string
		commands []uint64
		open     int
	}{
		{"the opening", []uint64{CmdCloseChannel}, 0},
		{"the second opening", []uint64{CmdOpenChannel, CmdCloseChannel, CmdCloseChannel}, 0},
		{"the closing", []uint64{CmdOpenChannel, CmdOpenChannel}, 1},
	} {
		p, master, _ := channelPair(t)
		before := descriptors(os.Getpid())[0]
		for _, command := range test.commands {
			ch := Channel{Command: command, Pid: 11, Slot: 1, Fd: -1}
			if command == CmdOpenChannel {
				ch.Fd = int32(master)
			}
			send(t, p, master, ch)
		}
		p.turn()
		if open := descriptors(os.Getpid())[0] - before; open != test.open {
			t.Errorf("without %s: %d descriptors are open, want %d", test.name, open, test.open)
		}
		if log := p.Cycle.Log.File.W.(*bytes.Buffer).String(); strings.Contains(log, "[alert]") {
			t.Errorf("without %s: logs %s", test.name, log)
		}
		if test.open != 0 {
			unix.Close(p.Processes[1].Channel[0])
		}
	}
}

// When the last holder of the other end is gone the worker closes its own and
// goes on.
func TestEndOfChannel(t *testing.T) {
	p, master, turns := channelPair(t)
	free := p.Cycle.FreeConnectionN
	unix.Close(master)
	p.turn()
	p.turn()
	if p.flags() != "" || *turns != 1 || p.Cycle.FreeConnectionN != free+1 {
		t.Errorf("asked for %q in %d turns, %d connections free; want nothing, 1 and %d",
			p.flags(), *turns, p.Cycle.FreeConnectionN, free+1)
	}
}

// A full channel is not an error: the master then sends the signal itself.
func TestFullChannel(t *testing.T) {
	p, master, _ := channelPair(t)
	quit := Channel{Command: CmdQuit, Fd: -1}
	sent := 0
	status := core.OK
	for ; status == core.OK; sent++ {
		status = WriteChannel(p.Cycle.Kernel, master, &quit, p.Cycle.Log)
	}
	if status != core.Again || sent < 100 {
		t.Errorf("message %d: %d, want Again after a few hundred", sent, status)
	}
}
