// Package conf reads nginx configuration files: the language
// (ngx_conf_file.c), sizes and times in it (ngx_parse.c) and addresses in it
// (ngx_inet.c). What the directives mean is not here: each table of them
// ([Module]) belongs to whoever the directives configure.
package conf

import (
	"errors"
	"fmt"
	"strings"

	"herd/nginxref/core"
	"herd/nginxref/sys"
)

// The bits of Command.Type: how many arguments, what kind of directive, and
// the blocks it may stand in (NGX_CONF_*).
const (
	NoArgs = 1 << iota
	Take1
	Take2
	Take3
	Take4
	Take5
	Take6
	Take7

	Block   // has a { } body
	Flag    // on or off
	Any     // any number of arguments
	OneMore // one argument or more
	TwoMore

	Take12 = Take1 | Take2

	MainConf = 0x01000000
	AnyConf  = 0xff000000
)

// maxArgs is one more than the most arguments a counted directive can have
// (NGX_CONF_MAX_ARGS).
const maxArgs = 8

// ModuleType says which blocks a module's directives are looked for in.
type ModuleType string

// The module types of nginx's core; [ConfModule] directives are known
// everywhere.
const (
	CoreModule ModuleType = "CORE"
	ConfModule ModuleType = "CONF"
)

// Module is a table of directives (the part of ngx_module_t that the parser
// looks at).
type Module struct {
	Name     string
	Type     ModuleType
	Commands []Command
}

// Command is one directive (ngx_command_t).
type Command struct {
	Name string
	Type uint32
	Set  Setter
}

// Setter stores a directive's arguments, Conf.Args[1:]. Its error is reported
// as `"name" directive ERROR`, unless it is ErrLogged. Mirrors the return
// value of ngx_command_t's set: NULL, NGX_CONF_ERROR or a string.
type Setter func(cf *Conf, cmd *Command) error

// ErrLogged says that a message with the reason is in the log already
// (NGX_CONF_ERROR).
var ErrLogged = errors.New("error in configuration")

// The errors that several setters share.
var (
	ErrDuplicate     = errors.New("is duplicate")
	ErrInvalidNumber = errors.New("invalid number")
	ErrInvalidValue  = errors.New("invalid value")
)

// Conf is the state of the parser (ngx_conf_t).
type Conf struct {
	Args    []string // of the current directive; its name is Args[0]
	Modules []*Module
	Prefix  string // of relative names in include, ends in "/"
	Source  Source // where the files come from
	Dump    *Dump  // where to keep what was read
	Log     *core.Log

	// The block that is being read. A setter of a block directive replaces
	// them, calls Parse and puts the old ones back.
	Ctx        any // what the block configures; known to its module's setters
	ModuleType ModuleType
	CmdType    uint32 // its bit in Command.Type

	file *confFile
}

// Param reads the directives of the -g option. Mirrors ngx_conf_param.
func (cf *Conf) Param(param string) error {
	if param == "" {
		return nil
	}

	cf.file = &confFile{buffer: buffer{data: []byte(param)}}
	cf.file.buffer.last = len(param)

	err := cf.Parse("")

	cf.file = nil

	return err
}

// Parse reads the named file or, if filename is empty, the rest of the
// current block. Mirrors ngx_conf_parse.
func (cf *Conf) Parse(filename string) error {
	if filename == "" {
		return cf.parse(cf.file.file != nil)
	}

	file, err := cf.Source.Open(filename)

	if err != nil {
		cf.LogError(core.LogEmerg, core.ErrnoOf(err), "open() \"%s\" failed", filename)
		return ErrLogged
	}

	prev := cf.file

	cf.file = &confFile{
		file:   file,
		name:   filename,
		size:   file.Size(),
		line:   1,
		buffer: buffer{data: make([]byte, bufferSize)},
		dump:   cf.Dump.add(filename),
	}

	rv := cf.parse(false)

	if err := file.Close(); err != nil {
		cf.Log.Error(core.LogAlert, core.ErrnoOf(err), "close() %s failed", filename)
		rv = ErrLogged
	}

	cf.file = prev

	return rv
}

// parse reads directives up to the end of the file or parameter or, if block
// is set, up to the closing brace.
//
// DIVERGES: its own function; in nginx it is the loop of ngx_conf_parse. The
// custom handlers of types{} and the like are left out, as those directives
// are.
func (cf *Conf) parse(block bool) error {
	for {
		switch rc := cf.readToken(); rc {

		case tokenError:
			return ErrLogged

		case blockDone:
			if !block {
				return cf.Errorf("unexpected \"}\"")
			}

			return nil

		case fileDone:
			if block {
				return cf.Errorf("unexpected end of file, expecting \"}\"")
			}

			return nil

		default:
			if rc == blockStart && cf.file.file == nil {
				return cf.Errorf("block directives are not supported in -g option")
			}

			if err := cf.handle(rc); err != nil {
				return err
			}
		}
	}
}

