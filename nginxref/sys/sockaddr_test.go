package sys_test

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"strings"
	"testing"

	"herd/nginxref/sys"
)

// unixSockaddr is what the kernel stores for a peer whose sun_path is path.
func unixSockaddr(path string) sys.Sockaddr {
	var sa sys.Sockaddr
	binary.NativeEndian.PutUint16(sa.Raw[:], sys.AF_UNIX)
	sa.Len = uint32(2 + copy(sa.Raw[2:], path))
	return sa
}

// The texts are those of ngx_sock_ntop.
func TestSockaddrText(t *testing.T) {
	tcp := func(s string) sys.Sockaddr { return sys.TCPSockaddr(netip.MustParseAddrPort(s)) }
	long := "/" + strings.Repeat("a", 106)
	for _, c := range []struct {
		name          string
		sa            sys.Sockaddr
		family        int
		port          int
		with, without string
	}{
		{"v4", tcp("127.0.0.1:8080"), sys.AF_INET, 8080, "127.0.0.1:8080", "127.0.0.1"},
		{"v4 any", tcp("0.0.0.0:0"), sys.AF_INET, 0, "0.0.0.0:0", "0.0.0.0"},
		{"v4 port above 32767", tcp("10.1.2.3:65535"), sys.AF_INET, 65535, "10.1.2.3:65535", "10.1.2.3"},
		{"v6 loopback", tcp("[::1]:80"), sys.AF_INET6, 80, "[::1]:80", "::1"},
		{"v6 any", tcp("[::]:80"), sys.AF_INET6, 80, "[::]:80", "::"},
		{"v6", tcp("[2001:db8::a:0:0:1]:443"), sys.AF_INET6, 443, "[2001:db8::a:0:0:1]:443", "2001:db8::a:0:0:1"},
		{"v6 without zeros", tcp("[1:2:3:4:5:6:7:8]:1"), sys.AF_INET6, 1, "[1:2:3:4:5:6:7:8]:1", "1:2:3:4:5:6:7:8"},
		{"v6 one zero group", tcp("[1:0:3:4:5:6:7:8]:1"), sys.AF_INET6, 1, "[1:0:3:4:5:6:7:8]:1", "1:0:3:4:5:6:7:8"},
		{"v6 two runs of zeros", tcp("[1:0:0:4:5:0:0:8]:1"), sys.AF_INET6, 1, "[1::4:5:0:0:8]:1", "1::4:5:0:0:8"},
		{"v6 zeros at the end", tcp("[1:2:3::]:1"), sys.AF_INET6, 1, "[1:2:3::]:1", "1:2:3::"},
		{"v6 full", tcp("[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:1"), sys.AF_INET6, 1,
			"[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:1", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"},
		{"v4 compatible", tcp("[::1.2.3.4]:80"), sys.AF_INET6, 80, "[::1.2.3.4]:80", "::1.2.3.4"},
		{"v4 compatible, of one word", tcp("[::102]:80"), sys.AF_INET6, 80, "[::0.0.1.2]:80", "::0.0.1.2"},
		{"v6 of one word that ends in 1", tcp("[::101]:80"), sys.AF_INET6, 80, "[::101]:80", "::101"},
		{"v6 of one byte", tcp("[::2]:80"), sys.AF_INET6, 80, "[::2]:80", "::2"},
		{"v4 in v6", tcp("[::ffff:1.2.3.4]:80"), sys.AF_INET6, 80, "[::ffff:1.2.3.4]:80", "::ffff:1.2.3.4"},
		{"unix", unixSockaddr("/tmp/s\x00"), sys.AF_UNIX, 0, "unix:/tmp/s", "unix:/tmp/s"},
		{"unix without the zero", unixSockaddr("/tmp/s"), sys.AF_UNIX, 0, "unix:/tmp/s", "unix:/tmp/s"},
		{"unix of full length", unixSockaddr(long + "a"), sys.AF_UNIX, 0, "unix:" + long + "a", "unix:" + long + "a"},
		{"unix unnamed", unixSockaddr(""), sys.AF_UNIX, 0, "unix:", "unix:"},
		{"unix abstract", unixSockaddr("\x00name"), sys.AF_UNIX, 0, "unix:", "unix:"},
		{"none", sys.Sockaddr{}, 0, 0, "", ""},
		{"another family", sys.Sockaddr{Len: 2, Raw: [112]byte{0xff, 0xff}}, 0xffff, 0, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.sa.Family(); got != c.family {
				t.Errorf("family %d, want %d", got, c.family)
			}
			if got := c.sa.Port(); got != c.port {
				t.Errorf("port %d, want %d", got, c.port)
			}
			if got := string(c.sa.AppendText([]byte("to "), true)); got != "to "+c.with {
				t.Errorf("with port %q, want %q", got, "to "+c.with)
			}
			if got := string(c.sa.AppendText(nil, false)); got != c.without {
				t.Errorf("without port %q, want %q", got, c.without)
			}
		})
	}
}

func TestUnixSockaddrTakes107Bytes(t *testing.T) {
	fits := strings.Repeat("p", 107)
	sa, ok := sys.UnixSockaddr(fits)
	if !ok || sa.Path() != fits || sa.Len != 110 {
		t.Errorf("107 bytes: ok %v, length %d, path %q", ok, sa.Len, sa.Path())
	}
	if _, ok := sys.UnixSockaddr(fits + "p"); ok {
		t.Error("108 bytes were taken")
	}
}

func TestSockaddrTextDoesNotAllocate(t *testing.T) {
	v4 := sys.TCPSockaddr(netip.MustParseAddrPort("127.0.0.1:8080"))
	v6 := sys.TCPSockaddr(netip.MustParseAddrPort("[2001:db8::1]:8080"))
	path, _ := sys.UnixSockaddr("/run/herd.sock")
	buf := make([]byte, 128)
	for _, sa := range []*sys.Sockaddr{&v4, &v6, &path} {
		if n := testing.AllocsPerRun(100, func() { sa.AppendText(buf[:0], true) }); n != 0 {
			t.Errorf("%s: %v allocations", sa, n)
		}
	}
}

// Whatever bytes the kernel stores, the text is the family's.
func FuzzSockaddr(f *testing.F) {
	f.Add([]byte("\x02\x00\x00\x50\x7f\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00"))
	f.Add([]byte("\x0a\x00\x00\x50"))
	f.Add([]byte("\x01\x00/tmp/s\x00"))
	f.Add([]byte("\x01\x00"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var sa sys.Sockaddr
		sa.Len = uint32(copy(sa.Raw[:], raw))
		text := string(sa.AppendText(nil, true))
		switch sa.Family() {
		case sys.AF_INET, sys.AF_INET6:
			ap, err := netip.ParseAddrPort(text)
			addr := ap.Addr().AsSlice()
			stored := sa.Raw[4:8]
			if len(addr) == 16 {
				stored = sa.Raw[8:24]
			}
			if err != nil || int(ap.Port()) != sa.Port() || !bytes.Equal(addr, stored) {
				t.Errorf("%q of % x: %v", text, stored, err)
			}
		case sys.AF_UNIX:
			if !strings.HasPrefix(text, "unix:") || strings.Contains(text, "\x00") {
				t.Errorf("%q", text)
			}
		default:
			if text != "" {
				t.Errorf("%q of family %d", text, sa.Family())
			}
		}
	})
}
