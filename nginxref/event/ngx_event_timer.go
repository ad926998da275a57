package event

import (
	"unsafe"

	"herd/nginxref/core"
	"herd/nginxref/rbtree"
)

// TimerInfinite is the wait without a limit (NGX_TIMER_INFINITE).
const TimerInfinite = ^core.Msec(0)

// timerLazyDelay is how little, in milliseconds, a timer may move without
// being put into the tree again (NGX_TIMER_LAZY_DELAY).
const timerLazyDelay = 300

// eventOfTimer returns the event that node is the timer of.
func eventOfTimer(node *rbtree.Node) *Event {
	return rbtree.Data[Event](node, unsafe.Offsetof(Event{}.timer))
}

// ident returns the descriptor to name in the log, or -1. Mirrors
// ngx_event_ident.
func (ev *Event) ident() int {
	if ev.Data == nil {
		return -1
	}
	return ev.Data.Fd
}

// TimerInit empties the timer tree. Mirrors ngx_event_timer_init.
func (cycle *Cycle) TimerInit() core.Status {
	cycle.timerRbtree.Init(&cycle.timerSentinel, rbtree.InsertTimerValue)

	return core.OK
}

// FindTimer returns the milliseconds until the first timer expires: 0 if it
// is due, TimerInfinite if there is none. Mirrors ngx_event_find_timer.
func (cycle *Cycle) FindTimer() core.Msec {
	if cycle.timerRbtree.Root == &cycle.timerSentinel {
		return TimerInfinite
	}

	root := cycle.timerRbtree.Root
	sentinel := cycle.timerRbtree.Sentinel

	node := rbtree.Min(root, sentinel)

	timer := core.MsecInt(core.Msec(node.Key) - cycle.Time.CurrentMsec)

	return core.Msec(max(timer, 0))
}

// ExpireTimers calls the handlers of all timers that are due. Mirrors
// ngx_event_expire_timers.
func (cycle *Cycle) ExpireTimers() {
	sentinel := cycle.timerRbtree.Sentinel

	for {
		root := cycle.timerRbtree.Root

		if root == sentinel {
			return
		}

		node := rbtree.Min(root, sentinel)

		if core.MsecInt(core.Msec(node.Key)-cycle.Time.CurrentMsec) > 0 {
			return
		}

		ev := eventOfTimer(node)

		ev.Log.Debug(core.LogDebugEvent, 0, "event timer del: %d: %d", ev.ident(), uint64(ev.timer.Key))

		cycle.timerRbtree.Delete(&ev.timer)

		ev.TimerSet = false

		ev.Timedout = true

		ev.Handler(ev)
	}
}

// NoTimersLeft returns OK if only cancelable timers are left, so that an
// exiting worker may go, and Again otherwise. Mirrors
// ngx_event_no_timers_left.
func (cycle *Cycle) NoTimersLeft() core.Status {
	sentinel := cycle.timerRbtree.Sentinel
	root := cycle.timerRbtree.Root

	if root == sentinel {
		return core.OK
	}

	for node := rbtree.Min(root, sentinel); node != nil; node = cycle.timerRbtree.Next(node) {
		ev := eventOfTimer(node)

		if !ev.Cancelable {
			return core.Again
		}
	}

	return core.OK
}

// DelTimer takes ev's timer out of the tree. Mirrors ngx_event_del_timer.
func (cycle *Cycle) DelTimer(ev *Event) {
	ev.Log.Debug(core.LogDebugEvent, 0, "event timer del: %d: %d", ev.ident(), uint64(ev.timer.Key))

	cycle.timerRbtree.Delete(&ev.timer)

	ev.TimerSet = false
}

// AddTimer calls ev's handler in timer milliseconds, counted from the cached
// time. A timer that is already set and would move by less than 300 ms keeps
// its old time: that spares busy connections most of the tree operations.
// Mirrors ngx_event_add_timer.
func (cycle *Cycle) AddTimer(ev *Event, timer core.Msec) {
	key := cycle.Time.CurrentMsec + timer

	if ev.TimerSet {

		diff := core.MsecInt(key - core.Msec(ev.timer.Key))

		if -timerLazyDelay < diff && diff < timerLazyDelay {
			ev.Log.Debug(core.LogDebugEvent, 0, "event timer: %d, old: %d, new: %d",
				ev.ident(), uint64(ev.timer.Key), key)
			return
		}

		cycle.DelTimer(ev)
	}

	ev.timer.Key = rbtree.Key(key)

	ev.Log.Debug(core.LogDebugEvent, 0, "event timer add: %d: %d:%d",
		ev.ident(), timer, uint64(ev.timer.Key))

	cycle.timerRbtree.Insert(&ev.timer)

	ev.TimerSet = true
}
