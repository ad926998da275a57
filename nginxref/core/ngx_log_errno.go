package core

import (
	"strconv"

	"herd/nginxref/sys"
)

// AppendErrno appends " (2: No such file or directory)". Mirrors
// ngx_log_errno.
func AppendErrno(b []byte, err sys.Errno) []byte {
	b = append(b, " ("...)
	b = strconv.AppendInt(b, int64(err), 10)
	b = append(b, ": "...)
	b = appendErrno(b, err)
	return append(b, ')')
}
