package lab05

import (
	"fmt"
	"io"
	"strings"

	"herd/nginxref/event"
	"herd/tools/lab"
	"herd/tools/measure"
)

// The load: twice as many clients as a worker has connections, which stay.
const (
	workers     = 4
	connections = 100 // worker_connections; the listener and the channel take one each
	clients     = 200
	rate        = 50 // a second
)

// Experiments returns the lab's measurement, with the student's functions in
// the workers; part B's only if it is written.
func Experiments(dir string, f Functions) *lab.Experiments {
	e := &lab.Experiments{Dir: dir, Tell: tell}
	add := func(key, title string, change func(*event.Cycle)) {
		own := fix("lab05-"+key, title, change)
		e.Fix = append(e.Fix, own)
		e.Runs = append(e.Runs, experiment(key, own))
	}
	e.Fix = append(e.Fix, &measure.Fix{
		Name:   "lab05",
		Beside: "accept-mutex",
		Mutex:  true,
		About:  "your part A, and clients that leave",
		Configure: func(cycle *event.Cycle) {
			cycle.Event.AcceptMutex = true
			f.partA(cycle)
		},
		Wakeups: measure.MutexWakeups,
	})
	never := Functions{
		Disabled: func(connections, free int) int { return 0 },
		Turn:     (*event.Cycle).ProcessEventsAndTimers,
	}
	add("none", "no balance: a worker accepts as long as it has the lock", never.partA)
	add("disabled", "your part A: a crowded worker does not try for the lock", f.partA)
	if lab.Written(func() { f.RoomTurn()(nil) }) {
		add("room", "your part B", f.partB)
	}
	return e
}

// fix is the accept mutex with change, and clients that stay.
func fix(name, about string, change func(*event.Cycle)) *measure.Fix {
	return &measure.Fix{
		Name:  name,
		About: about,
		Configure: func(cycle *event.Cycle) {
			cycle.Event.AcceptMutex = true
			cycle.ConnectionN = connections
			change(cycle)
			for _, ls := range cycle.Listening {
				ls.Handler = stay
			}
		},
		Wakeups: measure.MutexWakeups,
	}
}

// stay greets the client, and keeps the connection until the client leaves.
func stay(c *event.Connection) {
	c.Send([]byte("hello\n"))
	c.Read.Handler = func(*event.Event) {
		var buf [64]byte
		if c.Recv(buf[:]) <= 0 {
			c.Cycle.CloseConnection(c)
		}
	}
	c.Cycle.HandleReadEvent(c.Read)
}

func experiment(key string, fix *measure.Fix) lab.Experiment {
	return lab.Experiment{
		Title: fix.About,
		Conf:  measure.Conf{Fix: fix.Name, Workers: workers, DelayMsec: 500},
		Load:  measure.Load{Rate: rate, Conns: clients, Hold: true},
		Figures: []lab.Figure{
			lab.Ask(key+".refused", "clients refused, of 200", func(r *measure.Run) float64 { return float64(r.Refused) }),
			lab.Ask(key+".empty", "workers of 4 that hold nothing", func(r *measure.Run) float64 { return float64(empty(r.Shares)) }),
		},
	}
}

// empty counts the workers without a connection.
func empty(shares []int) (n int) {
	for _, share := range shares {
		if share == 0 {
			n++
		}
	}
	return n
}

func tell(w io.Writer, runs []measure.Run) {
	fmt.Fprintln(w, "What each worker has taken off the queue, what it then refused included:")
	for _, run := range runs {
		fmt.Fprintf(w, "  %-14s %v\n", strings.TrimPrefix(run.Fix, "lab05-"), run.Shares)
	}
}
