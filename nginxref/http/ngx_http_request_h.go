package http

import (
	"unsafe"

	"herd/nginxref/core"
	"herd/nginxref/event"
)

// Sizes in bytes.
const (
	lcHeaderLen         = 32 // of a header name kept in lower case
	discardBufferSize   = 4096
	lingeringBufferSize = discardBufferSize
)

// Versions of HTTP, major * 1000 + minor.
const (
	httpVersion9  = 9
	httpVersion10 = 1000
	httpVersion11 = 1001
)

// Request methods, as bits. nginx knows some more, which it treats, where no
// module asks for them, as it does unknown ones.
const (
	methodUnknown = 1 << iota
	methodGet
	methodHead
	methodPost
	methodTrace
	methodConnect
)

// Values of headersIn.connectionType; 0 is no Connection header.
const (
	connectionClose = iota + 1
	connectionKeepAlive
)

// done is the status of work that somebody else goes on with (NGX_DONE).
const done core.Status = -4

// Results of the parsers, beside core.OK and core.Again.
const (
	parseHeaderDone core.Status = 1

	parseInvalidMethod   core.Status = 10
	parseInvalidRequest  core.Status = 11
	parseInvalidVersion  core.Status = 12
	parseInvalid09Method core.Status = 13
	parseInvalidHeader   core.Status = 14
)

// HTTP status codes, nginx's own among them.
const (
	httpOK                  core.Status = 200
	httpCreated             core.Status = 201
	httpNoContent           core.Status = 204
	httpSpecialResponse     core.Status = 300
	httpMovedPermanently    core.Status = 301
	httpMovedTemporarily    core.Status = 302
	httpSeeOther            core.Status = 303
	httpNotModified         core.Status = 304
	httpTemporaryRedirect   core.Status = 307
	httpPermanentRedirect   core.Status = 308
	httpBadRequest          core.Status = 400
	httpNotFound            core.Status = 404
	httpNotAllowed          core.Status = 405
	httpRequestTimeOut      core.Status = 408
	httpPreconditionFailed  core.Status = 412
	httpEntityTooLarge      core.Status = 413
	httpURITooLarge         core.Status = 414
	httpClose               core.Status = 444 // close without an answer
	httpHeaderTooLarge      core.Status = 494 // 400 to the client
	httpCertError           core.Status = 495 // and so are these three
	httpNoCert              core.Status = 496
	httpToHTTPS             core.Status = 497
	httpClientClosedRequest core.Status = 499
	httpInternalServerError core.Status = 500
	httpNotImplemented      core.Status = 501
	httpVersionNotSupported core.Status = 505
)

// tableElt is a header line; a nil Key says that there is none
// (ngx_table_elt_t). Both point into the buffer that was read into.
type tableElt struct {
	Key, Value []byte
}

// The header lines that somebody looks at, as indexes into headersIn.known.
const (
	headerHost = iota
	headerConnection
	headerIfModifiedSince
	headerIfUnmodifiedSince
	headerIfMatch
	headerIfNoneMatch
	headerUserAgent
	headerReferer
	headerContentLength
	headerContentRange
	headerIfRange
	headerTransferEncoding
	headerExpect
	headerAuthorization
	headerCount
)

// headersIn is what the header said (ngx_http_headers_in_t).
type headersIn struct {
	known [headerCount]tableElt

	server         []byte // the host, lower case, without its port
	contentLengthN int64  // -1: unknown
	connectionType int
	chunked        bool
	msie           bool // browsers with quirks
	msie6          bool
	opera          bool
	chrome         bool
}

// headersOut is what the answer's header will say (ngx_http_headers_out_t).
type headersOut struct {
	status         core.Status
	contentType    string
	location       []byte // nil: none
	contentLengthN int64  // -1: unknown
}

// parser is how far the request has been parsed. The positions are offsets
// into Request.headerIn; 0 is "not seen yet", except for the two that may well
// be 0, for which that is -1.
type parser struct {
	state int

	requestStart int // may be 0
	requestEnd   int
	methodEnd    int // the last byte, as in C
	schemaEnd    int
	hostStart    int
	hostEnd      int
	uriStart     int
	uriEnd       int
	uriExt       int
	argsStart    int

	complexURI     bool // with "/.", "//" or "#"
	quotedURI      bool // with "%"
	emptyPathInURI bool // "http://host?args"

	httpMajor int
	httpMinor int

	headerNameStart int // may be 0
	headerNameEnd   int
	headerStart     int
	headerEnd       int
	invalidHeader   bool
	lowcaseIndex    int
	lowcaseHeader   [lcHeaderLen]byte
}

