package lab10

// Host is what a master asks of the system while it reloads or is upgraded: a
// small part of it, so that the lab is about the order of things.
type Host interface {
	// Configure reads the configuration anew and opens its sockets. It
	// reports whether the configuration is good.
	Configure() bool
	// Spawn starts a worker of the configuration at work and returns its
	// process id, or 0 if it could not.
	Spawn() (pid int)
	// Quit tells a worker to finish what it serves and leave.
	Quit(pid int)
	// Sleep lets msec milliseconds pass; workers start meanwhile.
	Sleep(msec int)
	// Ready reports whether a worker accepts connections; ended, whether it
	// has ended instead. (Part B; nginx has no such thing.)
	Ready(pid int) (ready, ended bool)
	// Exec starts the program's file anew, with the listening sockets, and
	// returns its process id, or 0 if it could not.
	Exec() (pid int)
	// Rename renames a pid file. The new program writes its own.
	Rename(from, to string)
	// ParentIsMaster reports whether this master was started by another one
	// that still lives: whether it is the new binary of an upgrade under way.
	ParentIsMaster() bool
}

// The pid files.
const (
	Pidfile = "nginx.pid"
	Oldbin  = "nginx.pid.oldbin"
)

// AllowToStart is how long nginx gives new workers before it tells the old
// ones to leave, in milliseconds.
const AllowToStart = 100

// Master is the state of a master.
type Master struct {
	Host      Host
	Workers   []int // process ids of those that are meant to serve
	N         int   // workers that the configuration asks for
	NewBinary int   // process id of the program that was started by USR2, or 0
	// Noaccepting: WINCH has sent the workers away, and the master waits for
	// what becomes of the new binary.
	Noaccepting bool
}
