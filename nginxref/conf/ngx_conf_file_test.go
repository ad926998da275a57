package conf

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"herd/nginxref/core"
	"herd/nginxref/sys"
)

// still is a kernel whose clock does not move.
type still struct{ sys.Kernel }

func (still) Gettimeofday() (sec int64, msec int) { return 0, 0 }

func (still) MonotonicNsec() uint64 { return 0 }

// journal keeps what is logged, one message an element: "[emerg] ...".
type journal struct {
	log   core.Log
	lines []string
}

func (j *journal) Write(line []byte) (int, error) {
	_, text, _ := bytes.Cut(line, []byte(" ["))
	level, text, _ := bytes.Cut(text, []byte("] "))
	_, text, _ = bytes.Cut(text, []byte(": "))
	j.lines = append(j.lines, "["+string(level)+"] "+strings.TrimSuffix(string(text), "\n"))
	return len(line), nil
}

// block is what the test's directives configure.
type block struct {
	flag, num, sec, size, enum int
	msec                       core.Msec
	str                        *string
	calls                      []string // of any and inner
}

func newBlock() *block {
	return &block{flag: Unset, num: Unset, sec: Unset, size: Unset, enum: Unset, msec: UnsetMsec}
}

const innerConf = 0x02000000

var testModules = []*Module{Include, {
	Name: "test",
	Type: CoreModule,
	Commands: []Command{
		{"flag", MainConf | Flag, FlagSlot(func(b *block) *int { return &b.flag })},
		{"num", MainConf | Take1, NumSlot(func(b *block) *int { return &b.num })},
		{"sec", MainConf | Take1, SecSlot(func(b *block) *int { return &b.sec })},
		{"size", MainConf | Take1, SizeSlot(func(b *block) *int { return &b.size })},
		{"msec", MainConf | Take1, MsecSlot(func(b *block) *core.Msec { return &b.msec })},
		{"str", MainConf | Take1, StrSlot(func(b *block) **string { return &b.str })},
		{"enum", MainConf | Take1, EnumSlot(func(b *block) *int { return &b.enum }, []Enum{{"a", 1}, {"b", 2}})},
		{"two", MainConf | Take2, record},
		{"none", MainConf | NoArgs, record},
		{"more", MainConf | TwoMore, record},
		{"any", MainConf | innerConf | Any, record},
		{"inner", MainConf | Block | NoArgs, inner},
		{"inside", innerConf | NoArgs, record},
	},
}}

func record(cf *Conf, cmd *Command) error {
	b := cf.Ctx.(*block)
	b.calls = append(b.calls, strings.Join(cf.Args, "|"))
	return nil
}

func inner(cf *Conf, cmd *Command) error {
	record(cf, cmd)
	err := cf.Block(cf.Ctx, CoreModule, innerConf)
	cf.Ctx.(*block).calls = append(cf.Ctx.(*block).calls, "end")
	return err
}

// newConf returns a parser of the test's directives and what it will log.
func newConf(b *block, source Source) (*Conf, *journal) {
	j := &journal{}
	file := core.NewOpenFile("journal", j, core.NewTimes(still{}), 1)
	j.log = core.Log{Level: core.LogInfo, File: file}

	return &Conf{
		Modules:    testModules,
		Prefix:     "/etc/",
		Source:     source,
		Dump:       &Dump{},
		Log:        &j.log,
		Ctx:        b,
		ModuleType: CoreModule,
		CmdType:    MainConf,
	}, j
}

// files is a Source made of names and texts.
func files(pairs ...string) *Dump {
	d := &Dump{}
	for i := 0; i < len(pairs); i += 2 {
		d.Files = append(d.Files, &DumpedFile{Name: pairs[i], Text: []byte(pairs[i+1])})
	}
	return d
}

