// Open-closed asks a server that stands still for a second, in two ways, and
// counts the answers that took longer than 100 ms. A closed loop makes the
// next request when it has the answer to the last; an open one makes one every
// 10 ms, and counts from the moment when it was due.
package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

const (
	requests = 300
	interval = 10 * time.Millisecond
	stall    = time.Second // from the 100th request on
	slow     = 100 * time.Millisecond
)

func main() {
	for _, try := range []struct {
		name string
		load func(addr string) int
	}{{"closed loop", closed}, {"open loop", open}} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			fmt.Fprintln(os.Stderr, "open-closed:", err)
			os.Exit(1)
		}
		go serve(l)
		fmt.Printf("%-12s %3d of %d answers took over %v\n", try.name, try.load(l.Addr().String()), requests, slow)
		l.Close()
	}
}

// serve answers one client after the other, with one byte.
func serve(l net.Listener) {
	for i := 0; ; i++ {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		if i == requests/3 {
			time.Sleep(stall)
		}
		conn.Write([]byte{'.'})
		conn.Close()
	}
}

// isSlow makes a request that was due at a certain time.
func isSlow(addr string, due time.Time) bool {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return true
	}
	defer conn.Close()
	_, err = io.ReadAll(conn)
	return err != nil || time.Since(due) > slow
}

func closed(addr string) (n int) {
	for range requests {
		if isSlow(addr, time.Now()) {
			n++
		}
		time.Sleep(interval)
	}
	return n
}

func open(addr string) int {
	var (
		n  atomic.Int64
		wg sync.WaitGroup
	)
	start := time.Now()
	for i := range requests {
		due := start.Add(time.Duration(i) * interval)
		time.Sleep(time.Until(due))
		wg.Go(func() {
			if isSlow(addr, due) {
				n.Add(1)
			}
		})
	}
	wg.Wait()
	return int(n.Load())
}
