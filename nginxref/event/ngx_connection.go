package event

import (
	"os"
	"syscall"
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
	Requests  int // of a listener: accepts that came to ReorderAcceptEvents

	LogError   ConnectionLogError
	TCPNodelay TCPNodelay

	Timedout  bool
	Error     bool
	Destroyed bool
	Idle      bool // may be closed when the worker is told to quit
	Reusable  bool // may be closed when connections run out
	Close     bool // the handler was called to close it

	log      core.Log // what Log of an accepted connection points to
	addrText [sys.SockaddrStrlen]byte
}

// connectionOfQueue returns the connection that q is the link of.
func connectionOfQueue(q *queue.Queue) *Connection {
	return queue.Data[Connection](q, unsafe.Offsetof(Connection{}.queue))
}

// CloneListening adds a socket for each worker but the first, which has ls.
// Mirrors ngx_clone_listening.
//
//nginx:src/core/ngx_connection.c ngx_clone_listening
//nginx:omit 113 the configuration is in fields
//nginx:omit 120-121, 130 append does not fail
func (cycle *Cycle) CloneListening(ls *Listening) {
	if !ls.Reuseport || ls.Worker != 0 { // 107
		return // 108
	}

	ols := *ls // 111

	for n := 1; n < cycle.Conf.WorkerProcesses; n++ { // 115

		ls := &Listening{}                            // 119
		cycle.Listening = append(cycle.Listening, ls) // 119

		*ls = ols     // 124
		ls.Worker = n // 125
	}
}

// CloseListeningSockets stops accepting for good: it unregisters and closes
// every listener and, in the master, removes the file of a Unix socket,
// unless another generation of the binary still uses it. Mirrors
// ngx_close_listening_sockets.
//
//nginx:src/core/ngx_connection.c ngx_close_listening_sockets
//nginx:omit 1030-1031, 1044, 1055 epoll is the only event method
func (cycle *Cycle) CloseListeningSockets() {
	cycle.AcceptMutexHeld = false // 1034
	cycle.UseAcceptMutex = false  // 1035

	for _, ls := range cycle.Listening { // 1037-1038

		c := ls.Connection // 1040

		if c != nil { // 1042
			if c.Read.Active { // 1043
				cycle.DelEvent(c.Read, ReadEvent, 0) // 1052
			}

			cycle.FreeConnection(c) // 1059

			c.Fd = -1 // 1061
		}

		cycle.Log.Debug(core.LogDebugCore, 0, "close listening %s #%d ", ls.AddrText, ls.Fd) // 1064

		if err := cycle.Kernel.Close(ls.Fd); err != 0 { // 1067
			cycle.Log.Error(core.LogEmerg, err, "close() socket %s failed", ls.AddrText) // 1068
		}

		if ls.Sockaddr.Family() == sys.AF_UNIX &&
			cycle.Process <= ProcessMaster &&
			cycle.NewBinary == 0 &&
			(!ls.Inherited || os.Getppid() != cycle.Parent) { // 1074
			name := ls.Sockaddr.Path() // 1079

			if err := syscall.Unlink(name); err != nil { // 1081
				cycle.Log.Error(core.LogEmerg, core.ErrnoOf(err), "unlink() %s failed", name) // 1082
			}
		}

		ls.Fd = -1 // 1089
	}

	cycle.Listening = cycle.Listening[:0] // 1092
}

// GetConnection takes a connection off the free list for descriptor s, or
// returns nil if there is none. Mirrors ngx_get_connection.
//
//nginx:src/core/ngx_connection.c ngx_get_connection
//nginx:omit 1105-1110, 1128-1129 epoll needs no table by descriptor
//nginx:omit 1150-1151 only other event methods use the index
func (cycle *Cycle) GetConnection(s int, log *core.Log) *Connection {
	cycle.drainConnections() // 1113

	c := cycle.freeConnections // 1115

	if c == nil { // 1117
		log.Error(core.LogAlert, 0, "%d worker_connections are not enough", cycle.ConnectionN) // 1118

		return nil // 1122
	}

	cycle.freeConnections = c.next // 1125
	cycle.FreeConnectionN--        // 1126

	rev := c.Read  // 1132
	wev := c.Write // 1133

	*c = Connection{Cycle: cycle, index: c.index} // 1135

	c.Read = rev  // 1137
	c.Write = wev // 1138
	c.Fd = s      // 1139
	c.Log = log   // 1140

	instance := rev.instance // 1142

	*rev = Event{} // 1144
	*wev = Event{} // 1145

	rev.instance = !instance // 1147
	wev.instance = !instance // 1148

	rev.Data = c // 1153
	wev.Data = c // 1154

	wev.Write = true // 1156

	return c // 1158
}

