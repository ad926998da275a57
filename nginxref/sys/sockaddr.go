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
	var addr netip.Addr

	switch sa.Family() {
	case AF_INET:
		addr = netip.AddrFrom4([4]byte(sa.Raw[4:8]))
	case AF_INET6:
		addr = netip.AddrFrom16([16]byte(sa.Raw[8:24]))
	case AF_UNIX:
		b = append(b, "unix:"...)
		return append(b, sa.path()...)
	default:
		return b
	}

	if !port {
		return addr.AppendTo(b)
	}
	if sa.Family() == AF_INET6 {
		b = append(b, '[')
		b = addr.AppendTo(b)
		b = append(b, ']')
	} else {
		b = addr.AppendTo(b)
	}
	b = append(b, ':')
	return strconv.AppendInt(b, int64(sa.Port()), 10)
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
