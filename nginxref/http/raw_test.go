package http

import "strings"

// sentinel follows each of rawRequests: it is answered if, and only if, the
// connection is still open for a request then.
const sentinel = "GET /exact HTTP/1.1\r\nHost: first.example\r\nConnection: close\r\n\r\n"

// request returns a request for a URI with a Host.
func request(method, uri string, header ...string) string {
	return method + " " + uri + " HTTP/1.1\r\nHost: first.example\r\n" + strings.Join(append(header, ""), "\r\n") + "\r\n"
}

// rawRequest is what a client sends: chunks with pauses between them.
type rawRequest struct {
	name   string
	chunks []string
}

func raw(name string, chunks ...string) rawRequest {
	return rawRequest{name, chunks}
}

// eachURI are URIs of the differential configuration, one request each.
var eachURI = []string{
	"/", "/x", "/exact", "/exac", "/exactly", "/prefix", "/prefix/long", "/prefix/longer/x",
	"/files", "/files/x", "/files/", "/empty", "/gone", "/gone/text", "/nocontent", "/created",
	"/teapot", "/strange", "/low", "/450", "/301", "/302", "/303", "/307", "/308", "/300", "/304",
	"/400", "/401", "/408", "/413", "/444", "/494", "/498", "/499", "/500", "/503", "/505",
	"/status", "/ka0", "/kah", "/quiet", "/quiet/200", "/x.html", "/x.JPG", "/x.gif?a.html", "/x.unknown",

	"/?", "/?a=b", "/exact?a#b", "/exact#x", "/exact?", "//exact", "/./exact", "/x/../exact", "/x/y/../../exact",
	"/../exact", "/..", "/x/..", "/x/.", "/.", "/...", "/prefix/.../x", "/%65xact", "/exact%3Fa", "/exact%23", "/%2e%2e/", "/x%2f..%2fexact",
	"/%", "/%4", "/%zz", "/%00", "/%2", "/exact%", "/exact%20", "/exact%25", "/+", "/a+b//c+d", "/x/%2e%2e/exact",
	"/\x80\xff", "/a\\b", "/a\tb", "/a\x01b", "/a\x00b", "/a\x7fb", "/<>|^`{}\"", "/a b", "/;/,=&!$'()*~@:",
	"/prefix/./longer", "/prefix//longer", "/x/../prefix/longer?q=/../", "/a//?", "/a/../?b", "/a/.?b", "/a/./#b", "/a/..#b", "/a%2F", "/.%2e/", "/%2E%2E",

	"http://first.example/exact", "http://second.example/", "http://second.example", "http://second.example:8080/x", "http://second.example?a", "http://second.example:1?a=b",
	"HTTP://SECOND.EXAMPLE/", "x+y-z.1://second.example/", "1http://second.example/", "http:/second.example/", "http//second.example/", "http:///", "http://",
	"http://[::1]/", "http://[::1]:80/", "http://[::1", "http://[v1.!$&'()*+,;=-._~:]/", "http://[/]/", "http://a_b/", "http://second.example:x/", "http://second.example/a//b",
	"http://a..b/", "http://a./", "http://./", "http://.second.example/", "*", "?", "a", "a:", ":", "",
}

// eachHost are values of the Host header.
var eachHost = []string{
	"first.example", "second.example", "SECOND.example", "second.example.", "second.example:80", "second.example.:80", "second.example:", "second.example:x",
	"a.wild.example", "a.b.wild.example", "wild.example", ".wild.example", "very.wild.example", "x.very.wild.example", "VERY.WILD.EXAMPLE:1",
	"dot.example", "x.dot.example", "xdot.example", "tail.example", "tail.a.b", "tail", "tail.", "xtail.a", "a.tail.b",
	"", " ", ".", "..", "a..b", ":", ":80", "[::1]", "[::1]:80", "[::1", "a[b", "a]b", "a/b", "a b", "a\tb", "a\x7fb", "a\x01b", "\x80", "a_b", "a:b:c", "unknown.example",
}

