//go:build linux

package main

import (
	"os"
	"strings"

	"herd/nginxref/conf"
	"herd/nginxref/core"
	"herd/nginxref/event"
)

// coreConf is what is configured outside of any block, as far as it was
// (ngx_core_conf_t). What comes of it is event.CoreConf.
type coreConf struct {
	daemon          int
	master          int
	timerResolution core.Msec
	shutdownTimeout core.Msec

	workerProcesses int
	debugPoints     int
	rlimitNofile    int // descriptors
	priority        int

	cpuAffinity     []event.CPUSet
	cpuAffinityAuto bool

	username string
	user     int
	group    int

	workingDirectory *string
	pid              *string
	lockFile         *string

	env []string // "NAME", which is kept, or "NAME=value"
}

// coreModule is ngx_core_module.
var coreModule = &conf.Module{
	Name: "core",
	Type: conf.CoreModule,
	Commands: []conf.Command{
		{Name: "daemon", Type: conf.MainConf | conf.Flag, Set: conf.FlagSlot(func(c *cycle) *int { return &c.core.daemon })},
		{Name: "master_process", Type: conf.MainConf | conf.Flag, Set: conf.FlagSlot(func(c *cycle) *int { return &c.core.master })},
		{Name: "timer_resolution", Type: conf.MainConf | conf.Take1, Set: conf.MsecSlot(func(c *cycle) *core.Msec { return &c.core.timerResolution })},
		{Name: "pid", Type: conf.MainConf | conf.Take1, Set: conf.StrSlot(func(c *cycle) **string { return &c.core.pid })},
		{Name: "lock_file", Type: conf.MainConf | conf.Take1, Set: conf.StrSlot(func(c *cycle) **string { return &c.core.lockFile })},
		{Name: "worker_processes", Type: conf.MainConf | conf.Take1, Set: setWorkerProcesses},
		{Name: "debug_points", Type: conf.MainConf | conf.Take1, Set: conf.EnumSlot(func(c *cycle) *int { return &c.core.debugPoints }, debugPoints)},
		{Name: "user", Type: conf.MainConf | conf.Take12, Set: setUser},
		{Name: "worker_priority", Type: conf.MainConf | conf.Take1, Set: setPriority},
		{Name: "worker_cpu_affinity", Type: conf.MainConf | conf.OneMore, Set: setCPUAffinity},
		{Name: "worker_rlimit_nofile", Type: conf.MainConf | conf.Take1, Set: conf.NumSlot(func(c *cycle) *int { return &c.core.rlimitNofile })},
		{Name: "worker_shutdown_timeout", Type: conf.MainConf | conf.Take1, Set: conf.MsecSlot(func(c *cycle) *core.Msec { return &c.core.shutdownTimeout })},
		{Name: "working_directory", Type: conf.MainConf | conf.Take1, Set: conf.StrSlot(func(c *cycle) **string { return &c.core.workingDirectory })},
		{Name: "env", Type: conf.MainConf | conf.Take1, Set: setEnv},
	},
}

// debugPoints mirrors ngx_debug_points.
var debugPoints = []conf.Enum{
	{Name: "stop", Value: event.DebugPointsStop},
	{Name: "abort", Value: event.DebugPointsAbort},
}

// newCoreConf mirrors ngx_core_module_create_conf.
func newCoreConf() coreConf {
	return coreConf{
		daemon:          conf.Unset,
		master:          conf.Unset,
		timerResolution: conf.UnsetMsec,
		shutdownTimeout: conf.UnsetMsec,

		workerProcesses: conf.Unset,

		debugPoints:  conf.Unset,
		rlimitNofile: conf.Unset,

		user:  conf.Unset,
		group: conf.Unset,
	}
}

// oldpidExt is added to the name of the pid file of a master that is being
// upgraded (NGX_OLDPID_EXT).
const oldpidExt = ".oldbin"

// The user and groups of workers if the master is root and no user is
// configured; systems have one of the groups.
const defaultUser = "nobody"

var defaultGroups = []string{"nobody", "nogroup"}

