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
//
//nginx:src/event/ngx_event.h ngx_event_ident
func (ev *Event) ident() int {
	// DIVERGES: a timer may belong to no connection.
	if ev.Data == nil {
		return -1
	}

	return ev.Data.Fd // 527
}

// TimerInit empties the timer tree. Mirrors ngx_event_timer_init.
//
//nginx:src/event/ngx_event_timer.c ngx_event_timer_init
func (cycle *Cycle) TimerInit() core.Status {
	cycle.timerRbtree.Init(&cycle.timerSentinel, rbtree.InsertTimerValue) // 25

	return core.OK // 28
}

// FindTimer returns the milliseconds until the first timer expires: 0 if it
// is due, TimerInfinite if there is none. Mirrors ngx_event_find_timer.
//
//nginx:src/event/ngx_event_timer.c ngx_event_find_timer
func (cycle *Cycle) FindTimer() core.Msec {
	if cycle.timerRbtree.Root == &cycle.timerSentinel { // 38
		return TimerInfinite // 39
	}

	root := cycle.timerRbtree.Root         // 42
	sentinel := cycle.timerRbtree.Sentinel // 43

	node := rbtree.Min(root, sentinel) // 45

	timer := core.MsecInt(core.Msec(node.Key) - cycle.Time.CurrentMsec) // 47

	return core.Msec(max(timer, 0)) // 49
}

// ExpireTimers calls the handlers of all timers that are due. Mirrors
// ngx_event_expire_timers.
//
//nginx:src/event/ngx_event_timer.c ngx_event_expire_timers
//nginx:omit 85-87 Delete clears the links
func (cycle *Cycle) ExpireTimers() {
	sentinel := cycle.timerRbtree.Sentinel // 59

	for { // 61
		root := cycle.timerRbtree.Root // 62

		if root == sentinel { // 64
			return // 65
		}

		node := rbtree.Min(root, sentinel) // 68

		if core.MsecInt(core.Msec(node.Key)-cycle.Time.CurrentMsec) > 0 { // 72
			return // 73
		}

		ev := eventOfTimer(node) // 76

		ev.Log.Debug(core.LogDebugEvent, 0, "event timer del: %d: %d", ev.ident(), uint64(ev.timer.Key)) // 78

		cycle.timerRbtree.Delete(&ev.timer) // 82

		ev.TimerSet = false // 90

		ev.Timedout = true // 92

		ev.Handler(ev) // 94
	}
}

// NoTimersLeft returns OK if only cancelable timers are left, so that an
// exiting worker may go, and Again otherwise. Mirrors
// ngx_event_no_timers_left.
//
//nginx:src/event/ngx_event_timer.c ngx_event_no_timers_left
func (cycle *Cycle) NoTimersLeft() core.Status {
	sentinel := cycle.timerRbtree.Sentinel // 105
	root := cycle.timerRbtree.Root         // 106

	if root == sentinel { // 108
		return core.OK // 109
	}

	for node := rbtree.Min(root, sentinel); node != nil; node = cycle.timerRbtree.Next(node) { // 112
		ev := eventOfTimer(node) // 116

		if !ev.Cancelable { // 118
			return core.Again // 119
		}
	}

	return core.OK // 125
}

// DelTimer takes ev's timer out of the tree. Mirrors ngx_event_del_timer.
//
//nginx:src/event/ngx_event_timer.h ngx_event_del_timer
//nginx:omit 41-43 Delete clears the links
func (cycle *Cycle) DelTimer(ev *Event) {
	ev.Log.Debug(core.LogDebugEvent, 0, "event timer del: %d: %d", ev.ident(), uint64(ev.timer.Key)) // 34

	cycle.timerRbtree.Delete(&ev.timer) // 38

	ev.TimerSet = false // 46
}

// AddTimer calls ev's handler in timer milliseconds, counted from the cached
// time. A timer that is already set and would move by less than 300 ms keeps
// its old time: that spares busy connections most of the tree operations.
// Mirrors ngx_event_add_timer.
//
//nginx:src/event/ngx_event_timer.h ngx_event_add_timer
func (cycle *Cycle) AddTimer(ev *Event, timer core.Msec) {
	key := cycle.Time.CurrentMsec + timer // 56

	if ev.TimerSet { // 58

		diff := core.MsecInt(key - core.Msec(ev.timer.Key)) // 66

		if -timerLazyDelay < diff && diff < timerLazyDelay { // 68
			ev.Log.Debug(core.LogDebugEvent, 0, "event timer: %d, old: %d, new: %d",
				ev.ident(), uint64(ev.timer.Key), key) // 69
			return // 72
		}

		cycle.DelTimer(ev) // 75
	}

	ev.timer.Key = rbtree.Key(key) // 78

	ev.Log.Debug(core.LogDebugEvent, 0, "event timer add: %d: %d:%d",
		ev.ident(), timer, uint64(ev.timer.Key)) // 80

	cycle.timerRbtree.Insert(&ev.timer) // 84

	ev.TimerSet = true // 86
}
