package main

import (
	"slices"
	"strings"
)

// turn is one round of a worker's loop: what it did up to the wait, and what
// came of the wait.
type turn struct {
	begin []step // "worker cycle" to "epoll timer"
	body  []step
}

// turns cuts a worker's steps into rounds. init is what it did before the
// first.
func turns(steps []step) (init []step, list []turn) {
	var t *turn
	for _, s := range steps {
		switch {
		case s.text == "worker cycle":
			list = append(list, turn{})
			t = &list[len(list)-1]
			t.begin = append(t.begin, s)
		case t == nil:
			init = append(init, s)
		case t.waits():
			t.body = append(t.body, s)
		default:
			t.begin = append(t.begin, s)
		}
	}
	return init, list
}

// waits reports whether the turn has come to the wait.
func (t *turn) waits() bool {
	return strings.HasPrefix(t.begin[len(t.begin)-1].text, "epoll timer: ")
}

// timedOut reports whether nothing came of the wait.
func (t *turn) timedOut() bool { return len(t.body) == 1 && t.body[0].text == "timer delta: -" }

// state is the beginning of a turn without the registrations, which the first
// turn in a state makes and the others do not.
func (t *turn) state() string {
	b := strings.Builder{}
	for _, s := range t.begin {
		if !strings.HasPrefix(s.text, "epoll add event") && !strings.HasPrefix(s.text, "epoll del event") {
			b.WriteString(s.text + "\n")
		}
	}
	return b.String()
}

// repeats reports whether the turn only goes on in the state of the one
// before it.
func (t *turn) repeats(before *turn) bool {
	for _, s := range t.begin {
		if strings.HasPrefix(s.text, "epoll add event") || strings.HasPrefix(s.text, "epoll del event") {
			return false
		}
	}
	return t.state() == before.state()
}

// settle takes out of a worker's steps what the scheduler decides and not the
// worker: how many of the master's messages about other workers come in one
// turn, how often a wait times out before something happens, and when the timer
// signal comes. The messages become a trace of their own, and one timer signal.
// Of the waits that timed out in a row, one is left.
func settle(t trace) []trace {
	init, rounds := turns(t.steps)
	main := trace{name: t.name, steps: init}
	messages := trace{name: t.name + "'s messages"}
	ticks := trace{name: t.name + "'s timer signals"}

	var open *turn // its body is empty so far
	timedOut := false
	for i := range rounds {
		t := &rounds[i]
		if open == nil || !t.repeats(open) {
			main.steps = append(main.steps, t.begin...)
			open, timedOut = t, false
		}
		messages.steps = append(messages.steps, t.takeMessages()...)
		tick := t.takeTick()
		if tick != nil {
			ticks.steps = []step{*tick}
		}
		if t.idle() || tick != nil && t.timedOut() {
			continue
		}
		if !t.timedOut() {
			main.steps = append(main.steps, t.body...)
			open = nil
		} else if !timedOut {
			main.steps = append(main.steps, t.body...)
			timedOut = true
		}
	}
	list := []trace{main}
	for _, t := range []trace{messages, ticks} {
		if len(t.steps) > 0 {
			list = append(list, t)
		}
	}
	return list
}

// takeTick takes the timer signal out of a turn; nil if it did not come.
func (t *turn) takeTick() *step {
	i := slices.IndexFunc(t.body, func(s step) bool { return s.text == "timer signal" })
	if i == -1 {
		return nil
	}
	tick := t.body[i]
	t.body = slices.Delete(slices.Clone(t.body), i, i+1)
	return &tick
}

// takeMessages takes out of a turn the messages about other workers' channels.
func (t *turn) takeMessages() (list []step) {
	var body []step
	for i := 0; i < len(t.body); i++ {
		s := t.body[i]
		if s.text == "channel: 32" && i+2 < len(t.body) {
			command := t.body[i+1].text
			if command == "channel command: 1" || command == "channel command: 2" {
				list = append(list, t.body[i+1:i+3]...)
				i += 2
				continue
			}
		}
		body = append(body, s)
	}
	t.body = body
	return list
}

// idle reports whether the turn was all about its channel, in which nothing
// else was.
func (t *turn) idle() bool {
	for _, s := range t.body {
		switch s.text {
		case "timer delta: -", "channel handler", "channel: -2", "epoll: fd:channel ev:0001 d:-",
			"post event channel", "posted event channel", "delete posted event channel":
		default:
			return false
		}
	}
	return len(t.body) > 1
}