func TestArguments(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"any;", "any"},
		{"any a b  c\t\r\nd ;", "any|a|b|c|d"},
		{"any a;any b;", "any|a,any|b"},
		{"any # a comment; { } \" '\n a;", "any|a"},
		{"any a#b;", "any|a#b"},
		{`any "a b" 'c "d"' "e 'f'";`, `any|a b|c "d"|e 'f'`},
		{`any "" '';`, "any||"},
		{`any "a;b{c}d";`, "any|a;b{c}d"},
		{`"any" a;`, "any|a"},
		{`any "a"; any 'b';`, "any|a,any|b"},
		{`any ("a");`, `any|("a")`},
		{`any "a")b;`, "any|a|)b"},
		{`any "a") b;`, "any|a|)|b"},
		{`any a"b"c;`, `any|a"b"c`},
		{`any a\ b;`, `any|a\ b`},
		{`any \;a;`, `any|\;a`},
		{`any a\"b a\'b a\\b a\tb a\rb a\nb a\xb;`, "any|a\"b|a'b|a\\b|a\tb|a\rb|a\nb|a\\xb"},
		{`any "a\"b" 'a\'b';`, `any|a"b|a'b`},
		{`any $a ${a} ${a}b a${b}c;`, "any|$a|${a}|${a}b|a${b}c"},
		{`any "${a}" $;`, "any|${a}|$"},
		{"any a}b;", "any|a}b"},
		{"inner { any a; inside; }", "inner,any|a,inside,end"},
		{"inner{any a;inside;}any b;", "inner,any|a,inside,end,any|b"},
		{"inner {\n# }\n}", "inner,end"},
		{"", ""},
		{" \n # nothing", ""},
	} {
		b := newBlock()
		cf, j := newConf(b, files("/etc/c", test.text))

		if err := cf.Parse("/etc/c"); err != nil {
			t.Errorf("%q: %v %q", test.text, err, j.lines)
		}
		if got := strings.Join(b.calls, ","); got != test.want {
			t.Errorf("%q: read %q, want %q", test.text, got, test.want)
		}
	}
}

