package conf

import (
	"io"

	"herd/nginxref/core"
)

// bufferSize is the most bytes of a file in memory at a time, and so the
// longest argument (NGX_CONF_BUFFER).
const bufferSize = 4096

// confFile is the file, or the -g option, that is being read
// (ngx_conf_file_t).
type confFile struct {
	file   File // nil: the -g option
	name   string
	size   int64 // bytes
	offset int64 // of the next byte to read into the buffer
	line   int
	buffer buffer
	dump   *DumpedFile // nil: not to be dumped, or dumped already
}

// buffer holds what was read: data[pos:last] is still to be looked at.
type buffer struct {
	data      []byte
	pos, last int
}

// token is what readToken found.
type token int

const (
	tokenError token = iota
	tokenOK          // a directive that ends in ";"
	blockStart       // a directive that ends in "{"
	blockDone        // a "}"
	fileDone
	tokenMore // not an end yet
)

// tokenizer is where readToken is in a directive (its local variables).
//
//	lastSpace     between words
//	needSpace     after a closing quote
//	quoted        after a backslash
//	variable      after a "$": a "{" does not end the word
//	sharpComment  in a comment
type tokenizer struct {
	needSpace, lastSpace, sharpComment, variable bool
	quoted, sQuoted, dQuoted                     bool

	start     int // of the word, in the buffer
	startLine int
}

// readToken reads one directive into Args, up to the character that ends it.
// Mirrors ngx_conf_read_token.
func (cf *Conf) readToken() token {
	cf.Args = nil
	b := &cf.file.buffer
	t := tokenizer{lastSpace: true, start: b.pos, startLine: cf.file.line}

	for {

		if b.pos >= b.last {
			if rc := cf.fill(&t); rc != tokenMore {
				return rc
			}
		}

		ch := b.data[b.pos]
		b.pos++

		if ch == '\n' {
			cf.file.line++

			if t.sharpComment {
				t.sharpComment = false
			}
		}

		if t.sharpComment {
			continue
		}

		if t.quoted {
			t.quoted = false
			continue
		}

		if t.needSpace {
			if isSpace(ch) {
				t.lastSpace = true
				t.needSpace = false
				continue
			}

			if ch == ';' {
				return tokenOK
			}

			if ch == '{' {
				return blockStart
			}

			if ch == ')' {
				t.lastSpace = true
				t.needSpace = false

			} else {
				cf.Errorf("unexpected \"%c\"", ch)
				return tokenError
			}
		}

		var rc token

		if t.lastSpace {
			rc = cf.betweenWords(&t, ch)
		} else {
			rc = cf.inWord(&t, ch)
		}

		if rc != tokenMore {
			return rc
		}
	}
}

// fill reads more of the file into the buffer, behind the word begun in it.
//
// DIVERGES: its own function; in nginx it is part of ngx_conf_read_token.
func (cf *Conf) fill(t *tokenizer) token {
	f := cf.file
	b := &f.buffer

	if f.offset >= f.size {

		if len(cf.Args) > 0 || !t.lastSpace {

			if f.file == nil {
				cf.Errorf("unexpected end of parameter, expecting \";\"")
				return tokenError
			}

			cf.Errorf("unexpected end of file, expecting \";\" or \"}\"")
			return tokenError
		}

		return fileDone
	}

	n := b.pos - t.start

	if n == bufferSize {
		f.line = t.startLine

		cf.tooLong(t)
		return tokenError
	}

	copy(b.data, b.data[t.start:b.pos])

	size := min(int(f.size-f.offset), bufferSize-n)

	got, err := f.file.ReadAt(b.data[n:n+size], f.offset)

	if err != nil && err != io.EOF {
		cf.Log.Error(core.LogCrit, core.ErrnoOf(err), "pread() \"%s\" failed", f.name)
		return tokenError
	}

	f.offset += int64(got)

	if got != size {
		cf.Errorf("pread() returned only %d bytes instead of %d", got, size)
		return tokenError
	}

	b.pos = n
	b.last = b.pos + got
	t.start = 0

	if f.dump != nil {
		f.dump.Text = append(f.dump.Text, b.data[b.pos:b.last]...)
	}

	return tokenMore
}

