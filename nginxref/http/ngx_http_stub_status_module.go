package http

import (
	"strconv"

	"herd/nginxref/core"
	"herd/nginxref/stat"
)

// StubStatusHandler is the handler of a location with stub_status: the
// counters of all workers. Mirrors ngx_http_stub_status_handler.
func StubStatusHandler(r *Request) core.Status {
	if r.method&(methodGet|methodHead) == 0 {
		return httpNotAllowed
	}

	rc := discardRequestBody(r)

	if rc != core.OK {
		return rc
	}

	r.headersOut.contentType = "text/plain"

	b := r.appendStubStatus(r.body[:0])
	r.body = b

	r.headersOut.status = httpOK
	r.headersOut.contentLengthN = int64(len(b))

	rc = sendHeader(r)

	if rc == core.Error || rc > core.OK || r.headerOnly {
		return rc
	}

	return outputFilter(r, true, b)
}

// appendStubStatus appends the four lines.
func (r *Request) appendStubStatus(b []byte) []byte {
	zone := r.connection.Cycle.Zone

	b = append(b, "Active connections:"...)
	b = r.appendCell(b, &zone.Active)

	b = append(b, " \nserver accepts handled requests\n"...)

	b = r.appendCell(b, &zone.Accepted)
	b = r.appendCell(b, &zone.Handled)
	b = r.appendCell(b, &zone.Requests)

	b = append(b, " \nReading:"...)
	b = r.appendCell(b, &zone.Reading)
	b = append(b, " Writing:"...)
	b = r.appendCell(b, &zone.Writing)
	b = append(b, " Waiting:"...)
	b = r.appendCell(b, &zone.Waiting)

	return append(b, " \n"...)
}

// appendCell appends a space and a counter.
func (r *Request) appendCell(b []byte, cell *stat.Cell) []byte {
	b = append(b, ' ')
	return strconv.AppendUint(b, r.connection.Cycle.Kernel.AtomicLoad(&cell.Word), 10)
}
