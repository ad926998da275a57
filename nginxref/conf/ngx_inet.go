package conf

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"net/netip"
	"os"
	"slices"
	"strings"

	"herd/nginxref/sys"
)

// defaultPort is the port of a listen directive that names none.
const defaultPort = 80

// The errors of ParseListen, in nginx's words.
var (
	errNoPath       = errors.New("no path in the unix domain socket")
	errLongPath     = errors.New("too long path in the unix domain socket")
	errInvalidHost  = errors.New("invalid host")
	errInvalidPort  = errors.New("invalid port")
	errPortRange    = errors.New("invalid port range")
	errNoHost       = errors.New("no host")
	errInvalidIPv6  = errors.New("invalid IPv6 address")
	errHostNotFound = errors.New("host not found")
)

// ParseListen returns the addresses that a listen directive names:
// unix:/path, [::1]:80, 127.0.0.1:80, *:80, 80, localhost, or a port range
// such as 8000-8010. Mirrors ngx_parse_url with its listen flag.
func ParseListen(url string) ([]sys.Sockaddr, error) {
	if len(url) >= 5 && strings.EqualFold(url[:5], "unix:") {
		return parseUnixURL(url[5:])
	}

	if strings.HasPrefix(url, "[") {
		return parseInet6URL(url)
	}

	return parseInetURL(url)
}

// parseUnixURL mirrors ngx_parse_unix_domain_url.
func parseUnixURL(path string) ([]sys.Sockaddr, error) {
	if len(path) == 0 {
		return nil, errNoPath
	}

	sa, ok := sys.UnixSockaddr(path)
	if !ok {
		return nil, errLongPath
	}

	return []sys.Sockaddr{sa}, nil
}

// parseInetURL mirrors ngx_parse_inet_url.
func parseInetURL(url string) ([]sys.Sockaddr, error) {
	host, port, hasPort := strings.Cut(url, ":")

	if strings.ContainsAny(url, "/?") {
		return nil, errInvalidHost
	}

	first, last := defaultPort, defaultPort

	if hasPort {
		var err error

		if first, last, err = parsePorts(port); err != nil {
			return nil, err
		}

	} else if isPorts(url) {
		var err error

		if first, last, err = parsePorts(url); err != nil {
			return nil, err
		}

		return addPorts(netip.IPv4Unspecified(), first, last), nil
	}

	if len(host) == 0 {
		return nil, errNoHost
	}

	if host == "*" {
		return addPorts(netip.IPv4Unspecified(), first, last), nil
	}

	if addr, ok := inetAddr(host); ok {
		return addPorts(addr, first, last), nil
	}

	addrs, err := ResolveHost(host)
	if err != nil {
		return nil, err
	}

	var all []sys.Sockaddr

	for _, addr := range addrs {
		all = append(all, addPorts(addr, first, last)...)
	}

	return all, nil
}

// parseInet6URL mirrors ngx_parse_inet6_url.
func parseInet6URL(url string) ([]sys.Sockaddr, error) {
	host, port, ok := strings.Cut(url[1:], "]")

	if !ok {
		return nil, errInvalidHost
	}

	if strings.Contains(port, "/") {
		return nil, errInvalidHost
	}

	first, last := defaultPort, defaultPort

	if len(port) > 0 {
		if port[0] != ':' {
			return nil, errInvalidHost
		}

		var err error

		if first, last, err = parsePorts(port[1:]); err != nil {
			return nil, err
		}
	}

	if len(host) == 0 {
		return nil, errNoHost
	}

	addr, ok := inet6Addr(host)
	if !ok {
		return nil, errInvalidIPv6
	}

	return addPorts(addr, first, last), nil
}

// isPorts reports whether s is a number or two with a dash between them, and
// not the name of a host.
func isPorts(s string) bool {
	first, last, dash := strings.Cut(s, "-")

	return Atoi(first) != Unset && (!dash || Atoi(last) != Unset)
}

// parsePorts returns the ends of a range such as 8000-8010, which are the
// same for a single port.
//
// DIVERGES: its own function; nginx writes it out three times.
func parsePorts(s string) (first, last int, err error) {
	s, end, dash := strings.Cut(s, "-")

	if dash {
		last = Atoi(end)

		if last < 1 || last > 65535 {
			return 0, 0, errInvalidPort
		}
	}

	first = Atoi(s)

	if first < 1 || first > 65535 {
		return 0, 0, errInvalidPort
	}

	if dash && first > last {
		return 0, 0, errPortRange
	}

	return first, max(first, last), nil
}

