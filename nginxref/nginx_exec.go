//go:build linux

package main

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"herd/nginxref/conf"
	"herd/nginxref/core"
	"herd/nginxref/event"
	"herd/nginxref/process"
)

// nginxVar is the environment variable in which a binary that is being
// upgraded hands its listening sockets to the new one: their descriptors'
// numbers, each with a semicolon after it (NGINX_VAR).
const nginxVar = "NGINX"

// addInheritedSockets takes over the sockets of the binary before an upgrade.
// Mirrors ngx_add_inherited_sockets.
func (n *program) addInheritedSockets(cycle *cycle) core.Status {
	inherited, ok := os.LookupEnv(nginxVar)

	if !ok {
		return core.OK
	}

	os.Unsetenv(nginxVar) // DIVERGES: nginx's workers do not get the variable

	cycle.Log.Error(core.LogNotice, 0, "using inherited sockets from \"%s\"", inherited)

	v := 0

	for p := range len(inherited) {
		if inherited[p] == ':' || inherited[p] == ';' {
			s := conf.Atoi(inherited[v:p])
			if s == conf.Unset {
				cycle.Log.Error(core.LogEmerg, 0, "invalid socket number \"%s\" in "+nginxVar+
					" environment variable, ignoring the rest of the variable", inherited[v:])
				v = len(inherited)
				break
			}

			v = p + 1

			unix.CloseOnExec(s)

			cycle.Listening = append(cycle.Listening, &event.Listening{Fd: s, Inherited: true})
		}
	}

	if v != len(inherited) {
		cycle.Log.Error(core.LogEmerg, 0, "invalid socket number \"%s\" in "+nginxVar+
			" environment variable, ignoring", inherited[v:])
	}

	n.inherited = true

	return cycle.SetInheritedSockets()
}

// environment returns what a process may see of the environment: the
// variables of env directives, and TZ. Mirrors ngx_set_environment.
func (n *program) environment(cycle *cycle) []string {
	var env []string

	vars := cycle.core.env

	hasTZ := false
	for _, v := range vars {
		hasTZ = hasTZ || v == "TZ" || strings.HasPrefix(v, "TZ=")
	}
	if !hasTZ {
		vars = append(vars[:len(vars):len(vars)], "TZ")
	}

	for _, v := range vars {

		if strings.Contains(v, "=") {
			env = append(env, v)
			continue
		}

		for _, p := range n.environ {

			if strings.HasPrefix(p, v+"=") {
				env = append(env, p)
				break
			}
		}
	}

	return env
}

// execNewBinary starts the program anew with the listening sockets of this
// one, and returns its process id or process.InvalidPid. The pid file is the
// new master's from then on; this one's is renamed. Mirrors
// ngx_exec_new_binary.
//
// DIVERGES: the program is looked for where it was at the start, so that it
// need not have been started by its full path.
func (n *program) execNewBinary(cycle *event.Cycle) int {
	ctx := process.ExecCtx{
		Path: n.executable,
		Name: "new binary process",
		Argv: n.argv,
	}

	env := n.environment(n.current)

	v := nginxVar + "="

	for _, ls := range cycle.Listening {
		v += fmt.Sprintf("%d;", 3+len(ctx.Files))
		ctx.Files = append(ctx.Files, uintptr(ls.Fd))
	}

	ctx.Envp = append(env, v)

	for _, e := range ctx.Envp {
		cycle.Log.Debug(core.LogDebugCore, 0, "env: %s", e)
	}

	ccf := &cycle.Conf

	if err := os.Rename(ccf.Pid, ccf.Oldpid); err != nil {
		cycle.Log.Error(core.LogAlert, core.ErrnoOf(err),
			"rename() %s to %s failed before executing new binary process \"%s\"",
			ccf.Pid, ccf.Oldpid, n.argv[0])

		return process.InvalidPid
	}

	pid := n.process.Execute(cycle, &ctx)

	if pid == process.InvalidPid {
		if err := os.Rename(ccf.Oldpid, ccf.Pid); err != nil {
			cycle.Log.Error(core.LogAlert, core.ErrnoOf(err),
				"rename() %s back to %s failed after an attempt to execute new binary process \"%s\"",
				ccf.Oldpid, ccf.Pid, n.argv[0])
		}
	}

	return pid
}
