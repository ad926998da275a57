package sys

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"strconv"
)

// Address families of Linux, spelled out for the same reason as the epoll
// bits.
const (
	AF_UNIX  = 1
	AF_INET  = 2
	AF_INET6 = 10
)

// Sockaddr holds an address as the kernel stores it (ngx_sockaddr_t): family
// in host order, port and address in network order. The zero value is empty.
type Sockaddr struct {
	Len uint32 // bytes of Raw in use
	Raw [112]byte
}

// SockaddrStrlen is the longest printed form, in bytes (NGX_SOCKADDR_STRLEN):
// that of a Unix socket.
const SockaddrStrlen = len("unix:") + 108

// Family returns the address family, or 0 if there is none.
func (sa *Sockaddr) Family() int {
	if sa.Len < 2 {
		return 0
	}
	return int(binary.NativeEndian.Uint16(sa.Raw[:]))
}

// Port returns the TCP port, or 0 for a family that has none.
func (sa *Sockaddr) Port() int {
	switch sa.Family() {
	case AF_INET, AF_INET6:
		return int(binary.BigEndian.Uint16(sa.Raw[2:]))
	}
	return 0
}

// Path returns the path of an AF_UNIX address; empty for an unnamed peer and,
// as nginx has it, for an abstract name, which begins with a zero.
func (sa *Sockaddr) Path() string {
	if sa.Family() != AF_UNIX {
		return ""
	}
	return string(sa.path())
}

// path returns the bytes of sun_path up to the first zero.
func (sa *Sockaddr) path() []byte {
	path, _, _ := bytes.Cut(sa.Raw[2:sa.Len], []byte{0})
	return path
}

// AppendText appends the printed form: "127.0.0.1:80", "[::1]:80" or
// "unix:/path". Without port the port and its brackets are left out. It
// mirrors ngx_sock_ntop.
func (sa *Sockaddr) AppendText(b []byte, port bool) []byte {
	switch sa.Family() {
	case AF_INET:
		b = appendInet(b, sa.Raw[4:8])
	case AF_INET6:
		if port {
			b = append(b, '[')
		}
		b = appendInet6(b, sa.Raw[8:24])
		if port {
			b = append(b, ']')
		}
	case AF_UNIX:
		b = append(b, "unix:"...)
		return append(b, sa.path()...)
	default:
		return b
	}

	if !port {
		return b
	}
	b = append(b, ':')
	return strconv.AppendInt(b, int64(sa.Port()), 10)
}

// appendInet appends the four bytes of an IPv4 address: "127.0.0.1".
func appendInet(b, addr []byte) []byte {
	for i, n := range addr {
		if i > 0 {
			b = append(b, '.')
		}
		b = strconv.AppendUint(b, uint64(n), 10)
	}
	return b
}

// appendInet6 appends an IPv6 address, its longest run of zeros as "::" and the
// last four bytes of one that holds an IPv4 address, "::1.2.3.4", as those.
// Mirrors ngx_inet6_ntop.
func appendInet6(b, addr []byte) []byte {
	zero, run := longestZeros(addr)

	n := 16
	if zero == 0 {
		mapped := run == 5 && addr[10] == 0xff && addr[11] == 0xff
		if mapped || run == 6 || run == 7 && addr[14] != 0 && addr[15] != 1 {
			n = 12
		}
		b = append(b, ':')
	}

	for i := 0; i < n; i += 2 {
		if i == zero {
			b = append(b, ':')
			i += (run - 1) * 2
			continue
		}

		b = strconv.AppendUint(b, uint64(binary.BigEndian.Uint16(addr[i:])), 16)
		if i < 14 {
			b = append(b, ':')
		}
	}

	if n == 12 {
		b = appendInet(b, addr[12:])
	}
	return b
}

// longestZeros returns where the longest run of zero words begins, the first
// of those that are as long, and its length in words; -1 if none has two.
//
// DIVERGES: its own function; in nginx it is the beginning of ngx_inet6_ntop.
func longestZeros(addr []byte) (zero, run int) {
	zero, run = -1, 1
	last, n := -1, 0

	for i := 0; i < 16; i += 2 {
		if addr[i] != 0 || addr[i+1] != 0 {
			n = 0
			continue
		}
		if n++; n == 1 {
			last = i
		}
		if run < n {
			zero, run = last, n
		}
	}
	return zero, run
}

// String returns the printed form with the port.
func (sa *Sockaddr) String() string { return string(sa.AppendText(nil, true)) }

// TCPSockaddr returns the address of a TCP endpoint.
func TCPSockaddr(ap netip.AddrPort) Sockaddr {
	var sa Sockaddr

	a := ap.Addr()
	if a.Is4() {
		binary.NativeEndian.PutUint16(sa.Raw[:], AF_INET)
		binary.BigEndian.PutUint16(sa.Raw[2:], ap.Port())
		ip := a.As4()
		copy(sa.Raw[4:], ip[:])
		sa.Len = 16
		return sa
	}
	binary.NativeEndian.PutUint16(sa.Raw[:], AF_INET6)
	binary.BigEndian.PutUint16(sa.Raw[2:], ap.Port())
	ip := a.As16()
	copy(sa.Raw[8:], ip[:])
	sa.Len = 28
	return sa
}

// UnixSockaddr returns the address of an AF_UNIX socket; ok is false if the
// path does not fit (107 bytes and a terminating zero).
func UnixSockaddr(path string) (sa Sockaddr, ok bool) {
	if len(path) > 107 {
		return sa, false
	}
	binary.NativeEndian.PutUint16(sa.Raw[:], AF_UNIX)
	copy(sa.Raw[2:], path)
	sa.Len = uint32(2 + len(path) + 1)
	return sa, true
}
