package http

import (
	"bytes"
	"encoding/base64"
	"strconv"
	"time"

	"herd/nginxref/core"
)

// logHandler writes the request to the access logs. Mirrors
// ngx_http_log_handler.
//
// DIVERGES: the format is always "combined", nothing is buffered.
func logHandler(r *Request) {
	r.connection.Log.Debug(core.LogDebugHTTP, 0, "http log handler")

	logs := r.locConf.AccessLogs
	if len(logs) == 0 {
		return
	}

	cmcf := r.httpConnection.main
	cmcf.logLine = r.appendCombined(cmcf.logLine[:0])

	for _, log := range logs {
		logWrite(r, log, cmcf.logLine)
	}
}

// logWrite writes a line, and complains if it could not be written, but not
// more than once a minute. Mirrors ngx_http_log_write.
func logWrite(r *Request, log *AccessLog, line []byte) {
	_, err := log.File.W.Write(line)

	if err == nil {
		return
	}

	now := r.connection.Cycle.Time.Sec

	if now-log.errorLogTime > 59 {
		r.connection.Log.Error(core.LogAlert, core.ErrnoOf(err), "write() to \"%s\" failed", log.File.Name)

		log.errorLogTime = now
	}
}

// appendCombined appends the request in the "combined" format
// (ngx_http_combined_fmt).
func (r *Request) appendCombined(b []byte) []byte {
	c := r.connection

	b = append(b, c.AddrText...)
	b = append(b, " - "...)
	b = r.appendRemoteUser(b)
	b = append(b, " ["...)
	b = append(b, r.httpConnection.main.logTimeOf(c.Cycle.Time.Sec)...)
	b = append(b, "] \""...)
	if r.requestStart < 0 {
		b = append(b, '-')
	} else {
		b = appendEscaped(b, r.lineForLog())
	}
	b = append(b, "\" "...)
	b = appendLogStatus(b, r)
	b = append(b, ' ')
	b = strconv.AppendInt(b, max(c.Sent-int64(r.headerSize), 0), 10)
	b = append(b, " \""...)
	b = appendLogHeader(b, r.headersIn.known[headerReferer])
	b = append(b, "\" \""...)
	b = appendLogHeader(b, r.headersIn.known[headerUserAgent])
	return append(b, "\"\n"...)
}

// appendLogHeader appends the value of a header line, "-" if there is none.
func appendLogHeader(b []byte, h tableElt) []byte {
	if h.Key == nil {
		return append(b, '-')
	}
	return appendEscaped(b, h.Value)
}

// appendLogStatus appends the status of the answer, three digits. Mirrors
// ngx_http_log_status.
func appendLogStatus(b []byte, r *Request) []byte {
	status := r.headersOut.status
	if r.errStatus != 0 {
		status = r.errStatus

	} else if status == 0 && r.httpVersion == httpVersion9 {
		status = 9
	}

	b = appendZeros(b, status)
	return strconv.AppendInt(b, int64(status), 10)
}

// appendZeros appends what status lacks to be three digits.
func appendZeros(b []byte, status core.Status) []byte {
	for n := core.Status(100); n > status && n > 1; n /= 10 {
		b = append(b, '0')
	}
	return b
}

// appendEscaped appends s, with what could be mistaken for something else in
// a line of the log in hexadecimal. Mirrors ngx_http_log_escape.
func appendEscaped(b, s []byte) []byte {
	const hex = "0123456789ABCDEF"

	for _, ch := range s {
		if ch < ' ' || ch == '"' || ch == '\\' || ch >= 0x7f {
			b = append(b, '\\', 'x', hex[ch>>4], hex[ch&15])
		} else {
			b = append(b, ch)
		}
	}
	return b
}

// appendRemoteUser appends the name that the client gave by Basic
// authentication, "-" if it did not. Mirrors ngx_http_auth_basic_user.
func (r *Request) appendRemoteUser(b []byte) []byte {
	value := r.headersIn.known[headerAuthorization].Value

	if len(value) < len("Basic ") || !equalFold(value[:len("Basic ")], "basic ") {
		return append(b, '-')
	}
	encoded := bytes.TrimRight(bytes.TrimLeft(value[len("Basic "):], " "), "=")

	auth, err := base64.RawStdEncoding.AppendDecode(nil, encoded)
	if err != nil {
		return append(b, '-')
	}

	user, _, ok := bytes.Cut(auth, []byte(":"))
	if !ok || len(user) == 0 {
		return append(b, '-')
	}
	return appendEscaped(b, user)
}

// logTimeOf returns second sec as "28/Sep/1970:12:00:00 +0600", local time. It
// is made anew once a second (ngx_cached_http_log_time).
func (cmcf *Main) logTimeOf(sec int64) []byte {
	if cmcf.logSec != sec {
		cmcf.logSec = sec
		time.Unix(sec, 0).AppendFormat(cmcf.logTime[:0], "02/Jan/2006:15:04:05 -0700")
	}
	return cmcf.logTime[:]
}