// initCoreConf fills in what was not configured. Mirrors
// ngx_core_module_init_conf.
func (c *cycle) initCoreConf(log *core.Log) core.Status {
	ccf := &c.core

	initValue(&ccf.daemon, 1)
	initValue(&ccf.master, 1)
	initMsec(&ccf.timerResolution, 0)
	initMsec(&ccf.shutdownTimeout, 0)

	initValue(&ccf.workerProcesses, 1)
	initValue(&ccf.debugPoints, 0)

	if !ccf.cpuAffinityAuto && len(ccf.cpuAffinity) > 1 && len(ccf.cpuAffinity) != ccf.workerProcesses {
		log.Error(core.LogWarn, 0, "the number of \"worker_processes\" is not equal to "+
			"the number of \"worker_cpu_affinity\" masks, "+
			"using last mask for remaining worker processes")
	}

	pid := c.fullName(ccf.pid, pidPath)

	if ccf.user == conf.Unset && os.Geteuid() == 0 {
		if c.setDefaultUser(log) != core.OK {
			return core.Error
		}
	}

	c.lockFile = c.fullName(ccf.lockFile, lockPath)

	if old := c.old; old != nil && old.lockFile != "" && old.lockFile != c.lockFile {
		log.Error(core.LogEmerg, 0, "\"lock_file\" could not be changed, ignored")

		c.lockFile = old.lockFile
	}

	c.Conf = event.CoreConf{
		Master:          ccf.master == 1,
		WorkerProcesses: ccf.workerProcesses,
		TimerResolution: ccf.timerResolution,
		ShutdownTimeout: ccf.shutdownTimeout,

		DebugPoints:  ccf.debugPoints,
		RlimitNofile: ccf.rlimitNofile,
		RlimitCore:   conf.Unset,
		Priority:     ccf.priority,

		CPUAffinity:     ccf.cpuAffinity,
		CPUAffinityAuto: ccf.cpuAffinityAuto,

		Username: ccf.username,
		User:     ccf.user,
		Group:    ccf.group,

		Pid:    pid,
		Oldpid: pid + oldpidExt,
	}

	if ccf.workingDirectory != nil {
		c.Conf.WorkingDirectory = *ccf.workingDirectory
	}

	return core.OK
}

// initValue mirrors ngx_conf_init_value.
func initValue(field *int, value int) {
	if *field == conf.Unset {
		*field = value
	}
}

// initMsec mirrors ngx_conf_init_msec_value.
func initMsec(field *core.Msec, value core.Msec) {
	if *field == conf.UnsetMsec {
		*field = value
	}
}

// fullName returns the name, below the prefix, of what is configured or is
// name by default.
func (c *cycle) fullName(configured *string, name string) string {
	if configured != nil && *configured != "" {
		name = *configured
	}
	return conf.FullName(c.prefix, name)
}

// setDefaultUser mirrors part of ngx_core_module_init_conf.
func (c *cycle) setDefaultUser(log *core.Log) core.Status {
	ccf := &c.core

	user, ok := lookup("/etc/passwd", defaultUser)
	if !ok {
		log.Error(core.LogEmerg, 0, "getpwnam(\"%s\") failed", defaultUser)
		return core.Error
	}

	ccf.username = defaultUser
	ccf.user = user

	for _, name := range defaultGroups {
		if ccf.group, ok = lookup("/etc/group", name); ok {
			return core.OK
		}
	}

	log.Error(core.LogEmerg, 0, "getgrnam(\"%s\") failed", defaultGroups[0])
	return core.Error
}

// lookup returns the number, the third field, of a name in /etc/passwd or
// /etc/group.
//
// DIVERGES: nginx's getpwnam and getgrnam ask whatever the system has
// configured.
func lookup(file, name string) (id int, ok bool) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, false
	}

	for line := range strings.Lines(string(text)) {
		fields := strings.SplitN(line, ":", 4)
		if len(fields) == 4 && fields[0] == name {
			id = conf.Atoi(fields[2])
			return id, id != conf.Unset
		}
	}

	return 0, false
}