// The messages are nginx 1.22.1's; that they are is held against the real
// program by the tests of package main.
func TestErrors(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"nothing on;", `unknown directive "nothing" in /etc/c:1`},
		{"\n\nnothing on;", `unknown directive "nothing" in /etc/c:3`},
		{"nothing\n\non\n;", `unknown directive "nothing" in /etc/c:4`},
		{"inside;", `"inside" directive is not allowed here in /etc/c:1`},
		{"inner { none; }", `"none" directive is not allowed here in /etc/c:1`},
		{"none a;", `invalid number of arguments in "none" directive in /etc/c:1`},
		{"two a;", `invalid number of arguments in "two" directive in /etc/c:1`},
		{"more a;", `invalid number of arguments in "more" directive in /etc/c:1`},
		{"flag;", `invalid number of arguments in "flag" directive in /etc/c:1`},
		{"two 1 2 3 4 5 6 7 8 9;", `invalid number of arguments in "two" directive in /etc/c:1`},
		{"none {", `directive "none" is not terminated by ";" in /etc/c:1`},
		{"inner;", `directive "inner" has no opening "{" in /etc/c:1`},
		{"inner\n;", `directive "inner" has no opening "{" in /etc/c:2`},
		{"none", `unexpected end of file, expecting ";" or "}" in /etc/c:1`},
		{"none\n", `unexpected end of file, expecting ";" or "}" in /etc/c:2`},
		{`any "a`, `unexpected end of file, expecting ";" or "}" in /etc/c:1`},
		{"inner {", `unexpected end of file, expecting "}" in /etc/c:1`},
		{"inner { any", `unexpected end of file, expecting ";" or "}" in /etc/c:1`},
		{"}", `unexpected "}" in /etc/c:1`},
		{"any }", `unexpected "}" in /etc/c:1`},
		{";", `unexpected ";" in /etc/c:1`},
		{"{", `unexpected "{" in /etc/c:1`},
		{`any "a"b;`, `unexpected "b" in /etc/c:1`},
		{`any "a""b";`, `unexpected """ in /etc/c:1`},
		{"flag maybe;", `invalid value "maybe" in "flag" directive, it must be "on" or "off" in /etc/c:1`},
		{"flag on; flag on;", `"flag" directive is duplicate in /etc/c:1`},
		{"num x;", `"num" directive invalid number in /etc/c:1`},
		{"num 9223372036854775808;", `"num" directive invalid number in /etc/c:1`},
		{"num 1; num 1;", `"num" directive is duplicate in /etc/c:1`},
		{"sec 1ms;", `"sec" directive invalid value in /etc/c:1`},
		{"size 1g;", `"size" directive invalid value in /etc/c:1`},
		{"msec 1y;", `"msec" directive invalid value in /etc/c:1`},
		{"msec 1; msec 1;", `"msec" directive is duplicate in /etc/c:1`},
		{`str ""; str a;`, `"str" directive is duplicate in /etc/c:1`},
		{"enum c;", `invalid value "c" in /etc/c:1`},
		{"enum a; enum a;", `"enum" directive is duplicate in /etc/c:1`},
		{"include /etc/none;", `open() "/etc/none" failed (2: No such file or directory) in /etc/c:1`},
		{"any " + strings.Repeat("a", 4096) + ";",
			`too long parameter "aaaaaaaaaa..." started in /etc/c:1`},
		{"\nany \"\n" + strings.Repeat("a", 4096),
			`too long parameter, probably missing terminating """ character in /etc/c:2`},
		{"any '" + strings.Repeat("a", 4097),
			`too long parameter, probably missing terminating "'" character in /etc/c:1`},
		{"#" + strings.Repeat("a", 4096), `too long parameter "#aaaaaaaaa..." started in /etc/c:1`},
		{"any; " + strings.Repeat("a", 1100) + ";",
			`unknown directive "` + strings.Repeat("a", 1024-len(`unknown directive "`)) + ` in /etc/c:1`},
	} {
		cf, j := newConf(newBlock(), files("/etc/c", test.text))

		err := cf.Parse("/etc/c")

		if want := []string{"[emerg] " + test.want}; err != ErrLogged || !cmp.Equal(j.lines, want) {
			t.Errorf("%q: error %v, log %q, want %q", test.text, err, j.lines, want)
		}
	}
}

func TestSlots(t *testing.T) {
	b := newBlock()
	cf, j := newConf(b, files("/etc/c",
		"flag ON; num 10; sec 1m; size 1k; msec 1m; str s; enum B;"))

	if err := cf.Parse("/etc/c"); err != nil {
		t.Fatal(err, j.lines)
	}
	s := "s"
	want := &block{flag: 1, num: 10, sec: 60, size: 1024, msec: 60_000, str: &s, enum: 2}
	if d := cmp.Diff(want, b, cmp.AllowUnexported(block{})); d != "" {
		t.Error("configured (-want +got):\n", d)
	}
}

func TestParamErrorsNameTheCommandLine(t *testing.T) {
	for _, test := range []struct{ param, want string }{
		{"none", `unexpected end of parameter, expecting ";" in command line`},
		{"nothing;", `unknown directive "nothing" in command line`},
		{"inner {", "block directives are not supported in -g option in command line"},
		{"}", `unexpected "}" in command line`},
	} {
		cf, j := newConf(newBlock(), files())

		err := cf.Param(test.param)

		if want := []string{"[emerg] " + test.want}; err != ErrLogged || !cmp.Equal(j.lines, want) {
			t.Errorf("-g %q: error %v, log %q, want %q", test.param, err, j.lines, want)
		}
	}
}

