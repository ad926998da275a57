package core

import (
	"time"

	"herd/nginxref/sys"
)

// Times is the process's cached clock (the globals of ngx_times.c). Reading a
// field costs no system call; it is as old as the last TimeUpdate, one turn
// of the loop at the most.
//
// DIVERGES: of nginx's five printed forms, two. The access log makes its own
// (ngx_http_log_module.go); the ISO form is in no log format that nginxref knows,
// and syslog's is for syslog.
type Times struct {
	CurrentMsec Msec // monotonic; ngx_current_msec
	Sec         int64
	Msec        int

	kernel     sys.Kernel
	gmtoff     int // minutes east of Greenwich
	errLogTime [len("1970/09/28 12:00:00")]byte
	httpTime   [len("Mon, 28 Sep 1970 06:00:00 GMT")]byte
}

// NewTimes returns the clock of kernel, already updated. Mirrors
// ngx_time_init.
func NewTimes(kernel sys.Kernel) *Times {
	t := &Times{kernel: kernel}
	t.TimeUpdate()
	return t
}

// TimeUpdate reads both clocks and, when the second has changed, renews the
// printed forms. Mirrors ngx_time_update.
//
// DIVERGES: no lock and no ring of 64 slots; they protect nginx's signal
// handler, and here signals are handled on the loop thread.
func (t *Times) TimeUpdate() {
	sec, msec := t.kernel.Gettimeofday()

	t.CurrentMsec = Msec(t.kernel.MonotonicNsec() / 1e6)
	t.Msec = msec

	if t.Sec == sec {
		return
	}
	t.Sec = sec

	now := time.Unix(sec, 0)
	_, off := now.Zone()
	t.gmtoff = off / 60
	now.UTC().AppendFormat(t.httpTime[:0], "Mon, 02 Jan 2006 15:04:05 GMT")
	now.AppendFormat(t.errLogTime[:0], "2006/01/02 15:04:05")
}

// ErrLogTime returns the start of an error log line, such as
// "2026/11/30 12:00:00", local time. It is valid until the next TimeUpdate.
func (t *Times) ErrLogTime() []byte { return t.errLogTime[:] }

// HTTPTime returns the date for an HTTP header, valid until the next
// TimeUpdate.
func (t *Times) HTTPTime() []byte { return t.httpTime[:] }