// eachHeader are header lines.
var eachHeader = []string{
	"Connection: close", "Connection: keep-alive", "Connection: Keep-Alive, x", "Connection: xclosex", "connection: CLOSE", "Connection: close, keep-alive", "Connection:", "Connection: keep-alive\r\nConnection: close", "Connection: upgrade",
	"Host: other", "Host: first.example", "X: y", "X:y", "X:", "X", "X y", "X : y", " X: y", "\tX: y", ": y", ":", "X_Y: z", "_X: z", "X.Y: z", "X\x00: y", "X: \x00", "X: a\x00b", "X: y  \x00", "X: a\tb", "X\x7f: y", "X: y\x7f", "X\x80: \x80",
	"X: a\r", "X: a\r\r", "X: a\rb", "X: a\r\n folded", "X: a\nY: b", "X:  a  ", "X:   ", "\x80: a", "@: a", "X:: a", "X: a: b",
	strings.Repeat("n", 31) + ": v", strings.Repeat("n", 32) + ": v", strings.Repeat("n", 33) + ": v", strings.Repeat("n", 40) + "host: v", strings.Repeat("x", 32) + "Host: v",
	"Content-Length: 0", "Content-Length:", "Content-Length: x", "Content-Length: -1", "Content-Length: +1", "Content-Length: 1x", "Content-Length: 0x1", "Content-Length: 1 1",
	"Content-Length: 9223372036854775807", "Content-Length: 9223372036854775808", "Content-Length: 99999999999999999999", "Content-Length: 0\r\nContent-Length: 0", "Content-Length: 1001", "Content-Length: 00",
	"Transfer-Encoding: identity", "Transfer-Encoding: gzip, chunked", "Transfer-Encoding:", "Transfer-Encoding: chunked\r\nContent-Length: 3", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
	"Expect: 100-continue", "Expect: 100-Continue", "Expect: x", "Expect: x\r\nExpect: y",
	"If-Match: *", "If-Match: \"x\"", "If-None-Match: *", "If-None-Match: x", "If-Modified-Since: Mon, 28 Sep 1970 06:00:00 GMT", "If-Modified-Since: x\r\nIf-None-Match: *", "If-Unmodified-Since: Mon, 28 Sep 1970 06:00:00 GMT", "If-Unmodified-Since: x\r\nIf-Unmodified-Since: x",
	"Range: bytes=0-1", "If-Range: a\r\nIf-Range: b", "Content-Range: a\r\nContent-Range: b",
	"User-Agent: curl/7.88.1", "User-Agent: a\"b\\c\x80", "User-Agent:", "User-Agent: Chrome/1", "User-Agent: Gecko/1 Chrome/1", "User-Agent: Mozilla/4.0 (compatible; MSIE 6.0; x)", "User-Agent: MSIE 6.0; SV1", "User-Agent: MSIE 7.0", "User-Agent: MSIE 8", "User-Agent: MSIE 7.0 Opera", "User-Agent: a\r\nUser-Agent: b",
	"Referer: http://r.example/", "Referer: a\r\nReferer: b", "Authorization: Basic dXNlcjpwYXNz", "Authorization: basic  dXNlcjpwYXNz", "Authorization: Basic", "Authorization: Basic x", "Authorization: Basic dXNlcg==", "Authorization: Basic OnBhc3M=", "Authorization: Bearer x", "Authorization: Basic ImEiOmI=", "Authorization: a\r\nAuthorization: b",
	"Keep-Alive: 5", "Upgrade: h2c", "TE: trailers",
}

