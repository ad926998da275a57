package http

import (
	"slices"

	"herd/nginxref/core"
)

// States of a complex URI, in nginx's order.
const (
	swUsual = iota
	swSlash
	swDot
	swDotDot
	swQuoted
	swQuotedSecond
)

// complexURI is the parsing of a URI that is not its own normal form.
//
// DIVERGES: its own type; in nginx these are variables of
// ngx_http_parse_complex_uri.
type complexURI struct {
	u       []byte // what has been written, in Request.uriBuf
	ext     int    // where the extension starts in it; 0: there is none
	state   int
	quoted  int  // the state to go back to after "%xx"
	decoded byte // what that stands for
	again   bool // decoded is the next byte to deal with
	args    int  // where they start in the buffer; 0: there are none
}

// parseComplexURI sets uri, exten and args from a URI with "//", "/./",
// "/../", "%xx" or "#". Mirrors ngx_http_parse_complex_uri.
//
// DIVERGES: merge_slashes is always on.
func (r *Request) parseComplexURI() core.Status {
	data := r.headerIn.data
	s := complexURI{u: slices.Grow(r.uriBuf[:0], r.uriEnd-r.uriStart+1)}
	r.argsStart = 0

	if r.emptyPathInURI {
		s.u = append(s.u, '/')
	}

	p := r.uriStart
	for p < r.uriEnd {
		ch := data[p]
		p++

		stop, ok := r.complexByte(&s, ch)
		if ok && s.again {
			s.again = false
			stop, ok = r.complexByte(&s, s.decoded)
		}
		if !ok {
			return parseInvalidRequest
		}
		if stop {
			if ch == '?' {
				s.args = p
			}
			break
		}
	}

	if !s.end() {
		return parseInvalidRequest
	}

	r.uriBuf = s.u
	r.uri = s.u
	if s.ext != 0 {
		r.exten = s.u[s.ext:]
	}
	if s.args != 0 {
		r.complexArgs(s.args)
	}
	return core.OK
}

// complexByte deals with a byte of the path; see complexURI.next.
func (r *Request) complexByte(s *complexURI, ch byte) (stop, ok bool) {
	r.connection.Log.Debug(core.LogDebugHTTP, 0, "s:%d in:'%X:%c'", s.state, int(ch), int(ch))

	return s.next(ch)
}

// complexArgs sets args to what is between p and the end, or a "#".
func (r *Request) complexArgs(p int) {
	end := p
	for end < r.uriEnd && r.headerIn.data[end] != '#' {
		end++
	}
	r.args = r.headerIn.data[p:end]
}

// next deals with a byte of the path. stop says that the path ends before it,
// with "?" or "#"; ok is false if the URI is not valid.
func (s *complexURI) next(ch byte) (stop, ok bool) {
	switch s.state {
	case swQuoted:
		return false, s.quotedFirst(ch)
	case swQuotedSecond:
		return false, s.quotedSecond(ch)
	}

	if isUsual(ch) {
		s.write(ch)
		return false, true
	}
	if ch == '%' {
		s.quoted = s.state
		s.state = swQuoted
		return false, true
	}
	return s.mark(ch)
}

// write adds an ordinary byte.
func (s *complexURI) write(ch byte) {
	s.state = swUsual
	s.u = append(s.u, ch)
}

// mark deals with a byte that may mean something in a path.
func (s *complexURI) mark(ch byte) (stop, ok bool) {
	switch {
	case ch == '/' || ch == '?' || ch == '#':
		if !s.end() {
			return false, false
		}
		if ch != '/' {
			s.state = swUsual
			return true, true
		}
		if s.state == swUsual {
			s.ext = 0
			s.u = append(s.u, ch)
		}
		s.state = swSlash

	case ch == '.' && s.state != swDotDot:
		if s.state == swUsual {
			s.ext = len(s.u) + 1
		} else {
			s.state++ // swSlash, swDot
		}
		s.u = append(s.u, ch)

	default:
		s.write(ch)
	}
	return false, true
}

// end ends a segment, that is, takes the effect of "." and "..". It reports
// whether the URI is valid so far.
func (s *complexURI) end() bool {
	switch s.state {
	case swQuoted, swQuotedSecond:
		return false

	case swDot:
		s.u = s.u[:len(s.u)-1]

	case swDotDot:
		i := len(s.u) - 4
		for i >= 0 && s.u[i] != '/' {
			i--
		}
		if i < 0 {
			return false
		}
		s.u = s.u[:i+1]
	}
	return true
}

// quotedFirst and quotedSecond decode "%xx". What it stands for may mean
// something in the path still: "%2e%2e" is "..", too.
func (s *complexURI) quotedFirst(ch byte) (ok bool) {
	digit, ok := hexDigit(ch)
	s.decoded = digit << 4
	s.state = swQuotedSecond
	return ok
}

func (s *complexURI) quotedSecond(ch byte) (ok bool) {
	digit, ok := hexDigit(ch)
	s.decoded |= digit

	switch s.decoded {
	case 0:
		return false
	case '%', '#', '?':
		s.write(s.decoded)
	default:
		s.state = s.quoted
		s.again = true
	}
	return ok
}

// hexDigit returns the value of a hexadecimal digit.
func hexDigit(ch byte) (value byte, ok bool) {
	if isDigit(ch) {
		return ch - '0', true
	}
	if c := ch | 0x20; 'a' <= c && c <= 'f' {
		return c - 'a' + 10, true
	}
	return 0, false
}
