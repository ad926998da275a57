package http

import "herd/nginxref/core"

// States of a header line, in nginx's order.
const (
	swHeaderStart = iota // parseHeaderName
	swName

	swSpaceBeforeValue // parseHeaderValue
	swValue
	swSpaceAfterValue

	swHeaderLineAlmostDone
	swHeaderAlmostDone
)

// lowcase maps the bytes that a header name is made of to lower case and all
// others to 0.
var lowcase = func() (table [256]byte) {
	for ch := range table {
		switch c := byte(ch); {
		case isLetter(c):
			table[ch] = c | 0x20
		case isDigit(c), c == '-':
			table[ch] = c
		}
	}
	return table
}()

// parseHeaderLine goes on parsing a header line in b, as far as it is there:
// OK with its line feed, parseHeaderDone with the empty line, Again without
// either, or parseInvalidHeader. Mirrors ngx_http_parse_header_line.
//
// DIVERGES: underscores_in_headers is always off; the state machine is cut
// into two, each looping on its own, and an end.
func (r *Request) parseHeaderLine(b *buf) core.Status {
	data := b.data[:b.last]
	p := b.pos
	rc := core.Again

	for p < len(data) && rc == core.Again {
		switch {
		case r.state <= swName:
			p, rc = r.parseHeaderName(data, p)
		case r.state <= swSpaceAfterValue:
			p, rc = r.parseHeaderValue(data, p)
		case data[p] == lf && r.state == swHeaderLineAlmostDone:
			p, rc = r.headerLineDone(p, core.OK)
		case data[p] == lf:
			p, rc = r.headerLineDone(p, parseHeaderDone)
		case data[p] == cr && r.state == swHeaderLineAlmostDone:
			p++
		default:
			return parseInvalidHeader
		}
	}

	if rc != parseInvalidHeader {
		b.pos = p
	}
	return rc
}

// parseHeaderName parses up to the colon, or to the end of a line without
// one.
func (r *Request) parseHeaderName(b []byte, p int) (int, core.Status) {
	for ; p < len(b); p++ {
		ch := b[p]

		if r.state == swHeaderStart {
			r.headerNameStart = p
			r.invalidHeader = false
			r.lowcaseIndex = 0

			switch ch {
			case cr:
				r.headerEnd = p
				r.state = swHeaderAlmostDone
				return p + 1, core.Again
			case lf:
				r.headerEnd = p
				return r.headerLineDone(p, parseHeaderDone)
			case ':':
				r.headerEnd = p
				return p, parseInvalidHeader
			}
			r.state = swName
		}

		if c := lowcase[ch]; c != 0 {
			r.lowcaseHeader[r.lowcaseIndex] = c
			r.lowcaseIndex = (r.lowcaseIndex + 1) & (lcHeaderLen - 1)
			continue
		}

		switch {
		case ch == ':':
			r.headerNameEnd = p
			r.state = swSpaceBeforeValue
			return p + 1, core.Again

		case ch == cr, ch == lf:
			r.headerNameEnd = p
			r.headerStart = p
			r.headerEnd = p
			return r.headerValueDone(p, ch)

		case ch <= ' ' || ch == 0x7f:
			r.headerEnd = p
			return p, parseInvalidHeader
		}

		r.invalidHeader = true
	}
	return p, core.Again
}

// parseHeaderValue parses from behind the colon to the end of the line.
// Spaces around the value are not part of it.
func (r *Request) parseHeaderValue(b []byte, p int) (int, core.Status) {
	for ; p < len(b); p++ {
		ch := b[p]

		if ch > ' ' && r.state == swValue {
			continue
		}

		switch ch {
		case 0:
			r.headerEnd = p
			return p, parseInvalidHeader

		case cr, lf:
			if r.state == swSpaceBeforeValue {
				r.headerStart = p
			}
			if r.state != swSpaceAfterValue {
				r.headerEnd = p
			}
			return r.headerValueDone(p, ch)

		case ' ':
			if r.state == swValue {
				r.headerEnd = p
				r.state = swSpaceAfterValue
			}

		default:
			if r.state == swSpaceBeforeValue {
				r.headerStart = p
			}
			r.state = swValue
		}
	}
	return p, core.Again
}

// headerValueDone goes on from a value that ended with ch, at p.
func (r *Request) headerValueDone(p int, ch byte) (int, core.Status) {
	if ch == lf {
		return r.headerLineDone(p, core.OK)
	}
	r.state = swHeaderLineAlmostDone
	return p + 1, core.Again
}

// headerLineDone ends the parsing at the line feed at p.
func (r *Request) headerLineDone(p int, rc core.Status) (int, core.Status) {
	r.state = swHeaderStart
	return p + 1, rc
}
