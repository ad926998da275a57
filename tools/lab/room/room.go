// Package room is what the mutex of a lab guards: processes of the
// deterministic kernel go in and out, and it sees to it that two are never in.
package room

import (
	"fmt"

	"herd/nginxref/sys/fake"
)

// Room is a room in a world, and those who want to be in it.
type Room struct {
	World  *fake.World
	Master *fake.Process   // the parent of the people; runs no code of its own
	People []*fake.Process // in the order they came

	files  []fake.File
	inside map[*fake.Process]bool
}

// New returns an empty room. That at most one is inside is a rule of w from
// now on. The master and its children have files open.
func New(w *fake.World, files ...fake.File) *Room {
	r := &Room{World: w, Master: w.Process("master", files...), files: files, inside: map[*fake.Process]bool{}}
	w.Always("at most one is inside", r.crowd)
	return r
}

// crowd returns who is inside if it is more than one, or "". The dead do not
// count.
func (r *Room) crowd() string {
	var who []string
	for _, p := range r.People {
		if r.inside[p] && !p.Dead() {
			who = append(who, p.Name)
		}
	}
	if len(who) < 2 {
		return ""
	}
	return fmt.Sprintf("%v are", who)
}

// Fork has the master fork a process that runs code.
func (r *Room) Fork(code func(p *fake.Process)) *fake.Process {
	var fds []int
	for _, f := range r.files {
		fds = append(fds, r.Master.Fd(f))
	}
	return r.add(r.Master.Fork(r.name(), code, fds...))
}

// Idle returns a process that does what the scenario has it do.
func (r *Room) Idle() *fake.Process { return r.add(r.World.Process(r.name(), r.files...)) }

func (r *Room) name() string { return fmt.Sprintf("process %d", len(r.People)+1) }

func (r *Room) add(p *fake.Process) *fake.Process {
	r.People = append(r.People, p)
	return p
}

// Visit has p do something inside, and leave. It has to have the lock.
func (r *Room) Visit(p *fake.Process, something func()) {
	r.inside[p] = true
	p.Note("is inside")
	something()
	r.inside[p] = false
}

// Done expects each of the people to have come to its end.
func (r *Room) Done(people ...*fake.Process) {
	for _, p := range people {
		r.World.Expect("nobody sleeps for ever: "+p.Name+" is done", p.Dead(), true)
	}
}