// FreeConnection puts c at the head of the free list. Mirrors
// ngx_free_connection.
//
//nginx:src/core/ngx_connection.c ngx_free_connection
//nginx:omit 1169-1170 epoll needs no table by descriptor
func (cycle *Cycle) FreeConnection(c *Connection) {
	c.next = cycle.freeConnections // 1165
	cycle.freeConnections = c      // 1166
	cycle.FreeConnectionN++        // 1167
}

// CloseConnection takes c out of every queue and tree, frees it and closes
// its descriptor. Mirrors ngx_close_connection.
//
//nginx:src/core/ngx_connection.c ngx_close_connection
//nginx:omit 1195, 1230-1231 datagrams share a descriptor, streams do not
//nginx:omit 1196, 1200-1205 epoll is the only event method
//nginx:omit 1236 the call returns the errno
func (cycle *Cycle) CloseConnection(c *Connection) {
	if c.Fd == -1 { // 1182
		c.Log.Error(core.LogAlert, 0, "connection already closed") // 1183
		return                                                     // 1184
	}

	if c.Read.TimerSet { // 1187
		cycle.DelTimer(c.Read) // 1188
	}

	if c.Write.TimerSet { // 1191
		cycle.DelTimer(c.Write) // 1192
	}

	cycle.DelConn(c, CloseEvent) // 1197

	if c.Read.Posted { // 1210
		DeletePostedEvent(c.Read) // 1211
	}

	if c.Write.Posted { // 1214
		DeletePostedEvent(c.Write) // 1215
	}

	c.Read.Closed = true  // 1218
	c.Write.Closed = true // 1219

	cycle.ReusableConnection(c, false) // 1221

	logError := c.LogError // 1223

	cycle.FreeConnection(c) // 1225

	fd := c.Fd // 1227
	c.Fd = -1  // 1228

	if err := cycle.Kernel.Close(fd); err != 0 { // 1234

		var level uint

		if err == sys.ECONNRESET || err == sys.ENOTCONN { // 1238

			switch logError { // 1240

			case ErrorInfo: // 1242
				level = core.LogInfo // 1243

			case ErrorErr: // 1246
				level = core.LogErr // 1247

			default: // 1250
				level = core.LogCrit // 1251
			}

		} else {
			level = core.LogCrit // 1255
		}

		c.Log.Error(level, err, "close() socket %d failed", fd) // 1258
	}
}

// ReusableConnection says whether c may be closed when connections run out.
// Mirrors ngx_reusable_connection.
//
//nginx:src/core/ngx_connection.c ngx_reusable_connection
func (cycle *Cycle) ReusableConnection(c *Connection, reusable bool) {
	c.Log.Debug(core.LogDebugCore, 0, "reusable connection: %d", reusable) // 1266

	if c.Reusable { // 1269
		c.queue.Remove()             // 1270
		cycle.ReusableConnectionsN-- // 1271

		cycle.Kernel.AtomicFetchAdd(&cycle.Zone.Waiting.Word, -1) // 1274
	}

	c.Reusable = reusable // 1278

	if reusable { // 1280
		cycle.reusableConnectionsQueue.InsertHead(&c.queue) // 1283
		cycle.ReusableConnectionsN++                        // 1285

		cycle.Kernel.AtomicFetchAdd(&cycle.Zone.Waiting.Word, 1) // 1288
	}
}

