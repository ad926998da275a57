package http

import "herd/nginxref/core"

const (
	cr = '\r'
	lf = '\n'
)

// States of the request line, in nginx's order. Each parser below takes those
// of one group.
const (
	swStart = iota // parseMethod
	swMethod
	swSpacesBeforeURI

	swSchema // parseHost
	swSchemaSlash
	swSchemaSlashSlash
	swHostStart
	swHost
	swHostEnd
	swHostIPLiteral
	swPort

	swAfterSlashInURI // parseURI
	swCheckURI
	swURI

	swHTTP09 // parseVersion
	swHTTPH
	swHTTPHT
	swHTTPHTT
	swHTTPHTTP
	swFirstMajorDigit
	swMajorDigit
	swFirstMinorDigit
	swMinorDigit
	swSpacesAfterDigit
	swAlmostDone
)

// usual are the bytes that need no look in a URI, a bit each.
var usual = [8]uint32{
	0x00000000,
	0x7fff37d6, // not space # % + . / ?
	0xffffffff,
	0x7fffffff, // not DEL
	0xffffffff,
	0xffffffff,
	0xffffffff,
	0xffffffff,
}

func isUsual(ch byte) bool   { return usual[ch>>5]&(1<<(ch&0x1f)) != 0 }
func isControl(ch byte) bool { return ch < 0x20 || ch == 0x7f }
func isDigit(ch byte) bool   { return '0' <= ch && ch <= '9' }
func isLetter(ch byte) bool  { return 'a' <= ch|0x20 && ch|0x20 <= 'z' }
func isMethod(ch byte) bool  { return 'A' <= ch && ch <= 'Z' || ch == '_' || ch == '-' }

// parseRequestLine goes on parsing the request line in b, as far as it is
// there: OK with the line feed, Again without it, or what is wrong with it.
// Mirrors ngx_http_parse_request_line.
//
// DIVERGES: the state machine is cut into four, each looping on its own.
func (r *Request) parseRequestLine(b *buf) core.Status {
	data := b.data[:b.last]
	p := b.pos
	rc := core.Again

	for p < len(data) && rc == core.Again {
		switch {
		case r.state <= swSpacesBeforeURI:
			p, rc = r.parseMethod(data, p)
		case r.state <= swPort:
			p, rc = r.parseHost(data, p)
		case r.state <= swURI:
			p, rc = r.parseURI(data, p)
		default:
			p, rc = r.parseVersion(data, p)
		}
	}

	if rc != core.OK && rc != core.Again {
		return rc
	}

	b.pos = p

	if rc == core.OK && r.httpVersion == httpVersion9 && r.method != methodGet {
		return parseInvalid09Method
	}
	return rc
}

// parseMethod parses up to the first byte of the URI.
func (r *Request) parseMethod(b []byte, p int) (int, core.Status) {
	for ; p < len(b); p++ {
		ch := b[p]

		switch r.state {

		case swStart:
			r.requestStart = p
			if ch == cr || ch == lf {
				break
			}
			if !isMethod(ch) {
				return p, parseInvalidMethod
			}
			r.state = swMethod

		case swMethod:
			if ch == ' ' {
				r.methodEnd = p - 1
				r.method = methodOf(b[r.requestStart:p])
				r.state = swSpacesBeforeURI
				break
			}
			if !isMethod(ch) {
				return p, parseInvalidMethod
			}

		case swSpacesBeforeURI:
			if ch == '/' {
				r.uriStart = p
				r.state = swAfterSlashInURI
				return p + 1, core.Again
			}
			if isLetter(ch) {
				r.state = swSchema
				return p + 1, core.Again
			}
			if ch != ' ' {
				return p, parseInvalidRequest
			}
		}
	}
	return p, core.Again
}

// methodOf returns the bit of a method.
func methodOf(name []byte) int {
	switch string(name) {
	case "GET":
		return methodGet
	case "HEAD":
		return methodHead
	case "POST":
		return methodPost
	case "TRACE":
		return methodTrace
	case "CONNECT":
		return methodConnect
	}
	return methodUnknown
}

// parseHost parses the beginning of an absolute URI: schema, host and port.
func (r *Request) parseHost(b []byte, p int) (int, core.Status) {
	for ; p < len(b) && r.state <= swPort; p++ {
		if !r.parseHostByte(b[p], p) {
			return p, parseInvalidRequest
		}
	}
	return p, core.Again
}

// parseHostByte reports whether ch, the byte at p, may be there.
func (r *Request) parseHostByte(ch byte, p int) bool {
	switch r.state {

	case swSchema:
		if isLetter(ch) || isDigit(ch) || ch == '+' || ch == '-' || ch == '.' {
			return true
		}
		r.schemaEnd = p
		r.state = swSchemaSlash
		return ch == ':'

	case swSchemaSlash, swSchemaSlashSlash:
		r.state++
		return ch == '/'

	case swHostStart:
		r.hostStart = p
		if ch == '[' {
			r.state = swHostIPLiteral
			return true
		}
		r.state = swHost
		fallthrough

	case swHost:
		if isLetter(ch) || isDigit(ch) || ch == '.' || ch == '-' {
			return true
		}
		fallthrough

	case swHostEnd:
		r.hostEnd = p
		if ch == ':' {
			r.state = swPort
			return true
		}
		return r.parseAfterHost(ch, p)

	case swHostIPLiteral:
		if ch == ']' {
			r.state = swHostEnd
		}
		return isInLiteral(ch)

	default: // swPort
		return isDigit(ch) || r.parseAfterHost(ch, p)
	}
}