// addPorts returns addr with each port of a range. Mirrors ngx_inet_add_addr.
func addPorts(addr netip.Addr, first, last int) []sys.Sockaddr {
	var addrs []sys.Sockaddr

	for port := first; port <= last; port++ {
		addrs = append(addrs, sys.TCPSockaddr(netip.AddrPortFrom(addr, uint16(port))))
	}

	return addrs
}

// hostsFile is where names are looked up.
const hostsFile = "/etc/hosts"

// ResolveHost returns the addresses that /etc/hosts has for a host. Stands for
// ngx_inet_resolve_host.
//
// DIVERGES: nginx's getaddrinfo asks the name servers too. What Go has for
// that would be half of the program, and half of a worker's memory.
func ResolveHost(host string) ([]netip.Addr, error) {
	file, err := os.Open(hostsFile)
	if err != nil {
		return nil, errHostNotFound
	}
	defer file.Close()

	var addrs []netip.Addr

	for lines := bufio.NewScanner(file); lines.Scan(); {
		line, _, _ := strings.Cut(lines.Text(), "#")
		fields := strings.Fields(line) // address name alias...

		if len(fields) == 0 || !slices.ContainsFunc(fields[1:], func(name string) bool {
			return strings.EqualFold(name, host)
		}) {
			continue
		}
		if addr, err := netip.ParseAddr(fields[0]); err == nil && addr.Zone() == "" {
			addrs = append(addrs, addr)
		}
	}

	if len(addrs) == 0 {
		return nil, errHostNotFound
	}

	return addrs, nil
}

// inetAddr returns the address that s, four numbers, spells. Leading zeros
// mean nothing and a number may be left out for 0. Mirrors ngx_inet_addr.
func inetAddr(s string) (addr netip.Addr, ok bool) {
	var inaddr uint32
	octet, n := uint32(0), 0

	for _, c := range []byte(s) {
		if c >= '0' && c <= '9' {
			octet = octet*10 + uint32(c-'0')

			if octet > 255 {
				return addr, false
			}

			continue
		}

		if c == '.' {
			inaddr = inaddr<<8 + octet
			octet = 0
			n++
			continue
		}

		return addr, false
	}

	if n != 3 {
		return addr, false
	}

	inaddr = inaddr<<8 + octet

	// The address of all ones is what C returns for a failure.
	if inaddr == ^uint32(0) {
		return addr, false
	}

	return netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, inaddr))), true
}

// inet6Addr returns the IPv6 address that s spells. Stands for
// ngx_inet6_addr.
func inet6Addr(s string) (addr netip.Addr, ok bool) {
	addr, err := netip.ParseAddr(s)

	return addr, err == nil && addr.Is6() && addr.Zone() == ""
}

// ErrLowBits is returned with a network whose address has bits set outside
// its mask.
var ErrLowBits = errors.New("low address bits are meaningless")

var errNotCIDR = errors.New("not a network")

// ParseCIDR returns the network that s, an address with or without a number
// of mask bits, spells. Mirrors ngx_ptocidr.
func ParseCIDR(s string) (netip.Prefix, error) {
	text, mask, hasMask := strings.Cut(s, "/")

	addr, ok := inetAddr(text)
	if !ok {
		if addr, ok = inet6Addr(text); !ok {
			return netip.Prefix{}, errNotCIDR
		}
	}

	if !hasMask {
		return netip.PrefixFrom(addr, addr.BitLen()), nil
	}

	shift := Atoi(mask)
	if shift == Unset || shift > addr.BitLen() {
		return netip.Prefix{}, errNotCIDR
	}

	prefix := netip.PrefixFrom(addr, shift)

	if prefix.Masked().Addr() != addr {
		return prefix.Masked(), ErrLowBits
	}

	return prefix, nil
}

// SameAddress reports whether a and b are one address, and unless cmpPort is
// false with one port. Mirrors ngx_cmp_sockaddr.
func SameAddress(a, b *sys.Sockaddr, cmpPort bool) bool {
	if a.Family() != b.Family() {
		return false
	}

	switch a.Family() {

	case sys.AF_INET6:
		if cmpPort && a.Port() != b.Port() {
			return false
		}

		return bytes.Equal(a.Raw[8:24], b.Raw[8:24])

	case sys.AF_UNIX:
		return a.Path() == b.Path()

	default: // AF_INET
		if cmpPort && a.Port() != b.Port() {
			return false
		}

		return bytes.Equal(a.Raw[4:8], b.Raw[4:8])
	}
}