// eachStart are request lines, as they are.
var eachStart = []string{
	"GET /exact HTTP/1.0", "GET /exact HTTP/1.1", "HEAD /exact HTTP/1.0", "GET  /exact  HTTP/1.1  ", "GET /exact HTTP/1.1 x", "GET /exact", "GET /exact ", "GET /nothing?a", "GET / ", "HEAD /exact", "POST /exact", "GET /files/x",
	"GET /exact HTTP/0.9", "GET /exact HTTP/1.2", "GET /exact HTTP/1.9", "GET /exact HTTP/1.10", "GET /exact HTTP/1.01", "GET /exact HTTP/1.100", "GET /exact HTTP/1.1000", "GET /exact HTTP/2.0", "GET /exact HTTP/9.9", "GET /exact HTTP/10.1", "GET /exact HTTP/01.1", "GET /exact HTTP/1", "GET /exact HTTP/1.", "GET /exact HTTP/.1", "GET /exact HTTP/", "GET /exact HTTP/x.1", "GET /exact HTTP/1.x", "GET /exact http/1.1", "GET /exact HTPT/1.1", "GET /exact H", "GET /exact XTTP/1.1", "GET /exact HTTP/1.1\r", "GET /exact HTTP/1.1\rX",
	"get /exact HTTP/1.1", "G\x00T /exact HTTP/1.1", "G-E_T /exact HTTP/1.1", "GET\t/exact HTTP/1.1", "GET/exact HTTP/1.1", "GET", "GET ", " GET /exact HTTP/1.1", "\x16\x03\x01\x02\x00\x01", "1", "PRI * HTTP/2.0", "\x00", "OPTIONS * HTTP/1.1", "CONNECT a:80 HTTP/1.1", "{}", "GET \xff HTTP/1.1", "SSH-2.0-x",
}

// eachMethod are methods.
var eachMethod = []string{"GET", "HEAD", "POST", "PUT", "DELETE", "TRACE", "CONNECT", "OPTIONS", "PATCH", "PROPFIND", "X", "_-", "GETX", "GE"}

// eachChunked are bodies in chunks.
var eachChunked = []string{
	"0\r\n\r\n", "3\r\nabc\r\n0\r\n\r\n", "3\nabc\n0\n\n", "a;x=y\r\n0123456789\r\n0\r\n\r\n", "A ;x\n0123456789\r\n0;y\r\n\r\n", "1\t\r\nx\r\n0\t\n\n", "0\r\nTrailer: x\r\nY: z\r\n\r\n", "000000000000001\r\nx\r\n0\r\n\r\n",
	"", "\r\n", "x", "g\r\n", "3\r\nabcd\r\n", "3\r\nab", "3\r\nabc", "3\r\nabc\r", "3\r\nabc\rx", "3\rabc", "3 \rx", "0\rx", "0\r\n\rx", "0\r\nT\rx", "0x\r\n", "-1\r\n", "3;\r\nabc\r\n0;\r\n\r\n", "7fffffffffffffff\r\nx", "8000000000000000\r\nx", "7fffffffffffffff0\r\n", "ffffffffffffffffffff\r\n", "7ffffffffffffffa\r\nx",
	"5\r\nhello\r\n5\r\nhello\r\n0\r\n\r\n", "3\r\nabc\r\n3\r\nabc\r\n", strings.Repeat("4\r\nabcd\r\n", 300) + "0\r\n\r\n", "1000\r\n" + strings.Repeat("x", 4096) + "\r\n0\r\n\r\n",
}

