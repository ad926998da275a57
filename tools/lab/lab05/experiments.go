package lab05

import (
	"fmt"
	"io"

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
// the workers.
func Experiments(dir string, f Functions) *lab.Experiments {
	never := func(connections, free int) int { return 0 }
	return &lab.Experiments{
		Dir: dir,
		Fix: []*measure.Fix{
			fix("lab05-none", "the accept mutex, and no balance", (&Functions{Disabled: never, Turn: (*event.Cycle).ProcessEventsAndTimers}).partA),
			fix("lab05-disabled", "your part A", f.partA),
			fix("lab05-room", "your part B", f.partB),
		},
		Runs: []lab.Experiment{
			experiment("no balance: a worker accepts as long as it has the lock", "lab05-none", "none"),
			experiment("accept_disabled: a crowded worker does not try for the lock", "lab05-disabled", "disabled"),
			experiment("your part B", "lab05-room", "room"),
		},
		Tell: tell,
	}
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
		Wakeups: func(n, r, delay float64) float64 { return r + (n-1)/delay },
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

func experiment(title, fix, key string) lab.Experiment {
	return lab.Experiment{
		Title: title,
		Conf:  measure.Conf{Fix: fix, Workers: workers, DelayMsec: 500},
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
	for i, name := range []string{"no balance", "part A", "part B"} {
		fmt.Fprintf(w, "  %-12s %v\n", name, runs[i].Shares)
	}
}
