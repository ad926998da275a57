package http

import (
	"fmt"
	"strings"

	"herd/nginxref/core"
	"herd/nginxref/sys"
)

// Addr is an address that servers listen on (ngx_http_addr_conf_t).
type Addr struct {
	sockaddr      sys.Sockaddr
	defaultServer *Server
	virtualNames  *virtualNames // nil if there is only one server
}

// virtualNames finds a server by the name of the host (ngx_hash_combined_t).
//
// DIVERGES: Go's maps, not nginx's hashes.
type virtualNames struct {
	exact map[string]*Server
	head  map[string]*Server // "example.com" for "*.example.com"
	tail  map[string]*Server // "www.example" for "www.example.*"
}

// NewAddr returns an address that servers listen on, one of which must be the
// default one. A name that two servers claim is the first one's, which is
// warned of in log.
func NewAddr(sa sys.Sockaddr, defaultServer *Server, servers []*Server, log *core.Log) (*Addr, error) {
	addr := &Addr{sockaddr: sa, defaultServer: defaultServer}
	if len(servers) == 1 {
		return addr, nil
	}
	return addr, addr.serverNames(servers, log)
}

// serverNames makes the table of names. Mirrors ngx_http_server_names.
func (addr *Addr) serverNames(servers []*Server, log *core.Log) error {
	vn := &virtualNames{
		exact: make(map[string]*Server),
		head:  make(map[string]*Server),
		tail:  make(map[string]*Server),
	}

	for _, cscf := range servers {
		names := cscf.Names
		if len(names) == 0 {
			names = []string{""}
		}
		for _, name := range names {
			busy, ok := vn.addKey(Lower(name), cscf)
			if !ok {
				return fmt.Errorf("invalid server name or wildcard \"%s\" on %s", name, &addr.sockaddr)
			}
			if busy {
				log.Error(core.LogWarn, 0, "conflicting server name \"%s\" on %s, ignored",
					name, addr.sockaddr.String())
			}
		}
	}

	addr.virtualNames = vn
	return nil
}

// addKey adds a name, which may be a wildcard. busy says that it was there
// already, ok is false if it is malformed. Mirrors ngx_hash_add_key.
func (vn *virtualNames) addKey(key string, cscf *Server) (busy, ok bool) {
	stars := strings.Count(key, "*")
	if stars > 1 || strings.Contains(key, "..") || strings.Contains(key, "\x00") {
		return false, false
	}

	switch {
	case len(key) > 1 && key[0] == '.':
		if add(vn.exact, key[1:], cscf) {
			return true, true
		}
		return add(vn.head, key[1:], cscf), true

	case len(key) > 2 && strings.HasPrefix(key, "*."):
		return add(vn.head, key[2:], cscf), true

	case len(key) > 2 && strings.HasSuffix(key, ".*"):
		return add(vn.tail, key[:len(key)-2], cscf), true
	}

	if stars > 0 {
		return false, false
	}
	return add(vn.exact, key, cscf), true
}

// add reports whether key was in m already; if not, it is now.
func add(m map[string]*Server, key string, cscf *Server) (busy bool) {
	if m[key] != nil {
		return true
	}
	m[key] = cscf
	return false
}

// find returns the server of host, which is lower case, or nil. A full name
// goes before a leading wildcard and that before a trailing one; of two
// wildcards the longer matches. Mirrors ngx_hash_find_combined.
func (vn *virtualNames) find(host []byte) *Server {
	if cscf := vn.exact[string(host)]; cscf != nil {
		return cscf
	}

	for i, ch := range host {
		if ch == '.' {
			if cscf := vn.head[string(host[i+1:])]; cscf != nil {
				return cscf
			}
		}
	}

	for i := len(host) - 1; i >= 0; i-- {
		if host[i] == '.' {
			if cscf := vn.tail[string(host[:i])]; cscf != nil {
				return cscf
			}
		}
	}

	return nil
}

// initPhaseHandlers lays out the phases that a request goes through. Mirrors
// ngx_http_init_phase_handlers.
//
// DIVERGES: the phases between those are left out, nothing is done in them.
func (cmcf *Main) initPhaseHandlers() {
	cmcf.phaseEngine = []phaseHandler{
		{coreRewritePhase, rewriteHandler}, // of the server
		{coreFindConfigPhase, nil},
		{coreRewritePhase, rewriteHandler}, // of the location
		{coreContentPhase, indexHandler},
		{coreContentPhase, staticHandler},
	}
}
