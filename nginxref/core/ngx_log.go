package core

import (
	"io"
	"strconv"
	"unsafe"

	"herd/nginxref/sys"
)

// Error log levels, most severe first, as in ngx_log.h.
const (
	LogStderr = 0
	LogEmerg  = 1
	LogAlert  = 2
	LogCrit   = 3
	LogErr    = 4
	LogWarn   = 5
	LogNotice = 6
	LogInfo   = 7
	LogDebug  = 8
)

// Debug masks: bits of Log.Level above the plain levels.
const (
	LogDebugCore       = 0x010
	LogDebugAlloc      = 0x020
	LogDebugMutex      = 0x040
	LogDebugEvent      = 0x080
	LogDebugHTTP       = 0x100
	LogDebugMail       = 0x200
	LogDebugStream     = 0x400
	LogDebugConnection = 0x80000000
	LogDebugAll        = 0x7ffffff0
)

// maxErrorStr is the longest line written, in bytes (NGX_MAX_ERROR_STR).
const maxErrorStr = 2048

// errnoSpace is what a long message leaves of that for an error number.
const errnoSpace = 50

var errLevels = [...]string{"", "emerg", "alert", "crit", "error", "warn", "notice", "info", "debug"}

// OpenFile is a log file with the buffer its lines are built in. One thread
// writes to it: the loop's.
type OpenFile struct {
	Name string
	W    io.Writer // one Write a line

	pid   int
	times *Times
	buf   [maxErrorStr]byte
}

// NewOpenFile returns a log file that stamps lines with times and pid.
func NewOpenFile(name string, w io.Writer, times *Times, pid int) *OpenFile {
	return &OpenFile{Name: name, W: w, times: times, pid: pid}
}

// Log is where messages go and how severe they must be (ngx_log_t).
//
// Its methods take the arguments of a small format language: %d (integers),
// %s (string or []byte), %c (byte), %p (address, 16 hexadecimal digits), and
// %X and %x. A number may have a width, %8X, that is filled up with spaces or,
// %08X, with zeros. fmt is not used because it makes every argument escape to
// the heap, even of messages that are not written; these do not.
//
// DIVERGES: there is no writer in place of the file, because nothing is logged
// to syslog or memory.
type Log struct {
	Level      uint // a plain level, or LogDebug* masks
	File       *OpenFile
	Connection uint64 // "*N " before the message, unless 0
	// Handler appends what the message is about: client, server, request.
	Handler func(log *Log, b []byte) []byte
	Data    any
	Action  string // what was going on, "reading client request line"
	Next    *Log   // a second log, less or equally verbose

	diskFullTime int64 // second in which the file's disk was full; 0: never
}

// Error writes a message of the given level, followed by the error number and
// text unless err is 0. Mirrors ngx_log_error.
func (log *Log) Error(level uint, err sys.Errno, format string, args ...any) {
	if log.Level >= level {
		log.write(level, err, format, args)
	}
}

// Debug writes a debug message if mask is switched on. Mirrors
// ngx_log_debug0 and its brothers.
func (log *Log) Debug(mask uint, err sys.Errno, format string, args ...any) {
	if log.Level&mask != 0 {
		log.write(LogDebug, err, format, args)
	}
}

// On reports whether debug messages of mask are written; it saves the work of
// computing their arguments.
func (log *Log) On(mask uint) bool { return log.Level&mask != 0 }

// write builds a line and writes it to each log that wants it. Mirrors
// ngx_log_error_core.
func (log *Log) write(level uint, err sys.Errno, format string, args []any) {
	file := log.File
	b := append(file.buf[:0], file.times.ErrLogTime()...)
	b = append(b, " ["...)
	b = append(b, errLevels[level]...)
	b = append(b, "] "...)
	b = strconv.AppendInt(b, int64(file.pid), 10)
	b = append(b, '#')
	b = strconv.AppendInt(b, int64(file.pid), 10)
	b = append(b, ": "...)

	if log.Connection != 0 {
		b = append(b, '*')
		b = strconv.AppendUint(b, log.Connection, 10)
		b = append(b, ' ')
	}

	b = appendFormat(b, format, args)

	if err != 0 {
		if len(b) > maxErrorStr-errnoSpace {
			b = append(b[:maxErrorStr-errnoSpace], "..."...)
		}
		b = AppendErrno(b, err)
	}

	if level != LogDebug && log.Handler != nil {
		b = log.Handler(log, b)
	}

	if len(b) > maxErrorStr-1 {
		b = b[:maxErrorStr-1]
	}
	b = append(b, '\n')

	debugConnection := log.Level&LogDebugConnection != 0
	for l := log; l != nil; l = l.Next {
		if l.Level < level && !debugConnection {
			break
		}

		// To write to a disk that is full may take long.
		if l.diskFullTime != 0 && l.diskFullTime == file.times.Sec {
			continue
		}

		if _, err := l.File.W.Write(b); err != nil && ErrnoOf(err) == sys.ENOSPC {
			l.diskFullTime = file.times.Sec
		}
	}
}