// Request is a request and its answer (ngx_http_request_t).
//
// count is the number of those at work on it: the answer, and the reader of a
// body that is being thrown away.
type Request struct {
	connection     *event.Connection
	httpConnection *connection
	srvConf        *Server
	locConf        *Location

	readEventHandler  func(r *Request)
	writeEventHandler func(r *Request)

	parser
	headerIn   *buf
	headersIn  headersIn
	headersOut headersOut

	method      int
	httpVersion int
	requestLine []byte
	uri         []byte
	args        []byte
	exten       []byte

	count         int
	phaseHandler  int
	errStatus     core.Status
	chunked       *chunked // of the body, once its parsing has begun
	lingeringTime int64    // second at which to stop

	out        [][]byte // what is to be sent, in outPieces
	outPieces  [maxOut][]byte
	headerSize int

	posted         bool // writeEventHandler is to be called
	closed         bool
	logged         bool
	statReading    bool
	statWriting    bool
	keepalive      bool
	lingeringClose bool
	discardBody    bool
	pipeline       bool
	headerOnly     bool
	headerSent     bool
	filterFinalize bool
	expectTested   bool
	outLast        bool // out holds the end of the answer
	buffered       bool // and some of it could not be sent yet

	recycled
	next *Request // on the free list
}

// recycled is memory that a request leaves to the next one on its place.
type recycled struct {
	uriBuf    []byte  // uri, if it is not just a part of the request line
	hostBuf   []byte  // headersIn.server, if it had to be put in lower case
	extenBuf  []byte  // exten, ditto
	headerOut []byte  // the answer's header
	body      []byte  // and its body, if that was made for it
	chunks    chunked // what chunked points to
}

// connection is what HTTP keeps of a connection between requests, too
// (ngx_http_connection_t).
type connection struct {
	main     *Main
	c        *event.Connection
	addrConf *Addr
	request  *Request // for the log; nil between requests

	buffer *buf // nil while idle: no memory is held then

	busy  *buf // large header buffers of this request
	nbusy int
	free  *buf // and those that were an earlier one's

	next *connection // on the free list
}

// buf is memory that is read into (ngx_buf_t): data up to pos has been used,
// from there up to last it has been read.
type buf struct {
	data []byte
	pos  int
	last int

	next *buf // in one of the lists above
}

// reset empties b.
func (b *buf) reset() {
	b.pos = 0
	b.last = 0
}

// unread returns what was read and not yet used.
func (b *buf) unread() []byte { return b.data[b.pos:b.last] }

// ptr returns where the memory of b is, nil if there is no b, for the log.
func (b *buf) ptr() unsafe.Pointer {
	if b == nil {
		return nil
	}
	return unsafe.Pointer(unsafe.SliceData(b.data))
}

// bufList is the free buffers of one size.
type bufList struct {
	size  int
	first *buf
}

// bufsOf returns the list of the free buffers of size bytes.
func (cmcf *Main) bufsOf(size int) *bufList {
	for i := range cmcf.freeBufs {
		if cmcf.freeBufs[i].size == size {
			return &cmcf.freeBufs[i]
		}
	}
	cmcf.freeBufs = append(cmcf.freeBufs, bufList{size: size})
	return &cmcf.freeBufs[len(cmcf.freeBufs)-1]
}

// getBuf returns an empty buffer of size bytes (ngx_create_temp_buf).
func (cmcf *Main) getBuf(size int) *buf {
	list := cmcf.bufsOf(size)
	b := list.first
	if b == nil {
		return &buf{data: make([]byte, size)}
	}
	list.first = b.next
	b.next = nil
	b.reset()
	return b
}

// putBuf gives b back.
func (cmcf *Main) putBuf(b *buf) {
	list := cmcf.bufsOf(len(b.data))
	b.next = list.first
	list.first = b
}

// putBufs gives a list of buffers back.
func (cmcf *Main) putBufs(b *buf) {
	for b != nil {
		next := b.next
		cmcf.putBuf(b)
		b = next
	}
}

// getConnection returns a connection's place in HTTP.
func (cmcf *Main) getConnection(c *event.Connection) *connection {
	hc := cmcf.freeConnections
	if hc == nil {
		hc = &connection{}
	} else {
		cmcf.freeConnections = hc.next
	}
	*hc = connection{main: cmcf, c: c}
	return hc
}

// putConnection gives hc and all that it holds back.
func (cmcf *Main) putConnection(hc *connection) {
	hc.freeBuffer()
	hc.freeLargeBuffers()
	hc.c = nil
	hc.next = cmcf.freeConnections
	cmcf.freeConnections = hc
}

// freeBuffer gives the buffer of a connection that has gone idle back.
func (hc *connection) freeBuffer() {
	if hc.buffer != nil {
		hc.main.putBuf(hc.buffer)
		hc.buffer = nil
	}
}

// freeLargeBuffers gives the large header buffers back.
func (hc *connection) freeLargeBuffers() {
	hc.main.putBufs(hc.free)
	hc.free = nil
	hc.main.putBufs(hc.busy)
	hc.busy = nil
	hc.nbusy = 0
}
