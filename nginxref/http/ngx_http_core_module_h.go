// Package http is just enough of nginx's src/http to be real load for the
// event core and to answer a client as nginx 1.22.1 does: keepalive,
// pipelining, limits on the header, request bodies that are read and thrown
// away, return, stub_status, the pages of errors and the access log.
//
// A connection goes through these handlers of its read event:
//
//	InitConnection -> waitRequestHandler -> processRequestLine
//	  -> processRequestHeaders -> (the request is answered)
//	  -> keepaliveHandler -> processRequestLine ...
//	  -> lingeringCloseHandler, or closed
//
// Everything that a connection or a request needs comes from free lists and
// goes back to them, so that a worker at work allocates nothing.
package http

import (
	"herd/nginxref/core"
	"herd/nginxref/event"
)

// Name and Version are what the server calls itself in the Server header and
// on the pages of errors, without and with server_tokens.
const (
	Name    = "nginxref"
	Version = Name + "/1.22.1"
)

// Bufs is a number of buffers and their size in bytes (ngx_bufs_t).
type Bufs struct {
	Num  int
	Size int
}

// Server is a server{} block (ngx_http_core_srv_conf_t).
type Server struct {
	Names []string // "a.example", "*.example", ".example", "www.example.*"; the first is the name in the log

	ClientHeaderTimeout      core.Msec
	ClientHeaderBufferSize   int // bytes
	LargeClientHeaderBuffers Bufs

	// Location holds what is configured for the server itself. It is what
	// serves a request until, or if no, other location matches.
	Location  *Location
	Locations []*Location
}

// NewServer returns a server with nginx's defaults and no locations.
func NewServer(names ...string) *Server {
	return &Server{
		Names:                    names,
		ClientHeaderTimeout:      60000,
		ClientHeaderBufferSize:   1024,
		LargeClientHeaderBuffers: Bufs{4, 8192},
		Location:                 NewLocation(""),
	}
}

// name returns the server's name for the log.
func (cscf *Server) name() string {
	if len(cscf.Names) == 0 {
		return ""
	}
	return cscf.Names[0]
}

// Location is a location{} block, or a server's own settings
// (ngx_http_core_loc_conf_t and those of the modules).
type Location struct {
	Name  string // the prefix, or with Exact the URI
	Exact bool

	Handler func(r *Request) core.Status // of the content, such as StubStatusHandler; nil: files
	Return  *Return

	Root        string            // where nginx would look for files
	DefaultType string            // MIME type
	Types       map[string]string // by extension, lower case

	ClientMaxBodySize int64     // bytes; 0: no limit
	SendTimeout       core.Msec // between two successful sends
	LingeringTime     core.Msec
	LingeringTimeout  core.Msec

	KeepaliveTimeout  core.Msec // 0: no keepalive
	KeepaliveHeader   int       // seconds told to the client; 0: not told
	KeepaliveRequests int
	KeepaliveTime     core.Msec

	TCPNodelay   bool
	ServerTokens bool

	ErrorLog   *core.Log    // nil: the listener's
	AccessLogs []*AccessLog // none: off
}

// NewLocation returns a location with nginx's defaults.
func NewLocation(name string) *Location {
	return &Location{
		Name:              name,
		Root:              "html",
		DefaultType:       "text/plain",
		Types:             map[string]string{"html": "text/html", "gif": "image/gif", "jpg": "image/jpeg"},
		ClientMaxBodySize: 1 << 20,
		SendTimeout:       60000,
		LingeringTime:     30000,
		LingeringTimeout:  5000,
		KeepaliveTimeout:  75000,
		KeepaliveRequests: 1000,
		KeepaliveTime:     3600000,
		TCPNodelay:        true,
		ServerTokens:      true,
	}
}

// Return is a return directive. Text is the answer's body or, with a status
// of 301, 302, 303, 307 or 308, the URL to go to.
type Return struct {
	Status core.Status
	Text   []byte
}

// AccessLog is a file that a line in the "combined" format is written to for
// each request (ngx_http_log_t).
type AccessLog struct {
	File *core.OpenFile

	errorLogTime int64 // second of the last complaint about the file
}

// Main is an http{} block in one process: the phases, and the free lists that
// its connections live on. The loop's thread alone uses it.
type Main struct {
	headersIn   map[string]headerHandler
	phaseEngine []phaseHandler

	freeConnections *connection
	freeRequests    *Request
	freeBufs        []bufList

	discard [discardBufferSize]byte // what is read only to be thrown away
	logLine []byte
	logTime [len("28/Sep/1970:12:00:00 +0600")]byte
	logSec  int64 // the second that logTime is of
}

// Port is what the servers on a listening socket are found by
// (ngx_http_port_t).
type Port struct {
	main  *Main
	addrs []*Addr // if more than one, the last is the wildcard
}

// NewMain returns an http{} block without listeners.
func NewMain() *Main {
	cmcf := &Main{logSec: -1}
	cmcf.initHeadersIn()
	cmcf.initPhaseHandlers()
	return cmcf
}

// AddListening has the connections that come in on ls served by the servers
// of addrs. Several addresses of one port share a socket bound to the
// wildcard, whose address must then be the last. Mirrors
// ngx_http_add_listening.
func (cmcf *Main) AddListening(ls *event.Listening, addrs ...*Addr) {
	ls.AddrNtop = true

	ls.Handler = InitConnection

	if log := addrs[len(addrs)-1].defaultServer.Location.ErrorLog; log != nil {
		ls.Log = *log
	}
	ls.Log.Data = ls
	ls.Log.Handler = event.AcceptLogError

	ls.Servers = &Port{main: cmcf, addrs: addrs}
}
