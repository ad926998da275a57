package measure

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Load says how many connections to make and when: at a rate, or in a closed
// loop, or, if neither Rate nor Clients is given, one by one, each when all
// workers are asleep.
type Load struct {
	Rate    float64 // connections started per second
	Clients int     // connections that a closed loop keeps in flight
	Conns   int     // connections in all

	// Hold keeps every connection open until the last is made: what counts is
	// the first byte of the reply, and one that gets none is refused.
	Hold bool

	addr   string      // host:port of the server
	asleep func() bool // reports whether all workers are
	held   *held       // with Hold
}

// Latency bounds of the histogram, in microseconds.
const (
	minLatency = 1
	maxLatency = 60_000_000
)

// replyTimeout ends a connection that nobody answers. It is longer than any
// hand-over that nginx's defaults allow (accept_mutex_delay is 500 ms).
const replyTimeout = 10 * time.Second

// Latencies are the times to the reply of a load, in microseconds, and the
// connections that got none.
type Latencies struct {
	*hdrhistogram.Histogram
	Failed   int
	FirstErr error
	mu       sync.Mutex
}

func newLatencies() *Latencies {
	return &Latencies{Histogram: hdrhistogram.New(minLatency, maxLatency, 3)}
}

// cdf returns the distribution, with a few points for each halving of the
// connections that are slower still.
func (l *Latencies) cdf() []Quantile {
	const pointsPerHalving = 4
	var cdf []Quantile
	count := int64(0)
	for _, b := range l.CumulativeDistributionWithTicks(pointsPerHalving) {
		if b.Count > count {
			count = b.Count
			cdf = append(cdf, Quantile{100 * float64(count) / float64(l.TotalCount()), b.ValueAt})
		}
	}
	return cdf
}

// over counts the replies that took longer than d.
func (l *Latencies) over(d time.Duration) (n int) {
	for _, bar := range l.Distribution() {
		if bar.From > d.Microseconds() {
			n += int(bar.Count)
		}
	}
	return n
}

func (l *Latencies) add(d time.Duration, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.Failed++
		if l.FirstErr == nil {
			l.FirstErr = err
		}
		return
	}
	l.RecordValue(max(d.Microseconds(), minLatency))
}

// kind names the load in a Run.
func (load Load) kind() string {
	switch {
	case load.Rate > 0:
		return Paced
	case load.Clients > 0:
		return Burst
	}
	return OneByOne
}

// Kinds of load.
const (
	Paced    = "paced"
	Burst    = "burst"
	OneByOne = "one by one"
)

// run makes the connections and returns when the last has been answered, or
// ctx is done. step is called with the number finished so far.
func (load Load) run(ctx context.Context, step func(done int)) *Latencies {
	if load.Hold {
		load.held = &held{}
		defer load.held.close()
	}
	switch load.kind() {
	case Paced:
		return load.paced(ctx, step)
	case Burst:
		return load.burst(ctx, step)
	}
	return load.oneByOne(ctx, step)
}

// oneByOne makes a connection whenever every worker sleeps: what it wakes does
// then not depend on how busy the machine is.
func (load Load) oneByOne(ctx context.Context, step func(int)) *Latencies {
	lat := newLatencies()
	for i := range load.Conns {
		if err := load.waitAsleep(ctx); err != nil {
			lat.add(0, err)
			return lat
		}
		start := time.Now()
		err := load.exchange(ctx)
		lat.add(time.Since(start), err)
		step(i + 1)
		if load.gaveUp(err) {
			return lat
		}
	}
	return lat
}

// waitAsleep waits until every worker sleeps.
func (load Load) waitAsleep(ctx context.Context) error {
	deadline := time.Now().Add(replyTimeout)
	for !load.asleep() {
		if time.Now().After(deadline) {
			return fmt.Errorf("after %v some worker still does not sleep", replyTimeout)
		}
		if !sleepUntil(ctx, time.Now().Add(time.Millisecond)) {
			return ctx.Err()
		}
	}
	return nil
}

// paced starts connection i at i/rate, whether or not those before it have
// been answered, and counts its latency from that moment: a server that
// stalls cannot slow the load down and so hide its stall.
func (load Load) paced(ctx context.Context, step func(int)) *Latencies {
	var (
		lat  = newLatencies()
		wg   sync.WaitGroup
		done atomic.Int64
	)
	start := time.Now()
	for i := range load.Conns {
		intended := start.Add(time.Duration(float64(i) / load.Rate * float64(time.Second)))
		if !sleepUntil(ctx, intended) {
			break
		}
		wg.Go(func() {
			err := load.exchange(ctx)
			lat.add(time.Since(intended), err)
			step(int(done.Add(1)))
		})
	}
	wg.Wait()
	return lat
}

// burst keeps Clients connections in flight until all have been made. There
// is no intended moment in a closed loop: latency counts from the connect.
func (load Load) burst(ctx context.Context, step func(int)) *Latencies {
	var (
		lat        = newLatencies()
		wg         sync.WaitGroup
		next, done atomic.Int64
	)
	for range load.Clients {
		wg.Go(func() {
			for next.Add(1) <= int64(load.Conns) && ctx.Err() == nil {
				start := time.Now()
				err := load.exchange(ctx)
				lat.add(time.Since(start), err)
				step(int(done.Add(1)))
				if load.gaveUp(err) {
					return
				}
			}
		})
	}
	wg.Wait()
	return lat
}

// gaveUp reports whether err ends the load: a server that hangs would keep each
// connection for replyTimeout.
func (load Load) gaveUp(err error) bool { return err != nil && !load.Hold }

// exchange makes one connection of the load.
func (load Load) exchange(ctx context.Context) error {
	if load.Hold {
		return load.held.exchange(ctx, load.addr)
	}
	return exchange(ctx, load.addr)
}

// held is connections that stay open.
type held struct {
	mu    sync.Mutex
	conns []net.Conn
}

// exchange connects, reads the beginning of the server's greeting and keeps
// the connection.
func (h *held) exchange(ctx context.Context, addr string) error {
	d := net.Dialer{Timeout: replyTimeout}
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	h.mu.Lock()
	h.conns = append(h.conns, conn)
	h.mu.Unlock()
	conn.SetReadDeadline(time.Now().Add(replyTimeout))
	var buf [1]byte
	_, err = conn.Read(buf[:])
	return err
}

func (h *held) close() {
	for _, conn := range h.conns {
		conn.Close()
	}
}

// exchange connects and reads the server's greeting up to its end.
func exchange(ctx context.Context, addr string) error {
	var d net.Dialer

	ctx, cancel := context.WithTimeout(ctx, replyTimeout)
	defer cancel()
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.SetReadDeadline(time.Now()) })
	defer stop()
	var buf [64]byte
	n := 0
	for {
		m, err := conn.Read(buf[:])
		n += m
		if err == io.EOF && n > 0 {
			return nil
		}
		if err == io.EOF {
			return fmt.Errorf("%s closed the connection without a reply", addr)
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%s did not reply within %v", addr, replyTimeout)
		}
		if err != nil {
			return err
		}
	}
}

// sleepUntil sleeps until t and reports whether ctx let it.
func sleepUntil(ctx context.Context, t time.Time) bool {
	timer := time.NewTimer(time.Until(t))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
