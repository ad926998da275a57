package event

import (
	"os"
	"unsafe"

	"herd/nginxref/core"
	"herd/nginxref/queue"
	"herd/nginxref/sys"
)

// Listening is a listening socket and what was configured for it
// (ngx_listening_t).
type Listening struct {
	Fd       int // -1 before it is opened and once it is closed
	Sockaddr sys.Sockaddr
	AddrText string // "127.0.0.1:80" or "unix:/path"
	Type     int    // SOCK_STREAM

	// Socket options; -1 or, for the four of keepalive, 0 leaves the
	// kernel's value.
	Backlog   int
	Rcvbuf    int // bytes
	Sndbuf    int // bytes
	Keepalive int // SO_KEEPALIVE: 1 is on, 2 is off
	Keepidle  int // seconds
	Keepintvl int // seconds
	Keepcnt   int // probes
	Fastopen  int // queue length

	// Handler starts the protocol on an accepted connection.
	Handler func(c *Connection)
	Servers any // what Handler needs to know

	Log  core.Log  // copied to each accepted connection
	LogP *core.Log // where Log comes from: it may be configured later

	Connection *Connection // this worker's place for it; nil if another's

	Worker         int  // of the clones of a reuseport socket, whose it is
	Inherited      bool // came from the binary before an upgrade
	Ipv6only       bool
	Reuseport      bool
	DeferredAccept bool
	AddrNtop       bool // have the peer's address printed for the log

	// What is to be done with it when the configuration changes.
	Open           bool // it is new: close it if the configuration fails
	Remain         bool // of the old configuration: the new one has it too
	Ignore         bool // inherited, and of no use
	Listen         bool // call listen, again if the backlog has changed
	AddReuseport   bool
	AddDeferred    bool
	DeleteDeferred bool
}

// ConnectionLogError says how severe an error of the peer's making is
// (ngx_connection_log_error_e).
type ConnectionLogError int

// The values of Connection.LogError, in nginx's order.
const (
	ErrorAlert ConnectionLogError = iota
	ErrorErr
	ErrorInfo
	ErrorIgnoreEconnreset
)

// TCPNodelay is the state of TCP_NODELAY on a connection.
type TCPNodelay int

// The values of Connection.TCPNodelay.
const (
	TCPNodelayUnset TCPNodelay = iota
	TCPNodelaySet
	TCPNodelayDisabled
)

// Connection is a descriptor with its two events: a client, a listener or the
// channel (ngx_connection_t). All of them are made at start; taking one is
// taking the head of a list.
type Connection struct {
	Cycle *Cycle // the one it belongs to; nginx has a global
	Data  any    // the protocol's state; store a pointer, which does not allocate
	Read  *Event
	Write *Event
	index int         // its place in Cycle.Connections
	next  *Connection // on the free list (C links them through data)

	Fd int // -1 while free

	Listening *Listening
	Sent      int64 // bytes
	Log       *core.Log

	Sockaddr sys.Sockaddr // the peer's
	AddrText []byte       // the peer's, printed; into addrText

	queue queue.Queue // of reusable connections

	Number    uint64 // "*N" in the log
	StartTime core.Msec
	Requests  int // of a listener: accepts since it was registered

	LogError   ConnectionLogError
	TCPNodelay TCPNodelay

	Timedout  bool
	Error     bool
	Destroyed bool
	Idle      bool // may be closed when the worker is told to quit
	Reusable  bool // may be closed when connections run out
	Close     bool // the handler was called to close it

	log      core.Log // what Log of an accepted connection points to
	addrText [108]byte
}

// connectionOfQueue returns the connection that q is the link of.
func connectionOfQueue(q *queue.Queue) *Connection {
	return queue.Data[Connection](q, unsafe.Offsetof(Connection{}.queue))
}