// appendErrno appends the C library's text for err: Go keeps the same texts
// with a small first letter.
func appendErrno(b []byte, err sys.Errno) []byte {
	n := len(b)
	b = append(b, err.Error()...)
	if n < len(b) && 'a' <= b[n] && b[n] <= 'z' {
		b[n] -= 'a' - 'A'
	}
	return b
}

// appendFormat appends format with its verbs replaced by args; see Log.
func appendFormat(b []byte, format string, args []any) []byte {
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			b = append(b, format[i])
			continue
		}
		i++
		fill, width := byte(' '), 0
		if format[i] == '0' {
			fill = '0'
		}
		for ; i+1 < len(format) && '0' <= format[i] && format[i] <= '9'; i++ {
			width = width*10 + int(format[i]-'0')
		}
		if format[i] == '%' {
			b = append(b, '%')
			continue
		}
		if len(args) == 0 {
			return append(b, "%!missing"...)
		}
		b = appendArg(b, format[i], fill, width, args[0])
		args = args[1:]
	}
	return b
}

// appendArg appends one argument as the verb says.
func appendArg(b []byte, verb, fill byte, width int, arg any) []byte {
	switch v := arg.(type) {
	case string:
		return append(b, v...)
	case []byte:
		return append(b, v...)
	case unsafe.Pointer:
		return appendNum(b, uint64(uintptr(v)), '0', 16, upperDigits, 16)
	}

	n, unsigned := integer(arg)
	switch verb {
	case 'X':
		return appendNum(b, n, fill, width, upperDigits, 16)
	case 'x':
		return appendNum(b, n, fill, width, lowerDigits, 16)
	case 'p':
		return appendNum(b, n, '0', 16, upperDigits, 16)
	case 'c':
		return append(b, byte(n))
	}
	if !unsigned && int64(n) < 0 {
		b = append(b, '-')
		n = -n
	}
	return appendNum(b, n, fill, width, lowerDigits, 10)
}

const (
	upperDigits = "0123456789ABCDEF"
	lowerDigits = "0123456789abcdef"
)

// appendNum appends n in a base, filled up to width digits. Mirrors
// ngx_sprintf_num.
func appendNum(b []byte, n uint64, fill byte, width int, digits string, base uint64) []byte {
	var tmp [20]byte // 2^64 has 20 digits

	i := len(tmp)
	for ; n != 0 || i == len(tmp); n /= base {
		i--
		tmp[i] = digits[n%base]
	}
	for pad := width - (len(tmp) - i); pad > 0; pad-- {
		b = append(b, fill)
	}
	return append(b, tmp[i:]...)
}

// integer returns the 64 bits of an integer argument and whether its type is
// unsigned. A bool counts as 0 or 1, as C prints a bit field, and the time that
// is never is -1.
func integer(arg any) (n uint64, unsigned bool) {
	switch v := arg.(type) {
	case int:
		return uint64(v), false
	case int32:
		return uint64(v), false
	case int64:
		return uint64(v), false
	case byte:
		return uint64(v), true
	case uint:
		return uint64(v), true
	case uint32:
		return uint64(v), true
	case uint64:
		return v, true
	case uintptr:
		return uint64(v), true
	case Msec:
		return uint64(v), MsecInt(v) != -1
	case Status:
		return uint64(v), false
	case sys.Errno:
		return uint64(v), true
	case bool:
		if v {
			return 1, false
		}
		return 0, false
	}
	return 0, false
}
