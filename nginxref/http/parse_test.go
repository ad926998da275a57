package http

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"herd/nginxref/core"
	"herd/nginxref/event"
)

// parsed is what a parser makes of its input.
type parsed struct {
	Rc     core.Status
	Pos    int // behind the line; on an error of no meaning
	Fields parser
	Method int
}

// inSteps calls parse with one more byte at a time as long as it wants more,
// or, if all is set, with all at once.
func inSteps(data []byte, all bool, parse func(r *Request, b *buf) core.Status) parsed {
	r := &Request{method: methodUnknown}
	b := &buf{data: data, last: len(data)}
	rc := core.Again
	if !all {
		b.last = 0
	}
	for {
		rc = parse(r, b)
		if rc != core.Again || b.last == len(data) {
			break
		}
		b.last++
	}

	p := parsed{Rc: rc, Pos: b.pos, Fields: r.parser, Method: r.method}
	if rc > core.OK && rc != parseHeaderDone {
		p.Pos = 0
		p.Fields.state = 0
	}
	return p
}

// holdResumable holds that parse makes the same of data whether it comes at
// once or byte by byte.
func holdResumable(t *testing.T, data []byte, parse func(r *Request, b *buf) core.Status) parsed {
	t.Helper()
	whole := inSteps(data, true, parse)
	steps := inSteps(data, false, parse)
	if diff := cmp.Diff(whole, steps, cmp.AllowUnexported(parser{})); diff != "" {
		t.Fatalf("%q parsed at once and byte by byte (- once, + byte by byte):\n%s", data, diff)
	}
	return whole
}

func FuzzParseRequestLine(f *testing.F) {
	for _, line := range eachStart {
		f.Add([]byte(line + "\r\n"))
		f.Add([]byte("\n" + line + "\n"))
	}
	for _, uri := range eachURI {
		f.Add([]byte("GET " + uri + " HTTP/1.1\r\n"))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p := holdResumable(t, data, (*Request).parseRequestLine)
		if p.Rc != core.OK {
			return
		}

		line := data[:p.Pos]
		at := p.Fields
		switch {
		case line[len(line)-1] != lf:
			t.Fatalf("%q: the line does not end in a line feed", line)
		case at.requestStart > at.methodEnd, at.methodEnd >= at.uriStart, at.uriStart >= at.uriEnd, at.uriEnd > at.requestEnd, at.requestEnd >= p.Pos:
			t.Fatalf("%q: the parts are out of order: %+v", line, at)
		case bytes.ContainsFunc(line[at.requestStart:at.requestEnd], func(c rune) bool { return c < ' ' }):
			t.Fatalf("%q: control characters were let pass", line)
		}
	})
}

func FuzzParseHeaderLine(f *testing.F) {
	for _, line := range append(eachHeader, "") {
		f.Add([]byte(line + "\r\n"))
		f.Add([]byte(line + "\n"))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p := holdResumable(t, data, (*Request).parseHeaderLine)
		switch p.Rc {
		case parseHeaderDone:
			if line := string(data[:p.Pos]); line != "\n" && line != "\r\n" {
				t.Fatalf("%q is taken for the empty line", line)
			}

		case core.OK:
			name := data[p.Fields.headerNameStart:p.Fields.headerNameEnd]
			value := data[p.Fields.headerStart:p.Fields.headerEnd]
			if len(name) == 0 || bytes.ContainsAny(name, ": \r\n\x00") {
				t.Fatalf("%q: name %q", data, name)
			}
			if strings.Trim(string(value), " ") != string(value) || bytes.ContainsAny(value, "\r\n\x00") {
				t.Fatalf("%q: value %q", data, value)
			}
		}
	})
}

// quiet is a request with a log that logs nothing, for parsers that do.
func quiet(b *buf) *Request {
	return &Request{connection: &event.Connection{Log: &core.Log{}}, headerIn: b}
}

func FuzzParseChunked(f *testing.F) {
	for _, body := range eachChunked {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		// read parses data in steps of n bytes and returns what was in the
		// chunks, how it ended, and how much was used up.
		read := func(n int) (body []byte, rc core.Status, used int) {
			var ctx chunked
			r := quiet(nil)
			b := &buf{data: data}
			for {
				rc = ctx.parse(r, b)
				switch {
				case rc == core.OK:
					from := b.pos
					b.pos, ctx.size = skip(b, ctx.size)
					body = append(body, data[from:b.pos]...)
				case rc == core.Again && b.last < len(data):
					b.last = min(b.last+n, len(data))
				case rc == core.Error:
					return body, rc, 0
				default:
					if rest := int64(len(data) - b.pos); rc == core.Again && rest != 0 {
						t.Fatalf("%q: %d bytes are left", data, rest)
					}
					return body, rc, b.pos
				}
			}
		}

		body, rc, used := read(len(data) + 1)
		body1, rc1, used1 := read(1)
		if !bytes.Equal(body, body1) || rc != rc1 || used != used1 {
			t.Fatalf("%q at once: %q, %d, %d used; byte by byte: %q, %d, %d used", data, body, rc, used, body1, rc1, used1)
		}
	})
}

func FuzzParseComplexURI(f *testing.F) {
	for _, uri := range eachURI {
		f.Add([]byte(uri))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) == 0 || data[0] != '/' {
			return
		}
		r := quiet(&buf{data: append(data, '\n')})
		r.uriEnd = len(data)
		if r.parseComplexURI() != core.OK {
			return
		}

		uri := string(r.uri)
		if uri[0] != '/' || strings.Contains(uri, "//") || strings.Contains(uri+"/", "/./") || strings.Contains(uri+"/", "/../") {
			t.Fatalf("%q has been made %q", data, r.uri)
		}
	})
}

func TestComplexURIsAreMadeSimple(t *testing.T) {
	for _, tt := range []struct{ uri, path, args, exten string }{
		{"/a//b", "/a/b", "", ""},
		{"/a/./b", "/a/b", "", ""},
		{"/a/../b.c", "/b.c", "", "c"},
		{"/a/b/..", "/a/", "", ""},
		{"/a/b/../..", "/", "", ""},
		{"/a.b/c", "/a.b/c", "", ""},
		{"/a/...", "/a/...", "", ""},
		{"/%61%2fb", "/a/b", "", ""},
		{"/a%2F..%2Fb", "/b", "", ""},
		{"/a%3Fb?c%3F", "/a?b", "c%3F", ""},
		{"/a.html?b#c", "/a.html", "b", "html"},
		{"/a#b?c", "/a", "", ""},
	} {
		r := quiet(&buf{data: []byte(tt.uri + "\n")})
		r.uriEnd = len(tt.uri)
		if rc := r.parseComplexURI(); rc != core.OK {
			t.Errorf("%s: %d", tt.uri, rc)
		}
		if string(r.uri) != tt.path || string(r.args) != tt.args || string(r.exten) != tt.exten {
			t.Errorf("%s: path %q, args %q, extension %q, expected %q, %q, %q", tt.uri, r.uri, r.args, r.exten, tt.path, tt.args, tt.exten)
		}
	}
	for _, uri := range []string{"/..", "/a/../..", "/%", "/%4", "/%4x", "/%00", "/../"} {
		r := quiet(&buf{data: []byte(uri + "\n")})
		r.uriEnd = len(uri)
		if rc := r.parseComplexURI(); rc != parseInvalidRequest {
			t.Errorf("%s: %d, expected %d", uri, rc, parseInvalidRequest)
		}
	}
}