// CloseListeningSockets stops accepting for good: it unregisters and closes
// every listener and, in the master, removes the file of a Unix socket,
// unless another generation of the binary still uses it. Mirrors
// ngx_close_listening_sockets.
func (cycle *Cycle) CloseListeningSockets() {
	cycle.AcceptMutexHeld = false
	cycle.UseAcceptMutex = false

	for _, ls := range cycle.Listening {

		c := ls.Connection

		if c != nil {
			if c.Read.Active {
				cycle.DelEvent(c.Read, ReadEvent, 0)
			}

			cycle.FreeConnection(c)

			c.Fd = -1
		}

		cycle.Log.Debug(core.LogDebugCore, 0, "close listening %s #%d ", ls.AddrText, ls.Fd)

		if err := cycle.Kernel.Close(ls.Fd); err != 0 {
			cycle.Log.Error(core.LogEmerg, err, "close() socket %s failed", ls.AddrText)
		}

		if ls.Sockaddr.Family() == sys.AF_UNIX &&
			cycle.Process <= ProcessMaster &&
			cycle.NewBinary == 0 &&
			(!ls.Inherited || os.Getppid() != cycle.Parent) {
			name := ls.Sockaddr.Path()

			if err := os.Remove(name); err != nil {
				cycle.Log.Error(core.LogEmerg, core.ErrnoOf(err), "unlink() %s failed", name)
			}
		}

		ls.Fd = -1
	}

	cycle.Listening = cycle.Listening[:0]
}

// GetConnection takes a connection off the free list for descriptor s, or
// returns nil if there is none. Mirrors ngx_get_connection.
func (cycle *Cycle) GetConnection(s int, log *core.Log) *Connection {
	cycle.drainConnections()

	c := cycle.freeConnections

	if c == nil {
		log.Error(core.LogAlert, 0, "%d worker_connections are not enough", cycle.ConnectionN)

		return nil
	}

	cycle.freeConnections = c.next
	cycle.FreeConnectionN--

	rev := c.Read
	wev := c.Write

	*c = Connection{Cycle: cycle, index: c.index}

	c.Read = rev
	c.Write = wev
	c.Fd = s
	c.Log = log

	instance := rev.instance

	*rev = Event{}
	*wev = Event{}

	rev.instance = !instance
	wev.instance = !instance

	rev.Data = c
	wev.Data = c

	wev.Write = true

	return c
}

// FreeConnection puts c at the head of the free list. Mirrors
// ngx_free_connection.
func (cycle *Cycle) FreeConnection(c *Connection) {
	c.next = cycle.freeConnections
	cycle.freeConnections = c
	cycle.FreeConnectionN++
}

// CloseConnection takes c out of every queue and tree, frees it and closes
// its descriptor. Mirrors ngx_close_connection.
func (cycle *Cycle) CloseConnection(c *Connection) {
	if c.Fd == -1 {
		c.Log.Error(core.LogAlert, 0, "connection already closed")
		return
	}

	if c.Read.TimerSet {
		cycle.DelTimer(c.Read)
	}

	if c.Write.TimerSet {
		cycle.DelTimer(c.Write)
	}

	cycle.DelConn(c, CloseEvent)

	if c.Read.Posted {
		DeletePostedEvent(c.Read)
	}

	if c.Write.Posted {
		DeletePostedEvent(c.Write)
	}

	c.Read.Closed = true
	c.Write.Closed = true

	cycle.ReusableConnection(c, false)

	logError := c.LogError

	cycle.FreeConnection(c)

	fd := c.Fd
	c.Fd = -1

	if err := cycle.Kernel.Close(fd); err != 0 {

		level := uint(core.LogCrit)

		if err == sys.ECONNRESET || err == sys.ENOTCONN {

			switch logError {

			case ErrorInfo:
				level = core.LogInfo

			case ErrorErr:
				level = core.LogErr
			}
		}

		c.Log.Error(level, err, "close() socket %d failed", fd)
	}
}