// rawRequests is everything above in whole requests, and what does not fit
// into a table.
var rawRequests = func() (all []rawRequest) {
	for _, uri := range eachURI {
		all = append(all, raw("URI "+uri, request("GET", uri)+sentinel))
		all = append(all, raw("HEAD, 1.0, URI "+uri, "HEAD "+uri+" HTTP/1.0\r\n\r\n"+sentinel))
	}
	for _, host := range eachHost {
		all = append(all, raw("Host "+host, "GET /302 HTTP/1.1\r\nHost: "+host+"\r\n\r\n"+sentinel))
		all = append(all, raw("another Host "+host, "GET http://second.example/ HTTP/1.1\r\nHost: "+host+"\r\n\r\n"+sentinel))
	}
	for _, line := range eachHeader {
		all = append(all, raw("header "+line, request("GET", "/exact", line)+sentinel))
		all = append(all, raw("POST, header "+line, request("POST", "/gone", line)+sentinel))
		all = append(all, raw("1.0, header "+line, "GET /exact HTTP/1.0\r\n"+line+"\r\n\r\n"+sentinel))
	}
	for _, line := range eachStart {
		for _, end := range []string{"\r\n", "\n"} {
			all = append(all, raw("start "+line+end, line+end+"Host: first.example"+end+end+sentinel))
		}
	}
	for _, method := range eachMethod {
		for _, uri := range []string{"/exact", "/status", "/files/x", "/files/", "/gone"} {
			all = append(all, raw("method "+method+" "+uri, request(method, uri)+sentinel))
		}
	}
	for _, body := range eachChunked {
		for _, method := range []string{"GET /exact", "POST /files/x", "PUT /status"} {
			all = append(all, raw("chunked "+method+" "+body, request(method[:strings.IndexByte(method, ' ')], method[strings.IndexByte(method, '/'):], "Transfer-Encoding: chunked")+body+sentinel))
		}
	}
	return append(all, oddRequests...)
}()

// filler returns a header line of n bytes with its end.
func filler(n int) string {
	return "F: " + strings.Repeat("f", n-len("F: \r\n")) + "\r\n"
}

