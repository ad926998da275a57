package event

import (
	"os"
	"os/signal"
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
	t.Cleanup(func() {
		w.Kernel.Setitimer(0)
		signal.Stop(alarms)
	})
	var seen Handler = func(*Event) { w.TimerSignalSeen() }
	go func() {
		for range alarms {
			w.TimerSignal()
			w.Notify(&seen)
		}
	}()

	fired := false
	w.AddTimer(&Event{Log: w.Log, Handler: func(*Event) { fired = true }}, 50)
	w.turnsUntil(func() bool { return fired })
}