// drainConnections closes some of the longest unused reusable connections
// when no more than a sixteenth of the table is free. Mirrors
// ngx_drain_connections.
//
//nginx:src/core/ngx_connection.c ngx_drain_connections
func (cycle *Cycle) drainConnections() {
	if cycle.FreeConnectionN > cycle.ConnectionN/16 || cycle.ReusableConnectionsN == 0 { // 1301
		return // 1304
	}

	if cycle.connectionsReuseTime != cycle.Time.Sec { // 1307
		cycle.connectionsReuseTime = cycle.Time.Sec // 1308

		cycle.Log.Error(core.LogWarn, 0, "%d worker_connections are not enough, "+
			"reusing connections", cycle.ConnectionN) // 1310
	}

	var c *Connection                                  // 1316
	n := max(min(32, cycle.ReusableConnectionsN/8), 1) // 1317

	for range n { // 1319
		if cycle.reusableConnectionsQueue.Empty() { // 1320
			break // 1321
		}

		q := cycle.reusableConnectionsQueue.Last() // 1324
		c = connectionOfQueue(q)                   // 1325

		c.Log.Debug(core.LogDebugCore, 0, "reusing connection") // 1327

		c.Close = true         // 1330
		c.Read.Handler(c.Read) // 1331
	}

	if cycle.FreeConnectionN == 0 && c != nil && c.Reusable { // 1334

		// The first call may only have moved it to a lingering close.
		c.Log.Debug(core.LogDebugCore, 0, "reusing connection again") // 1342

		c.Close = true         // 1345
		c.Read.Handler(c.Read) // 1346
	}
}

// CloseIdleConnections has the handler of every idle connection close it.
// Mirrors ngx_close_idle_connections.
//
//nginx:src/core/ngx_connection.c ngx_close_idle_connections
func (cycle *Cycle) CloseIdleConnections() {
	c := cycle.Connections // 1357

	for i := range c { // 1359
		if c[i].Fd != -1 && c[i].Idle { // 1363
			c[i].Close = true            // 1364
			c[i].Read.Handler(c[i].Read) // 1365
		}
	}
}

// Linux's numbers for TCP_NODELAY.
const (
	ipprotoTCP = 6
	tcpNodelay = 1
)

// SetTCPNodelay has small writes sent at once. Mirrors ngx_tcp_nodelay.
//
//nginx:src/core/ngx_connection.c ngx_tcp_nodelay
//nginx:omit 1454 a constant
func (cycle *Cycle) SetTCPNodelay(c *Connection) core.Status {
	if c.TCPNodelay != TCPNodelayUnset { // 1448
		return core.OK // 1449
	}

	c.Log.Debug(core.LogDebugCore, 0, "tcp_nodelay") // 1452

	if err := cycle.Kernel.SetsockoptInt(c.Fd, ipprotoTCP, tcpNodelay, 1); err != 0 { // 1456
		cycle.ConnectionError(c, err, "setsockopt(TCP_NODELAY) failed") // 1475
		return core.Error                                               // 1477
	}

	c.TCPNodelay = TCPNodelaySet // 1480

	return core.OK // 1482
}

// ConnectionError logs err on c, less severely if it is of the peer's making,
// and returns Error, or OK for an error that was to be ignored. Mirrors
// ngx_connection_error.
//
//nginx:src/core/ngx_connection.c ngx_connection_error
func (cycle *Cycle) ConnectionError(c *Connection, err sys.Errno, text string) core.Status {
	if err == sys.ECONNRESET && c.LogError == ErrorIgnoreEconnreset { // 1493
		return core.OK // 1499
	}

	var level uint

	if err == 0 ||
		err == sys.ECONNRESET ||
		err == sys.EPIPE ||
		err == sys.ENOTCONN ||
		err == sys.ETIMEDOUT ||
		err == sys.ECONNREFUSED ||
		err == sys.ENETDOWN ||
		err == sys.ENETUNREACH ||
		err == sys.EHOSTDOWN ||
		err == sys.EHOSTUNREACH { // 1508

		switch c.LogError { // 1523

		case ErrorIgnoreEconnreset, ErrorInfo: // 1525
			level = core.LogInfo // 1528

		default: // 1531
			level = core.LogErr // 1532
		}

	} else {
		level = core.LogAlert // 1536
	}

	c.Log.Error(level, err, text) // 1539

	return core.Error // 1541
}
