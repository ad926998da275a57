package event

import (
	"os"
	"os/signal"
	"sync"
	"syscall"
	"testing"
)

// CASES E16: with timer_resolution the cached time lags at most that
// interval, though nothing else wakes the worker. The process's part, to
// collect the signal and wake the loop, is played by the test.
func TestE16TimerResolutionMovesTheClock(t *testing.T) {
	w := newWorker(t)
	w.Conf.TimerResolution = 20
	alarms := make(chan os.Signal, 1)
	signal.Notify(alarms, syscall.SIGALRM)
	w.start()
	var seen Handler = func(*Event) { w.TimerSignal() }
	var collector sync.WaitGroup
	collector.Go(func() {
		for range alarms {
			w.Notify(&seen)
		}
	})
	t.Cleanup(func() {
		w.Kernel.Setitimer(0)
		signal.Stop(alarms)
		close(alarms)
		collector.Wait()
	})

	fired := false
	w.AddTimer(&Event{Log: w.Log, Handler: func(*Event) { fired = true }}, 50)
	w.turnsUntil(func() bool { return fired })
}
