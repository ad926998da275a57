package core

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"herd/nginxref/sys"
)

// clock is a kernel that only tells the time.
type clock struct {
	sys.Kernel
	wall time.Time
	mono uint64 // nanoseconds
}

func (c *clock) Gettimeofday() (int64, int) { return c.wall.Unix(), c.wall.Nanosecond() / 1e6 }
func (c *clock) MonotonicNsec() uint64      { return c.mono }

// lines is a log file in memory: one element a Write.
type lines []string

func (l *lines) Write(p []byte) (int, error) {
	*l = append(*l, string(p))
	return len(p), nil
}

// stamp is the moment of every line in these tests.
var stamp = time.Date(2026, 11, 30, 0, 29, 13, 0, time.Local)

const prefix = "2026/11/30 00:29:13 "

func newLog(w io.Writer, level uint) *Log {
	times := NewTimes(&clock{wall: stamp})
	return &Log{Level: level, File: NewOpenFile("error.log", w, times, 123)}
}

func TestLineHasNginxsForm(t *testing.T) {
	context := func(log *Log, b []byte) []byte {
		b = append(b, " while "...)
		b = append(b, log.Action...)
		return append(b, ", client: 127.0.0.1"...)
	}
	for _, c := range []struct {
		name string
		log  Log
		say  func(*Log)
		want string
	}{
		{"plain", Log{}, func(l *Log) { l.Error(LogNotice, 0, "start worker processes") },
			"[notice] 123#123: start worker processes\n"},
		{"connection and error number", Log{Connection: 5}, func(l *Log) { l.Error(LogNotice, sys.EAGAIN, "text") },
			"[notice] 123#123: *5 text (11: Resource temporarily unavailable)\n"},
		{"context", Log{Connection: 7, Handler: context, Action: "reading"},
			func(l *Log) { l.Error(LogErr, sys.ECONNRESET, "recv() failed") },
			"[error] 123#123: *7 recv() failed (104: Connection reset by peer) while reading, client: 127.0.0.1\n"},
		{"debug has no context", Log{Handler: context}, func(l *Log) { l.Debug(LogDebugEvent, 0, "epoll timer: %d", -1) },
			"[debug] 123#123: epoll timer: -1\n"},
		{"debug with an error number", Log{}, func(l *Log) { l.Debug(LogDebugEvent, sys.EAGAIN, "accept() not ready") },
			"[debug] 123#123: accept() not ready (11: Resource temporarily unavailable)\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out lines
			log := newLog(&out, LogDebugAll)
			c.log.Level, c.log.File = log.Level, log.File
			c.say(&c.log)
			if diff := cmp.Diff(lines{prefix + c.want}, out); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func TestErrorIsWrittenUpToTheLogsLevel(t *testing.T) {
	names := []string{"", "emerg", "alert", "crit", "error", "warn", "notice", "info"}
	for configured := uint(LogEmerg); configured <= LogInfo; configured++ {
		var out, want lines
		log := newLog(&out, configured)
		for level := uint(LogStderr); level <= LogInfo; level++ {
			log.Error(level, 0, "m")
			if level <= configured {
				want = append(want, prefix+"["+names[level]+"] 123#123: m\n")
			}
		}
		log.Debug(LogDebugAll, 0, "debug has masks, not a level")
		if diff := cmp.Diff(want, out); diff != "" {
			t.Errorf("level %s: -want +got\n%s", names[configured], diff)
		}
	}
}

func TestDebugIsWrittenIfItsMaskIsOn(t *testing.T) {
	masks := []uint{LogDebugCore, LogDebugAlloc, LogDebugMutex, LogDebugEvent,
		LogDebugHTTP, LogDebugMail, LogDebugStream}
	for _, on := range masks {
		var out lines
		log := newLog(&out, on)
		for _, mask := range masks {
			if log.On(mask) != (mask == on) {
				t.Errorf("mask %#x with %#x switched on: On is %v", mask, on, log.On(mask))
			}
			log.Debug(mask, 0, "%x", mask)
		}
		log.Error(LogInfo, 0, "every mask is above every level")
		if len(out) != 2 || out[0] != fmt.Sprintf(prefix+"[debug] 123#123: %x\n", on) {
			t.Errorf("with %#x switched on: %q", on, out)
		}
	}
	all := newLog(io.Discard, LogDebugAll)
	for _, mask := range masks {
		if !all.On(mask) {
			t.Errorf("mask %#x is not in LogDebugAll", mask)
		}
	}
	if all.On(LogDebugConnection) {
		t.Error("LogDebugAll has the bit of debug_connection")
	}
}

// A line goes down the chain to the first log that is not verbose enough, and
// a connection under debug_connection to all of it.
func TestLineGoesToEveryLogThatWantsIt(t *testing.T) {
	for _, c := range []struct {
		name   string
		levels [3]uint
		debug  bool
		want   [3]int
	}{
		{"all", [3]uint{LogInfo, LogInfo, LogWarn}, false, [3]int{1, 1, 1}},
		{"the last is too terse", [3]uint{LogInfo, LogWarn, LogErr}, false, [3]int{1, 1, 0}},
		{"one after a terse one", [3]uint{LogInfo, LogErr, LogInfo}, false, [3]int{1, 0, 0}},
		{"debug", [3]uint{LogDebugAll, LogInfo, LogDebugAll}, true, [3]int{1, 0, 0}},
		{"debug_connection", [3]uint{LogDebugConnection | LogDebugAll, LogErr, LogErr}, true, [3]int{1, 1, 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out [3]lines
			var log *Log
			for i := 2; i >= 0; i-- {
				next := log
				log = newLog(&out[i], c.levels[i])
				log.Next = next
			}
			if c.debug {
				log.Debug(LogDebugEvent, 0, "m")
			} else {
				log.Error(LogWarn, 0, "m")
			}
			if got := [3]int{len(out[0]), len(out[1]), len(out[2])}; got != c.want {
				t.Errorf("lines %v, want %v", got, c.want)
			}
		})
	}
}

// fullDisk is a file on a disk that is full.
type fullDisk struct{ tries int }

func (f *fullDisk) Write([]byte) (int, error) {
	f.tries++
	return 0, &os.PathError{Op: "write", Path: "error.log", Err: syscall.ENOSPC}
}

// Nothing is written to a full disk for the rest of the second, and the other
// logs do not suffer.
func TestFullDiskIsLeftAloneForASecond(t *testing.T) {
	var next lines
	full, wall := &fullDisk{}, &clock{wall: stamp}
	times := NewTimes(wall)
	log := newLog(&next, LogErr)
	log = &Log{Level: LogErr, File: NewOpenFile("error.log", full, times, 123), Next: log}

	for second := range 3 {
		wall.wall = stamp.Add(time.Duration(second) * time.Second)
		times.TimeUpdate()
		for range 10 {
			log.Error(LogErr, 0, "m")
		}
		if full.tries != second+1 || len(next) != 10*(second+1) {
			t.Errorf("second %d: %d tries and %d lines in the other log, want %d and %d",
				second, full.tries, len(next), second+1, 10*(second+1))
		}
	}
}

// A line is at most 2048 bytes with its newline. A message that is too long
// is cut 50 bytes earlier if an error number follows, so that the number is
// never lost (ngx_log_errno).
func TestLineIsCutAt2048Bytes(t *testing.T) {
	const (
		head = prefix + "[error] 123#123: "
		tail = " (104: Connection reset by peer)"
	)
	fill := func(n int) string { return strings.Repeat("a", n-len(head)) }
	context := func(log *Log, b []byte) []byte { return append(b, strings.Repeat("c", 100)...) }

	for _, c := range []struct {
		name    string
		length  int // of the line up to the end of the message
		err     sys.Errno
		handler func(*Log, []byte) []byte
		want    string
	}{
		{"fits exactly", 2047, 0, nil, head + fill(2047)},
		{"one too many", 2048, 0, nil, head + fill(2047)},
		{"far too many", 20000, 0, nil, head + fill(2047)},
		{"room for the number", 1998, sys.ECONNRESET, nil, head + fill(1998) + tail},
		{"no room for the number", 1999, sys.ECONNRESET, nil, head + fill(1998) + "..." + tail},
		{"far too many with number", 20000, sys.ECONNRESET, nil, head + fill(1998) + "..." + tail},
		{"context is cut", 2000, 0, context, head + fill(2000) + strings.Repeat("c", 47)},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out lines
			log := newLog(&out, LogErr)
			log.Handler = c.handler
			log.Error(LogErr, c.err, "%s", fill(c.length))
			if len(out) != 1 || out[0] != c.want+"\n" {
				t.Errorf("%d bytes ending in %q, want %d", len(out[0]), out[0][max(0, len(out[0])-60):], len(c.want)+1)
			}
			// A short line after a long one is whole and not longer.
			log.Handler = nil
			log.Error(LogErr, 0, "short")
			if out[1] != head+"short\n" {
				t.Errorf("the next line: %q", out[1])
			}
		})
	}
}

func TestFormatVerbs(t *testing.T) {
	for _, c := range []struct {
		format string
		args   []any
		want   string
	}{
		{"no verbs", nil, "no verbs"},
		{"100%% %d", []any{1}, "100% 1"},
		{"%", nil, "%"},
		{"%d %d %d", []any{-1, int32(-2), int64(-3)}, "-1 -2 -3"},
		{"%d %d %d", []any{uint(1), uint32(2), ^uint64(0)}, "1 2 18446744073709551615"},
		{"%d %d %d", []any{Msec(5), ^Msec(0), Again}, "5 -1 -2"},
		{"%d", []any{int64(math.MinInt64)}, "-9223372036854775808"},
		{"%d %d", []any{true, false}, "1 0"},
		{"%d", []any{sys.EAGAIN}, "11"},
		{"%s and %s", []any{"text", []byte("bytes")}, "text and bytes"},
		{"%s", []any{"100%d"}, "100%d"},
		{"%c%c", []any{'x', byte('y')}, "xy"},
		{"ev:%08X", []any{uint32(sys.EPOLLIN | sys.EPOLLRDHUP)}, "ev:00002001"},
		{"ev:%04X", []any{uint32(sys.EPOLLIN)}, "ev:0001"},
		{"%04X", []any{uint32(0x12345)}, "12345"},
		{"%4X|%04X", []any{0xab, 0xab}, "  AB|00AB"},
		{"%4d|%04d|%4d|%04d", []any{12, 12, -12, -12}, "  12|0012|-  12|-0012"},
		{"%X %x", []any{0xabc, 0xabc}, "ABC abc"},
		{"%X", []any{0}, "0"},
		{"d:%p", []any{uint64(0xbeef)}, "d:000000000000BEEF"},
		{"%p", []any{unsafe.Pointer(nil)}, "0000000000000000"},
		{"%d", nil, "%!missing"},
		{"trailing %0", []any{7}, "trailing 7"},
	} {
		if got := string(appendFormat(nil, c.format, c.args)); got != c.want {
			t.Errorf("%q %v: %q, want %q", c.format, c.args, got, c.want)
		}
	}
	var word uint64
	want := fmt.Sprintf("%016X", uintptr(unsafe.Pointer(&word)))
	if got := string(appendFormat(nil, "%p", []any{unsafe.Pointer(&word)})); got != want {
		t.Errorf("an address: %s, want %s", got, want)
	}
}

// digits is what would ask for megabytes of padding; formats are constants,
// and none asks for that.
var digits = regexp.MustCompile(`[0-9]{4}`)

func FuzzAppendFormat(f *testing.F) {
	f.Fuzz(func(t *testing.T, format, text string, n int64, width uint8) {
		if digits.MatchString(format) {
			t.Skip()
		}
		args := []any{text, n, uint64(n), n > 0, []byte(text), uint32(n), Msec(n)}

		// Any format: what was there stays, and nothing panics.
		got := string(appendFormat([]byte("kept"), format, args))
		if !strings.HasPrefix(got, "kept") {
			t.Errorf("%q overwrote the start of the line: %q", format, got)
		}
		if literal := strings.ReplaceAll(format, "%", "%%"); string(appendFormat(nil, literal, nil)) != format {
			t.Errorf("%q is not %q", appendFormat(nil, literal, nil), format)
		}

		// The verbs: fmt's, with C's names.
		hex := fmt.Sprintf("%%0%dX", width)
		want := fmt.Sprintf("%d|%d|%s|%s|"+hex+"|%x|%016X", n, uint64(n), text, text, uint64(n), uint64(n), uint64(n))
		ours := appendFormat(nil, "%d|%d|%s|%s|"+hex+"|%x|%p",
			[]any{n, uint64(n), text, []byte(text), n, n, uint64(n)})
		if string(ours) != want {
			t.Errorf("%q, want %q", ours, want)
		}
	})
}

func TestLogDoesNotAllocate(t *testing.T) {
	var word uint64
	name, text := []byte("name"), "text"
	say := func(log *Log) func() {
		n := 1000 // beyond the small integers that never allocate
		return func() {
			n++
			log.Debug(LogDebugEvent, sys.EAGAIN, "%d %d %08X %s %s %p %d %d",
				n, uint64(n), uint32(n), name, text, unsafe.Pointer(&word), Msec(n), n&1 == 0)
			log.Error(LogInfo, sys.EAGAIN, "%d %s", n, text)
		}
	}
	for _, c := range []struct {
		name  string
		level uint
	}{{"switched off", LogNotice}, {"written", LogDebugAll}} {
		if n := testing.AllocsPerRun(100, say(newLog(io.Discard, c.level))); n != 0 {
			t.Errorf("%s: %v allocations", c.name, n)
		}
	}
}

func TestErrnoOfFindsTheNumberInside(t *testing.T) {
	_, notFound := os.Open("/nonexistent/file")
	for _, c := range []struct {
		name string
		err  error
		want sys.Errno
	}{
		{"nil", nil, 0},
		{"none inside", errors.New("x"), 0},
		{"itself", sys.EMFILE, sys.EMFILE},
		{"of a path", notFound, syscall.ENOENT},
		{"wrapped twice", fmt.Errorf("a: %w", fmt.Errorf("b: %w", sys.EINVAL)), sys.EINVAL},
	} {
		if got := ErrnoOf(c.err); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

func TestDifferenceOfTimesIsSigned(t *testing.T) {
	for _, c := range []struct {
		a, b Msec
		want MsecInt
	}{
		{5, 3, 2}, {3, 5, -2}, {400, ^Msec(0) - 99, 500}, {^Msec(0) - 99, 400, -500},
	} {
		if got := MsecInt(c.a - c.b); got != c.want {
			t.Errorf("%d - %d is %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