// An include may stand in any block, but what it reads must be whole: neither
// may a block end in the file nor begin before it.
func TestInclude(t *testing.T) {
	for _, test := range []struct{ text, included, want string }{
		{"include i; any b;", "any a;", "any|a,any|b"},
		{"inner { include /etc/i; }", "inside;", "inner,inside,end"},
		{"inner { include i;", "}", `[emerg] unexpected "}" in /etc/i:1`},
		{"include i; }", "inner {", `[emerg] unexpected end of file, expecting "}" in /etc/i:1`},
		{"include i;\nnothing;", "\n\n\n", `[emerg] unknown directive "nothing" in /etc/c:2`},
	} {
		b := newBlock()
		cf, j := newConf(b, files("/etc/c", test.text, "/etc/i", test.included))

		cf.Parse("/etc/c")

		if got := strings.Join(append(j.lines, b.calls...), ","); !strings.HasPrefix(got, test.want) {
			t.Errorf("%q with %q: %q, want %q", test.text, test.included, got, test.want)
		}
	}
}

// globs are patterns below a directory and the names that glibc finds there.
var globs = []struct{ pattern, want string }{
	{"*.conf", "a.conf b.conf c[.conf"},
	{"[!a].conf", "b.conf"},
	{"[^a].conf", "b.conf"},
	{"?.conf", "a.conf b.conf"},
	{"c[*", "c[.conf"},
	{".*.conf", ".hidden.conf"},
	{"*/x.conf", "d/x.conf e/x.conf"},
	{"[de]/*", "d/x.conf e/x.conf e/y"},
	{"*.none", ""},
}

var globFiles = []string{"b.conf", "a.conf", "c[.conf", ".hidden.conf", "e/x.conf", "d/x.conf", "e/y", "d/.x", ".f/x.conf"}

func TestGlobFollowsGlibc(t *testing.T) {
	dir := t.TempDir() + "/"
	dump := &Dump{}
	for _, name := range globFiles {
		os.MkdirAll(filepath.Dir(dir+name), 0o755)
		if err := os.WriteFile(dir+name, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		dump.add(dir + name)
	}

	for _, test := range globs {
		for _, source := range []Source{Disk{}, dump} {
			var got []string
			for _, name := range source.Glob(dir + test.pattern) {
				got = append(got, strings.TrimPrefix(name, dir))
			}
			if got := strings.Join(got, " "); got != test.want {
				t.Errorf("%T: %s matched %q, want %q", source, test.pattern, got, test.want)
			}
		}
	}
}

// A worker reads from the dump what the master read from the disk.
func TestDumpKeepsWhatWasRead(t *testing.T) {
	dir := t.TempDir() + "/"
	texts := map[string]string{
		"c":        "include d/*.conf; any " + strings.Repeat("a", 3000) + ";\nany " + strings.Repeat("b", 3000) + "; include d/1.conf;",
		"d/1.conf": "any 1;",
		"d/2.conf": "any 2; # 2",
	}
	os.Mkdir(dir+"d", 0o755)
	for name, text := range texts {
		if err := os.WriteFile(dir+name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	read := func(source Source) ([]string, *Dump) {
		b := newBlock()
		cf, j := newConf(b, source)
		cf.Prefix = dir
		if err := cf.Parse(dir + "c"); err != nil {
			t.Fatal(err, j.lines)
		}
		return b.calls, cf.Dump
	}

	fromDisk, dump := read(Disk{})

	var order []string
	for _, file := range dump.Files {
		name := strings.TrimPrefix(file.Name, dir)
		order = append(order, name)
		if string(file.Text) != texts[name] {
			t.Errorf("dump of %s holds %d bytes, want %d", name, len(file.Text), len(texts[name]))
		}
	}
	if d := cmp.Diff([]string{"c", "d/1.conf", "d/2.conf"}, order); d != "" {
		t.Error("files of the dump (-want +got):\n", d)
	}

	fromDump, _ := read(dump)
	if d := cmp.Diff(fromDisk, fromDump); d != "" {
		t.Error("directives from disk and from dump:\n", d)
	}
}
