package conf

import (
	"strings"
	"testing"
)

func TestParseListen(t *testing.T) {
	for _, test := range []struct{ url, want string }{
		{"80", "0.0.0.0:80"},
		{"8000-8002", "0.0.0.0:8000 0.0.0.0:8001 0.0.0.0:8002"},
		{"*:81", "0.0.0.0:81"},
		{"*", "0.0.0.0:80"},
		{"127.0.0.1", "127.0.0.1:80"},
		{"127.0.0.1:8080", "127.0.0.1:8080"},
		{"127.0.0.1:81-82", "127.0.0.1:81 127.0.0.1:82"},
		{"127..001.1:81", "127.0.1.1:81"},
		{"[::]:80", "[::]:80"},
		{"[::1]", "[::1]:80"},
		{"[::1]:81-82", "[::1]:81 [::1]:82"},
		{"[::ffff:1.2.3.4]:80", "[::ffff:1.2.3.4]:80"},
		{"unix:/a/b", "unix:/a/b"},
		{"UNIX:/a/b", "unix:/a/b"},
		{"unix:", "! no path in the unix domain socket"},
		{"unix:/" + strings.Repeat("a", 107), "! too long path in the unix domain socket"},
		{"0", "! invalid port"},
		{"65536", "! invalid port"},
		{"1-65536", "! invalid port"},
		{"82-81", "! invalid port range"},
		{"*:82-81", "! invalid port range"},
		{"*:0", "! invalid port"},
		{"*:x", "! invalid port"},
		{"*:", "! invalid port"},
		{":80", "! no host"},
		{"", "! no host"},
		{"a/b", "! invalid host"},
		{"a?b:80", "! invalid host"},
		{"[::1", "! invalid host"},
		{"[::1]x", "! invalid host"},
		{"[::1]:80/", "! invalid host"},
		{"[]:80", "! no host"},
		{"[::g]:80", "! invalid IPv6 address"},
		{"[1.2.3.4]:80", "! invalid IPv6 address"},
		{"255.255.255.255.255", "! host not found"},
	} {
		addrs, err := ParseListen(test.url)

		var got []string
		if err != nil {
			got = append(got, "!", err.Error())
		}
		for i := range addrs {
			got = append(got, addrs[i].String())
		}
		if got := strings.Join(got, " "); got != test.want {
			t.Errorf("listen %s: %s, want %s", test.url, got, test.want)
		}
	}
}

func TestParseCIDR(t *testing.T) {
	for _, test := range []struct{ s, want string }{
		{"10.0.0.1", "10.0.0.1/32"},
		{"10.0.0.0/8", "10.0.0.0/8"},
		{"10.1.0.0/8", "10.0.0.0/8 low address bits are meaningless"},
		{"0.0.0.0/0", "0.0.0.0/0"},
		{"::1", "::1/128"},
		{"2001:db8::/32", "2001:db8::/32"},
		{"2001:db8::1/32", "2001:db8::/32 low address bits are meaningless"},
		{"10.0.0.0/33", "invalid Prefix not a network"},
		{"10.0.0.0/", "invalid Prefix not a network"},
		{"10.0.0.0/x", "invalid Prefix not a network"},
		{"::/129", "invalid Prefix not a network"},
		{"localhost", "invalid Prefix not a network"},
	} {
		prefix, err := ParseCIDR(test.s)

		got := prefix.String()
		if err != nil {
			got += " " + err.Error()
		}
		if got != test.want {
			t.Errorf("network %s: %s, want %s", test.s, got, test.want)
		}
	}
}