// oddRequests are those that are one of a kind. The buffers are of 256 bytes
// and two of 512.
var oddRequests = []rawRequest{
	raw("nothing"),
	raw("an empty line", "\r\n"+sentinel),
	raw("only line feeds", "\n\n\n\n"),
	raw("a buffer of line feeds", strings.Repeat("\r\n", 300)+sentinel),
	raw("a request cut short", "GET /exact HTTP/1.1\r\nHost: first"),
	raw("a request line cut short", "GET /ex"),
	raw("bare line feeds", "GET /exact HTTP/1.1\nHost: first.example\n\n"+sentinel),
	raw("no Host in 1.1", "GET /exact HTTP/1.1\r\n\r\n"+sentinel),
	raw("no Host in 1.0", "GET /302 HTTP/1.0\r\n\r\n"+sentinel),
	raw("keepalive in 1.0", "GET /exact HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"+sentinel),
	raw("keepalive in 1.0, 404", "GET /files HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"+sentinel),
	raw("100 pipelined", strings.Repeat(request("GET", "/exact"), 100)+sentinel),
	raw("more pipelined than keepalive_requests", strings.Repeat(request("GET", "/exact"), 120)+sentinel),
	raw("pipelined, various", request("GET", "/exact")+request("HEAD", "/")+request("GET", "/gone")+request("POST", "/files/x", "Content-Length: 3")+"abc"+request("GET", "/302")+sentinel),
	raw("pipelined, a bad one among them", request("GET", "/exact")+"BAD\r\n\r\n"+request("GET", "/exact")+sentinel),

	raw("URI of 400 bytes", request("GET", "/"+strings.Repeat("u", 400))+sentinel),
	raw("request line of 511 bytes", "GET /"+strings.Repeat("u", 511-16)+" HTTP/1.1\r\nHost: a\r\n\r\n"+sentinel),
	raw("request line of 512 bytes", "GET /"+strings.Repeat("u", 512-16)+" HTTP/1.1\r\nHost: a\r\n\r\n"+sentinel),
	raw("request line of 513 bytes", "GET /"+strings.Repeat("u", 513-16)+" HTTP/1.1\r\nHost: a\r\n\r\n"+sentinel),
	raw("URI of 5000 bytes", request("GET", "/"+strings.Repeat("u", 5000))+sentinel),
	raw("absolute URI in a large buffer", request("GET", "http://second.example:80/"+strings.Repeat("u", 300)+".html?a=b")+sentinel),
	raw("absolute URI without a path in a large buffer", "GET "+strings.Repeat("x", 220)+"://second.example"+strings.Repeat(".", 0)+strings.Repeat(" ", 100)+"HTTP/1.1\r\nHost: a\r\n\r\n"+sentinel),
	raw("complex URI in a large buffer", request("GET", "/"+strings.Repeat("u", 300)+"/../exact?"+strings.Repeat("a", 50))+sentinel),
	raw("method of 300 bytes", strings.Repeat("M", 300)+" /exact HTTP/1.1\r\nHost: a\r\n\r\n"+sentinel),
	raw("line feeds, then a line over two buffers", strings.Repeat("\n", 200)+"GET /"+strings.Repeat("u", 300)+" HTTP/1.1\r\nHost: a\r\n\r\n"+sentinel),
	raw("header line of 400 bytes", request("GET", "/exact", "X: "+strings.Repeat("y", 400))+sentinel),
	raw("header line of 509 bytes", request("GET", "/exact", strings.TrimSpace(filler(509)))+sentinel),
	raw("header line of 512 bytes", request("GET", "/exact", strings.TrimSpace(filler(512)))+sentinel),
	raw("header line of 514 bytes", request("GET", "/exact", strings.TrimSpace(filler(514)))+sentinel),
	raw("header line of 600 bytes", request("GET", "/exact", "X: "+strings.Repeat("y", 600))+sentinel),
	raw("header line of 5000 bytes", request("GET", "/exact", "Cookie: "+strings.Repeat("y", 5000))+sentinel),
	raw("name of 600 bytes", request("GET", "/exact", strings.Repeat("N", 600)+": v")+sentinel),
	raw("many header lines that fit", request("GET", "/exact", strings.TrimSpace(strings.Repeat(filler(100), 8)))+sentinel),
	raw("many header lines that do not", request("GET", "/exact", strings.TrimSpace(strings.Repeat(filler(100), 20)))+sentinel),
	raw("1000 header lines", request("GET", "/exact", strings.TrimSpace(strings.Repeat("A: b\r\n", 1000)))+sentinel),
	raw("Host in a large buffer", "GET /exact HTTP/1.1\r\n"+filler(240)+"Host: second.example\r\n\r\n"+sentinel),
	raw("the first buffer full behind the request line", "GET /"+strings.Repeat("u", 256-16)+" HTTP/1.1\r\nHost: a\r\n\r\n"+sentinel),
	raw("the first buffer full behind a header line", "GET /exact HTTP/1.1\r\n"+filler(256-21)+"Host: second.example\r\n\r\n"+sentinel),
	raw("both large buffers full behind the lines", "GET /"+strings.Repeat("u", 512-16)+" HTTP/1.1\r\n"+filler(512)+filler(20)+"Host: a\r\n\r\n"+sentinel),
	raw("carriage return at the end of the buffer", "GET /exact HTTP/1.1\r\n"+filler(256-21-2)+"\n\r\n"+sentinel),
	raw("pipelined in large buffers", strings.Repeat("GET /exact HTTP/1.1\r\nHost: a\r\n"+filler(300)+"\r\n", 20)+sentinel),
	raw("pipelined in buffers of two servers", strings.Repeat("GET /exact HTTP/1.1\r\nHost: small.example\r\n"+filler(250)+filler(250)+"\r\nGET /exact HTTP/1.1\r\nHost: first.example\r\n"+filler(400)+"\r\n", 10)+sentinel),
	raw("a large buffer smaller than the line to move", "GET /exact HTTP/1.1\r\nHost: small.example\r\n"+filler(280)+filler(290)+filler(290)+"\r\n"+sentinel),
	raw("invalid header in a large buffer", "GET /exact HTTP/1.1\r\nHost: a\r\n"+filler(250)+"X\x00: y\r\n\r\n"+sentinel),
	raw("garbage of 2000 bytes", strings.Repeat("\xde\xad\xbe\xef", 500)),
	raw("a letter at a time", strings.Split(request("GET", "/exact?a=b", "X: y")+sentinel, "")...),
	raw("a chunked body a letter at a time", strings.Split(request("POST", "/gone", "Transfer-Encoding: chunked")+"3;x\r\nabc\r\n0\r\nT: u\r\n\r\n"+sentinel, "")...),
	raw("line feeds a letter at a time", strings.Split("\r\n\r\n"+sentinel, "")...),

	raw("body", request("POST", "/gone", "Content-Length: 5")+"hello"+sentinel),
	raw("body to return 200", request("POST", "/exact", "Content-Length: 5")+"hello"+sentinel),
	raw("body of a GET", request("GET", "/status", "Content-Length: 5")+"hello"+sentinel),
	raw("body cut short", request("POST", "/exact", "Content-Length: 5")+"he"),
	raw("body with the header of another request", request("POST", "/exact", "Content-Length: 70")+sentinel+sentinel),
	raw("body in two parts", request("POST", "/exact", "Content-Length: 5")+"he", "llo"+sentinel),
	raw("body after its header", request("POST", "/exact", "Content-Length: 5"), "hello"+sentinel),
	raw("body after the header, closing", request("POST", "/exact", "Content-Length: 5", "Connection: close"), "hello"+sentinel),
	raw("body after the header, 404", request("POST", "/files/x", "Content-Length: 900"), strings.Repeat("x", 900)+sentinel),
	raw("body of the greatest size", request("POST", "/gone", "Content-Length: 1000")+strings.Repeat("x", 1000)+sentinel),
	raw("body too large", request("POST", "/gone", "Content-Length: 1001")+strings.Repeat("x", 1001)+sentinel),
	raw("body much too large", request("POST", "/exact", "Content-Length: 100000")+strings.Repeat("x", 100000)+sentinel),
	raw("body too large for a server that just returns", "POST / HTTP/1.1\r\nHost: second.example\r\nContent-Length: 5000\r\n\r\n"+strings.Repeat("x", 5000)+sentinel),
	raw("chunks after their header", request("POST", "/exact", "Transfer-Encoding: chunked"), "3\r\nabc\r\n0\r\n\r\n"+sentinel),
	raw("chunks with pipelined requests behind", request("POST", "/exact", "Transfer-Encoding: chunked"), "1\r\nx\r\n0\r\n\r\n"+strings.Repeat(request("GET", "/exact"), 3)+sentinel),
	raw("bad chunks after their header", request("POST", "/exact", "Transfer-Encoding: chunked"), "zzz\r\n"+sentinel),
	raw("chunks in parts", request("POST", "/gone", "Transfer-Encoding: chunked")+"1", "0\r\n0123456789", "abcdef\r\n0\r\n", "\r\n"+sentinel),
	raw("chunked in 1.0", "POST /exact HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"+sentinel),
	raw("100-continue", request("POST", "/exact", "Content-Length: 5", "Expect: 100-continue"), "hello"+sentinel),
	raw("100-continue, 410", request("POST", "/gone", "Content-Length: 5", "Expect: 100-continue"), "hello"+sentinel),
	raw("100-continue in 1.0", "POST /exact HTTP/1.0\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\nhello"+sentinel),
	raw("100-continue, too large", request("POST", "/exact", "Content-Length: 5000", "Expect: 100-continue")+sentinel),
	raw("a second request while the first is read", "GET /exact HT", "TP/1.1\r\nHost: a\r\n\r\nGET /ex", "act HTTP/1.1\r\nHost: a\r\n\r\n"+sentinel),
	raw("smuggled: Content-Length and chunked", request("POST", "/exact", "Content-Length: 6", "Transfer-Encoding: chunked")+"0\r\n\r\nX"+sentinel),
	raw("smuggled: two Content-Lengths", request("POST", "/exact", "Content-Length: 6", "Content-Length: 5")+"hello!"+sentinel),
	raw("smuggled: xchunked", request("POST", "/exact", "Transfer-Encoding: xchunked")+"0\r\n\r\n"+sentinel),
	raw("smuggled: space before the colon", request("POST", "/exact", "Content-Length : 5")+"hello"+sentinel),
	raw("smuggled: tab before chunked", request("POST", "/exact", "Transfer-Encoding:\tchunked")+"0\r\n\r\n"+sentinel),
}
