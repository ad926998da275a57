package csrc

import (
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"strings"
)

// Build answers what an #if asks: which names are defined, and as what.
type Build struct {
	defined   map[string]int64
	undefined map[string]bool
}

// Linux is the build whose code the course mirrors: Debian's nginx 1.22.1,
// configured --with-debug --with-threads --with-http_stub_status_module on
// Linux with glibc. The values are those of the ngx_auto_config.h and
// ngx_auto_headers.h that its ./configure writes (x86-64; arm64 differs in
// none of them), of src/os/unix and of the system's headers. Only the names
// that conditions in and around mirrored functions use are listed: check
// fails on any other, so that no branch is left out by a name that is merely
// unknown here.
var Linux = newBuild(
	// Defined as 1.
	`NGX_DEBUG NGX_STAT_STUB NGX_SUPPRESS_WARN NGX_THREADS
	NGX_HAVE_ACCEPT4 NGX_HAVE_ATOMIC_OPS NGX_HAVE_CAPABILITIES
	NGX_HAVE_CLEAR_EVENT NGX_HAVE_DEFERRED_ACCEPT NGX_HAVE_EPOLL
	NGX_HAVE_EPOLLEXCLUSIVE NGX_HAVE_EPOLLRDHUP NGX_HAVE_EVENTFD
	NGX_HAVE_FIONREAD NGX_HAVE_INET6 NGX_HAVE_IPV6_RECVPKTINFO
	NGX_HAVE_IP_PKTINFO NGX_HAVE_KEEPALIVE_TUNABLE NGX_HAVE_MAP_ANON
	NGX_HAVE_MAP_DEVZERO NGX_HAVE_MSGHDR_MSG_CONTROL NGX_HAVE_POSIX_SEM
	NGX_HAVE_PR_SET_DUMPABLE NGX_HAVE_PR_SET_KEEPCAPS NGX_HAVE_REUSEPORT
	NGX_HAVE_SCHED_SETAFFINITY NGX_HAVE_SYSVSHM NGX_HAVE_SYS_EVENTFD_H
	NGX_HAVE_TCP_FASTOPEN NGX_HAVE_UNIX_DOMAIN
	IPV6_V6ONLY SO_PROTOCOL TCP_DEFER_ACCEPT WCOREDUMP`,
	// Defined, but as enumeration constants of <sys/epoll.h>: 0 to an #if.
	`EPOLLIN EPOLLOUT EPOLLRDHUP NGX_READ_EVENT NGX_WRITE_EVENT`,
	// Not defined.
	`NGX_BROKEN_SCM_RIGHTS NGX_DARWIN NGX_KEEPALIVE_FACTOR NGX_QUIC
	NGX_SOLARIS NGX_TEST_BUILD_DEVPOLL NGX_TEST_BUILD_EPOLL NGX_VALGRIND
	NGX_WIN32
	NGX_HAVE_CPUSET_SETAFFINITY NGX_HAVE_DEVPOLL NGX_HAVE_FILE_AIO
	NGX_HAVE_IPV6_DONTFRAG NGX_HAVE_IP_DONTFRAG NGX_HAVE_IP_RECVDSTADDR
	NGX_HAVE_KQUEUE NGX_HAVE_LOWAT_EVENT NGX_HAVE_SELECT NGX_HAVE_SETFIB
	SO_ACCEPTFILTER SO_REUSEPORT_LB __osf__`,
)

func newBuild(ones, zeros, undefined string) Build {
	b := Build{defined: map[string]int64{}, undefined: map[string]bool{}}
	for _, name := range strings.Fields(ones) {
		b.defined[name] = 1
	}
	for _, name := range strings.Fields(zeros) {
		b.defined[name] = 0
	}
	for _, name := range strings.Fields(undefined) {
		b.undefined[name] = true
	}
	return b
}

// guard matches the names that keep a header from being included twice.
var guard = regexp.MustCompile(`^_NGX_\w+_INCLUDED_$`)

// Lookup returns the value of a name, whether it is defined, and whether the
// build knows about it at all.
func (b Build) Lookup(name string) (value int64, defined, known bool) {
	value, defined = b.defined[name]
	return value, defined, defined || b.undefined[name] || guard.MatchString(name)
}

// With returns the build with settings, NAME=VALUE each, in place of its own;
// the value 0 leaves the name undefined.
func (b Build) With(settings ...string) (Build, error) {
	b.defined, b.undefined = maps.Clone(b.defined), maps.Clone(b.undefined)
	for _, s := range settings {
		name, text, _ := strings.Cut(s, "=")
		value, err := strconv.ParseInt(text, 0, 64)
		if err != nil {
			return b, fmt.Errorf("%q is no setting; write NAME=NUMBER", s)
		}
		if value == 0 {
			delete(b.defined, name)
			b.undefined[name] = true
			continue
		}
		b.defined[name] = value
	}
	return b, nil
}