// isInLiteral reports whether ch may stand in the brackets of an address, or
// close them.
func isInLiteral(ch byte) bool {
	switch ch {
	case ':', ']', '-', '.', '_', '~', '!', '$', '&', '\'', '(', ')', '*', '+', ',', ';', '=':
		return true
	}
	return isLetter(ch) || isDigit(ch)
}

// parseAfterHost deals with the byte that ends host and port. Without a path
// the URI is taken to be a "/" of the "//" before the host: an offset that
// stays right when the line is moved to a larger buffer.
func (r *Request) parseAfterHost(ch byte, p int) bool {
	switch ch {
	case '/':
		r.uriStart = p
		r.state = swAfterSlashInURI
	case '?':
		r.uriStart = p
		r.argsStart = p + 1
		r.emptyPathInURI = true
		r.state = swURI
	case ' ':
		r.uriStart = r.schemaEnd + 1
		r.uriEnd = r.schemaEnd + 2
		r.state = swHTTP09
	default:
		return false
	}
	return true
}

// parseURI parses the URI from behind its first slash, looking for what makes
// it complex.
func (r *Request) parseURI(b []byte, p int) (int, core.Status) {
	for ; p < len(b); p++ {
		ch := b[p]

		if isUsual(ch) {
			if r.state == swAfterSlashInURI {
				r.state = swCheckURI
			}
			continue
		}

		switch ch {
		case ' ':
			r.uriEnd = p
			r.state = swHTTP09
			return p + 1, core.Again
		case cr:
			r.uriEnd = p
			r.httpMinor = 9
			r.state = swAlmostDone
			return p + 1, core.Again
		case lf:
			r.uriEnd = p
			r.httpMinor = 9
			return r.requestLineDone(p)
		case '#':
			r.complexURI = true
			r.state = swURI
		default:
			if isControl(ch) {
				return p, parseInvalidRequest
			}
			if r.state != swURI {
				r.parseURIMark(ch, p)
			}
		}
	}
	return p, core.Again
}

// parseURIMark deals with the bytes that mean something in a path.
func (r *Request) parseURIMark(ch byte, p int) {
	afterSlash := r.state == swAfterSlashInURI

	switch {
	case ch == '%':
		r.quotedURI = true
		r.state = swURI
	case ch == '?':
		r.argsStart = p + 1
		r.state = swURI
	case ch == '+':
	case afterSlash: // "/." or "//"
		r.complexURI = true
		r.state = swURI
	case ch == '.':
		r.uriExt = p + 1
	case ch == '/':
		r.uriExt = 0
		r.state = swAfterSlashInURI
	}
}

// parseVersion parses from behind the URI to the end of the line.
func (r *Request) parseVersion(b []byte, p int) (int, core.Status) {
	for ; p < len(b); p++ {
		ch := b[p]

		switch r.state {

		case swHTTP09:
			switch ch {
			case ' ':
			case cr:
				r.httpMinor = 9
				r.state = swAlmostDone
			case lf:
				r.httpMinor = 9
				return r.requestLineDone(p)
			case 'H':
				r.state = swHTTPH
			default:
				return p, parseInvalidRequest
			}

		case swHTTPH, swHTTPHT, swHTTPHTT, swHTTPHTTP:
			if ch != "TTP/"[r.state-swHTTPH] {
				return p, parseInvalidRequest
			}
			r.state++

		case swAlmostDone:
			r.requestEnd = p - 1
			if ch != lf {
				return p, parseInvalidRequest
			}
			return r.requestLineDone(p)

		default:
			if ch == lf && r.state >= swMinorDigit {
				return r.requestLineDone(p)
			}
			if rc := r.parseVersionByte(ch); rc != core.Again {
				return p, rc
			}
		}
	}
	return p, core.Again
}

// parseVersionByte parses the numbers of the version and what follows them.
func (r *Request) parseVersionByte(ch byte) core.Status {
	switch {
	case r.state == swFirstMajorDigit && '1' <= ch && ch <= '9':
		r.httpMajor = int(ch - '0')
		r.state = swMajorDigit

	case r.state == swMajorDigit && ch == '.':
		r.state = swFirstMinorDigit

	case r.state == swMajorDigit && isDigit(ch):
		r.httpMajor = r.httpMajor*10 + int(ch-'0')

	case r.state == swFirstMinorDigit && isDigit(ch):
		r.httpMinor = int(ch - '0')
		r.state = swMinorDigit

	case r.state == swMinorDigit && isDigit(ch) && r.httpMinor <= 99:
		r.httpMinor = r.httpMinor*10 + int(ch-'0')

	case r.state >= swMinorDigit && ch == ' ':
		r.state = swSpacesAfterDigit

	case r.state >= swMinorDigit && ch == cr:
		r.state = swAlmostDone

	default:
		return parseInvalidRequest
	}

	if r.httpMajor > 1 {
		return parseInvalidVersion
	}
	return core.Again
}

// requestLineDone ends the parsing at the line feed at p.
func (r *Request) requestLineDone(p int) (int, core.Status) {
	if r.requestEnd == 0 {
		r.requestEnd = p
	}

	r.httpVersion = r.httpMajor*1000 + r.httpMinor
	r.state = swStart

	return p + 1, core.OK
}