// setUser mirrors ngx_set_user.
func setUser(cf *conf.Conf, _ *conf.Command) error {
	ccf := &cf.Ctx.(*cycle).core

	if ccf.user != conf.Unset {
		return conf.ErrDuplicate
	}

	if os.Geteuid() != 0 {
		cf.LogError(core.LogWarn, 0, "the \"user\" directive makes sense only "+
			"if the master process runs with super-user privileges, ignored")
		return nil
	}

	ccf.username = cf.Args[1]

	user, ok := lookup("/etc/passwd", cf.Args[1])
	if !ok {
		return cf.Errorf("getpwnam(\"%s\") failed", cf.Args[1])
	}

	ccf.user = user

	group := cf.Args[len(cf.Args)-1]

	if ccf.group, ok = lookup("/etc/group", group); !ok {
		return cf.Errorf("getgrnam(\"%s\") failed", group)
	}

	return nil
}

// setEnv mirrors ngx_set_env.
func setEnv(cf *conf.Conf, _ *conf.Command) error {
	ccf := &cf.Ctx.(*cycle).core

	ccf.env = append(ccf.env, cf.Args[1])

	return nil
}

// setPriority mirrors ngx_set_priority.
func setPriority(cf *conf.Conf, _ *conf.Command) error {
	ccf := &cf.Ctx.(*cycle).core

	if ccf.priority != 0 {
		return conf.ErrDuplicate
	}

	value, minus := strings.CutPrefix(cf.Args[1], "-")

	if !minus {
		value = strings.TrimPrefix(value, "+")
	}

	ccf.priority = conf.Atoi(value)
	if ccf.priority == conf.Unset {
		return conf.ErrInvalidNumber
	}

	if minus {
		ccf.priority = -ccf.priority
	}

	return nil
}

// setCPUAffinity mirrors ngx_set_cpu_affinity.
func setCPUAffinity(cf *conf.Conf, _ *conf.Command) error {
	cycle := cf.Ctx.(*cycle)
	ccf := &cycle.core

	if ccf.cpuAffinity != nil {
		return conf.ErrDuplicate
	}

	mask := make([]event.CPUSet, len(cf.Args)-1)

	ccf.cpuAffinity = mask

	n := 1

	if cf.Args[1] == "auto" {

		if len(cf.Args) > 3 {
			return cf.Errorf("invalid number of arguments in \"worker_cpu_affinity\" directive")
		}

		ccf.cpuAffinityAuto = true

		for i := range min(cycle.program.ncpu, cpuSetsize) {
			mask[0].Set(i)
		}

		n = 2
	}

	for ; n < len(cf.Args); n++ {
		if err := parseMask(cf, cf.Args[n], &mask[n-1]); err != nil {
			return err
		}
	}

	return nil
}

// cpuSetsize is how many processors a mask has room for (CPU_SETSIZE).
const cpuSetsize = len(event.CPUSet{}) * 64

// parseMask adds the processors of a mask such as 0101, whose last digit is
// processor 0.
//
// DIVERGES: its own function; in nginx it is part of ngx_set_cpu_affinity.
func parseMask(cf *conf.Conf, value string, mask *event.CPUSet) error {
	if len(value) > cpuSetsize {
		return cf.Errorf("\"worker_cpu_affinity\" supports up to %d CPUs only", cpuSetsize)
	}

	i := 0

	for p := len(value) - 1; p >= 0; p-- {
		ch := value[p]

		if ch == ' ' {
			continue
		}

		i++

		if ch == '0' {
			continue
		}

		if ch == '1' {
			mask.Set(i - 1)
			continue
		}

		return cf.Errorf("invalid character \"%s\" in \"worker_cpu_affinity\"", value[p:p+1])
	}

	return nil
}

// setWorkerProcesses mirrors ngx_set_worker_processes.
func setWorkerProcesses(cf *conf.Conf, _ *conf.Command) error {
	cycle := cf.Ctx.(*cycle)
	ccf := &cycle.core

	if ccf.workerProcesses != conf.Unset {
		return conf.ErrDuplicate
	}

	if cf.Args[1] == "auto" {
		ccf.workerProcesses = cycle.program.ncpu
		return nil
	}

	ccf.workerProcesses = conf.Atoi(cf.Args[1])

	if ccf.workerProcesses == conf.Unset {
		return conf.ErrInvalidValue
	}

	return nil
}
