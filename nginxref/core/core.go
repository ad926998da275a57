// Package core holds what every part of nginx's src/core leans on: return
// codes, cached time (ngx_times.c) and the error log (ngx_log.c).
package core

import (
	"errors"

	"herd/nginxref/sys"
)

// Status is the integer that most nginx functions return.
type Status int

// The return codes of ngx_core.h that the event core uses.
const (
	OK       Status = 0
	Error    Status = -1
	Again    Status = -2
	Declined Status = -5
)

// Msec is a time or a span in milliseconds (ngx_msec_t). Times wrap; compare
// them by the sign of MsecInt(a - b), never by a < b.
type Msec uint64

// MsecInt is the signed difference of two times (ngx_msec_int_t).
type MsecInt int64

// ErrnoOf returns the error number inside err, or 0 if there is none.
func ErrnoOf(err error) sys.Errno {
	var errno sys.Errno

	errors.As(err, &errno)
	return errno
}