// tooLong complains about a word that fills the whole buffer.
//
// DIVERGES: its own function; in nginx it is part of ngx_conf_read_token.
func (cf *Conf) tooLong(t *tokenizer) {
	var ch byte

	if t.dQuoted {
		ch = '"'

	} else if t.sQuoted {
		ch = '\''

	} else {
		cf.Errorf("too long parameter \"%s...\" started", cf.file.buffer.data[t.start:][:10])
		return
	}

	cf.Errorf("too long parameter, probably missing terminating \"%c\" character", ch)
}

// betweenWords looks at a character that may begin a word.
//
// DIVERGES: its own function; in nginx it is part of ngx_conf_read_token.
func (cf *Conf) betweenWords(t *tokenizer, ch byte) token {
	t.start = cf.file.buffer.pos - 1
	t.startLine = cf.file.line

	if isSpace(ch) {
		return tokenMore
	}

	switch ch {

	case ';', '{':
		if len(cf.Args) == 0 {
			cf.Errorf("unexpected \"%c\"", ch)
			return tokenError
		}

		if ch == '{' {
			return blockStart
		}

		return tokenOK

	case '}':
		if len(cf.Args) != 0 {
			cf.Errorf("unexpected \"}\"")
			return tokenError
		}

		return blockDone

	case '#':
		t.sharpComment = true
		return tokenMore

	case '\\':
		t.quoted = true

	case '"':
		t.start++
		t.dQuoted = true

	case '\'':
		t.start++
		t.sQuoted = true

	case '$':
		t.variable = true
	}

	t.lastSpace = false
	return tokenMore
}

// inWord looks at a character of a word, or the one that ends it.
//
// DIVERGES: its own function; in nginx it is part of ngx_conf_read_token.
func (cf *Conf) inWord(t *tokenizer, ch byte) token {
	found := false

	if ch == '{' && t.variable {
		return tokenMore
	}

	t.variable = false

	if ch == '\\' {
		t.quoted = true
		return tokenMore
	}

	if ch == '$' {
		t.variable = true
		return tokenMore
	}

	if t.dQuoted {
		if ch == '"' {
			t.dQuoted = false
			t.needSpace = true
			found = true
		}

	} else if t.sQuoted {
		if ch == '\'' {
			t.sQuoted = false
			t.needSpace = true
			found = true
		}

	} else if isSpace(ch) || ch == ';' || ch == '{' {
		t.lastSpace = true
		found = true
	}

	if found {
		b := &cf.file.buffer

		cf.Args = append(cf.Args, unescape(b.data[t.start:b.pos-1]))

		if ch == ';' {
			return tokenOK
		}

		if ch == '{' {
			return blockStart
		}
	}

	return tokenMore
}

// unescape returns the word with backslashes taken out before quotes and
// backslashes and replaced, with the letter, before t, r and n. Others stay.
//
// DIVERGES: its own function; in nginx it is part of ngx_conf_read_token.
func unescape(src []byte) string {
	dst := make([]byte, 0, len(src))

	for i := 0; i < len(src); i++ {
		if src[i] == '\\' && i+1 < len(src) {
			switch src[i+1] {
			case '"', '\'', '\\':
				i++

			case 't':
				dst = append(dst, '\t')
				i++
				continue

			case 'r':
				dst = append(dst, '\r')
				i++
				continue

			case 'n':
				dst = append(dst, '\n')
				i++
				continue
			}
		}
		dst = append(dst, src[i])
	}

	return string(dst)
}

func isSpace(ch byte) bool {
	return ch == ' ' || ch == '\t' || ch == '\r' || ch == '\n'
}