// handle finds the directive in the tables and calls its setter. last is the
// token that ended it. Mirrors ngx_conf_handler.
func (cf *Conf) handle(last token) error {
	name := cf.Args[0]

	found := false

	for _, module := range cf.Modules {

		for i := range module.Commands {

			cmd := &module.Commands[i]

			if name != cmd.Name {
				continue
			}

			found = true

			if module.Type != ConfModule && module.Type != cf.ModuleType {
				continue
			}

			if cmd.Type&cf.CmdType == 0 {
				continue
			}

			if cmd.Type&Block == 0 && last != tokenOK {
				return cf.Errorf("directive \"%s\" is not terminated by \";\"", name)
			}

			if cmd.Type&Block != 0 && last != blockStart {
				return cf.Errorf("directive \"%s\" has no opening \"{\"", name)
			}

			if !cmd.takes(len(cf.Args)) {
				return cf.Errorf("invalid number of arguments in \"%s\" directive", name)
			}

			rv := cmd.Set(cf, cmd)

			if rv == nil || rv == ErrLogged {
				return rv
			}

			return cf.Errorf("\"%s\" directive %s", name, rv)
		}
	}

	if found {
		return cf.Errorf("\"%s\" directive is not allowed here", name)
	}

	return cf.Errorf("unknown directive \"%s\"", name)
}

// takes reports whether the directive may have nelts arguments, its name
// counted.
//
// DIVERGES: its own function; in nginx it is part of ngx_conf_handler.
func (cmd *Command) takes(nelts int) bool {
	switch {
	case cmd.Type&Any != 0:
		return true
	case cmd.Type&Flag != 0:
		return nelts == 2
	case cmd.Type&OneMore != 0:
		return nelts >= 2
	case cmd.Type&TwoMore != 0:
		return nelts >= 3
	case nelts > maxArgs:
		return false
	}
	return cmd.Type&(NoArgs<<(nelts-1)) != 0
}

// Include is the module of the include directive (ngx_conf_module).
var Include = &Module{
	Name:     "conf",
	Type:     ConfModule,
	Commands: []Command{{"include", AnyConf | Take1, include}},
}

// include reads the file, or the files, that are named. Mirrors
// ngx_conf_include.
func include(cf *Conf, _ *Command) error {
	file := cf.Args[1]

	cf.Log.Debug(core.LogDebugCore, 0, "include %s", file)

	file = FullName(cf.Prefix, file)

	if !strings.ContainsAny(file, "*?[") {

		cf.Log.Debug(core.LogDebugCore, 0, "include %s", file)

		return cf.Parse(file)
	}

	for _, name := range cf.Source.Glob(file) {

		cf.Log.Debug(core.LogDebugCore, 0, "include %s", name)

		if err := cf.Parse(name); err != nil {
			return err
		}
	}

	return nil
}

// FullName puts prefix before a relative name. Mirrors ngx_get_full_name.
func FullName(prefix, name string) string {
	if strings.HasPrefix(name, "/") {
		return name
	}
	return prefix + name
}

// maxConfErrstr is the longest message, in bytes, without the place that
// follows it (NGX_MAX_CONF_ERRSTR); errnoRoom of them are kept free for an
// error number and its text.
const (
	maxConfErrstr = 1024
	errnoRoom     = 50
)

// LogError logs a message, the error number unless it is 0, and where the
// parser is. Mirrors ngx_conf_log_error.
func (cf *Conf) LogError(level uint, errno sys.Errno, format string, args ...any) {
	errstr := fmt.Appendf(nil, format, args...)
	errstr = errstr[:min(len(errstr), maxConfErrstr)]

	if errno != 0 {
		if len(errstr) > maxConfErrstr-errnoRoom {
			errstr = append(errstr[:maxConfErrstr-errnoRoom], "..."...)
		}
		errstr = core.AppendErrno(errstr, errno)
	}

	if cf.file == nil {
		cf.Log.Error(level, 0, "%s", errstr)
		return
	}

	if cf.file.file == nil {
		cf.Log.Error(level, 0, "%s in command line", errstr)
		return
	}

	cf.Log.Error(level, 0, "%s in %s", errstr, cf.Place())
}

// Place returns where the parser is, "FILE:LINE".
func (cf *Conf) Place() string {
	return fmt.Sprintf("%s:%d", cf.file.name, cf.file.line)
}

// Errorf logs a message of level emerg and returns ErrLogged.
func (cf *Conf) Errorf(format string, args ...any) error {
	cf.LogError(core.LogEmerg, 0, format, args...)
	return ErrLogged
}