// ReusableConnection says whether c may be closed when connections run out.
// Mirrors ngx_reusable_connection.
func (cycle *Cycle) ReusableConnection(c *Connection, reusable bool) {
	c.Log.Debug(core.LogDebugCore, 0, "reusable connection: %d", reusable)

	if c.Reusable {
		c.queue.Remove()
		cycle.ReusableConnectionsN--

		cycle.Kernel.AtomicFetchAdd(&cycle.Zone.Waiting.Word, -1)
	}

	c.Reusable = reusable

	if reusable {
		cycle.reusableConnectionsQueue.InsertHead(&c.queue)
		cycle.ReusableConnectionsN++

		cycle.Kernel.AtomicFetchAdd(&cycle.Zone.Waiting.Word, 1)
	}
}

// drainConnections closes some of the longest unused reusable connections
// when less than a sixteenth of the table is free. Mirrors
// ngx_drain_connections.
func (cycle *Cycle) drainConnections() {
	if cycle.FreeConnectionN > cycle.ConnectionN/16 || cycle.ReusableConnectionsN == 0 {
		return
	}

	if cycle.connectionsReuseTime != cycle.Time.Sec {
		cycle.connectionsReuseTime = cycle.Time.Sec

		cycle.Log.Error(core.LogWarn, 0, "%d worker_connections are not enough, "+
			"reusing connections", cycle.ConnectionN)
	}

	var c *Connection
	n := max(min(32, cycle.ReusableConnectionsN/8), 1)

	for range n {
		if cycle.reusableConnectionsQueue.Empty() {
			break
		}

		q := cycle.reusableConnectionsQueue.Last()
		c = connectionOfQueue(q)

		c.Log.Debug(core.LogDebugCore, 0, "reusing connection")

		c.Close = true
		c.Read.Handler(c.Read)
	}

	if cycle.FreeConnectionN == 0 && c != nil && c.Reusable {

		// The first call may only have moved it to a lingering close.
		c.Log.Debug(core.LogDebugCore, 0, "reusing connection again")

		c.Close = true
		c.Read.Handler(c.Read)
	}
}

// CloseIdleConnections has the handler of every idle connection close it.
// Mirrors ngx_close_idle_connections.
func (cycle *Cycle) CloseIdleConnections() {
	c := cycle.Connections

	for i := range c {
		if c[i].Fd != -1 && c[i].Idle {
			c[i].Close = true
			c[i].Read.Handler(c[i].Read)
		}
	}
}

// Linux's numbers for TCP_NODELAY.
const (
	ipprotoTCP = 6
	tcpNodelay = 1
)

// SetTCPNodelay has small writes sent at once. Mirrors ngx_tcp_nodelay.
func (cycle *Cycle) SetTCPNodelay(c *Connection) core.Status {
	if c.TCPNodelay != TCPNodelayUnset {
		return core.OK
	}

	c.Log.Debug(core.LogDebugCore, 0, "tcp_nodelay")

	if err := cycle.Kernel.SetsockoptInt(c.Fd, ipprotoTCP, tcpNodelay, 1); err != 0 {
		cycle.ConnectionError(c, err, "setsockopt(TCP_NODELAY) failed")
		return core.Error
	}

	c.TCPNodelay = TCPNodelaySet

	return core.OK
}

// ConnectionError logs err on c, less severely if it is of the peer's making,
// and returns Error, or OK for an error that was to be ignored. Mirrors
// ngx_connection_error.
func (cycle *Cycle) ConnectionError(c *Connection, err sys.Errno, text string) core.Status {
	if err == sys.ECONNRESET && c.LogError == ErrorIgnoreEconnreset {
		return core.OK
	}

	level := uint(core.LogAlert)

	switch err {
	case 0, sys.ECONNRESET, sys.EPIPE, sys.ENOTCONN, sys.ETIMEDOUT, sys.ECONNREFUSED,
		sys.ENETDOWN, sys.ENETUNREACH, sys.EHOSTDOWN, sys.EHOSTUNREACH:

		switch c.LogError {

		case ErrorIgnoreEconnreset, ErrorInfo:
			level = core.LogInfo

		default:
			level = core.LogErr
		}
	}

	c.Log.Error(level, err, text)

	return core.Error
}
