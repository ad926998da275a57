package http

import (
	"math"

	"herd/nginxref/core"
)

// States of a chunked body, in nginx's order.
const (
	swChunkStart = iota
	swChunkSize
	swChunkExtension
	swChunkExtensionAlmostDone
	swChunkData
	swAfterData
	swAfterDataAlmostDone
	swLastChunkExtension
	swLastChunkExtensionAlmostDone
	swTrailer
	swTrailerAlmostDone
	swTrailerHeader
	swTrailerHeaderAlmostDone
)

// chunked is how far a chunked body has been parsed (ngx_http_chunked_t).
type chunked struct {
	state  int
	size   int64 // bytes of the chunk still to come
	length int64 // bytes of the body still to come, at least
}

// parse goes on parsing a chunked body in b: OK at the data of a chunk, done
// behind the last one, Again when b is used up, or Error. Mirrors
// ngx_http_parse_chunked.
func (ctx *chunked) parse(r *Request, b *buf) core.Status {
	if ctx.state == swChunkData && ctx.size == 0 {
		ctx.state = swAfterData
	}

	rc := core.Again

	for ; b.pos < b.last; b.pos++ {
		ch := b.data[b.pos]

		r.connection.Log.Debug(core.LogDebugHTTP, 0, "http chunked byte: %02X s:%d", int(ch), ctx.state)

		if ctx.state == swChunkData {
			rc = core.OK
			break
		}

		next := ctx.next(ch)

		if next < 0 {
			return core.Error
		}
		if next == chunkedDone {
			b.pos++
			ctx.state = swChunkStart
			return done
		}
		ctx.state = next
	}

	if ctx.size > math.MaxInt64-5 {
		return core.Error
	}
	ctx.length = ctx.rest()
	return rc
}

// What next returns beside the states.
const (
	chunkedInvalid = -1
	chunkedDone    = swTrailerHeaderAlmostDone + 1
)

// next returns the state that ch leads to.
func (ctx *chunked) next(ch byte) int {
	switch ctx.state {

	case swChunkStart:
		digit, ok := hexDigit(ch)
		if !ok {
			return chunkedInvalid
		}
		ctx.size = int64(digit)
		return swChunkSize

	case swChunkSize:
		return ctx.nextInSize(ch)

	case swChunkExtension, swLastChunkExtension, swTrailerHeader:
		return ctx.lineEnd(ch, ctx.state)

	case swAfterData:
		return ctx.lineEnd(ch, chunkedInvalid)

	case swTrailer:
		return ctx.lineEnd(ch, swTrailerHeader)
	}

	// One of those that wait for the line feed after a carriage return.
	if ch != lf {
		return chunkedInvalid
	}
	return afterLine[ctx.state-1]
}

// nextInSize returns the state that ch leads to from swChunkSize.
func (ctx *chunked) nextInSize(ch byte) int {
	if ctx.size > math.MaxInt64/16 {
		return chunkedInvalid
	}

	if digit, ok := hexDigit(ch); ok {
		ctx.size = ctx.size*16 + int64(digit)
		return swChunkSize
	}

	extension := swChunkExtension
	if ctx.size == 0 {
		extension = swLastChunkExtension
	}

	switch ch {
	case cr:
		return extension + 1
	case lf:
		return afterLine[extension]
	case ';', ' ', '\t':
		return extension
	}
	return chunkedInvalid
}

// lineEnd returns the state after the line if ch ends it, the one that waits
// for the line feed if ch is a carriage return, else other.
func (ctx *chunked) lineEnd(ch byte, other int) int {
	switch ch {
	case cr:
		return ctx.state + 1
	case lf:
		return afterLine[ctx.state]
	}
	return other
}

// afterLine is what comes after the line that a state is in.
var afterLine = [...]int{
	swChunkExtension:     swChunkData,
	swAfterData:          swChunkStart,
	swLastChunkExtension: swTrailer,
	swTrailer:            chunkedDone,
	swTrailerHeader:      swTrailer,
}

// rest returns how many bytes there must be at least until the end of the
// body: "0" and two line feeds, and what is missing of the current chunk.
func (ctx *chunked) rest() int64 {
	switch ctx.state {
	case swChunkStart:
		return 3
	case swChunkSize:
		if ctx.size == 0 {
			return 2
		}
		return 1 + ctx.size + 4
	case swChunkExtension, swChunkExtensionAlmostDone:
		return 1 + ctx.size + 4
	case swChunkData:
		return ctx.size + 4
	case swAfterData, swAfterDataAlmostDone:
		return 4
	case swTrailer, swTrailerAlmostDone:
		return 1
	}
	return 2 // in the last chunk's extension or a trailer
}
