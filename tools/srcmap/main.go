// Command srcmap proves that nginxref mirrors nginx line by line.
//
// Every statement of a mirrored Go function carries the number of the C line
// it stands for (package gutter says how). srcmap reads the real C source and
// checks that nothing is missing, made up, out of order or in another branch.
// See README.md, or srcmap -h.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"herd/tools/srcmap/gutter"
)

// Exit codes. With findings, the command itself went well.
const (
	exitFindings = 1
	exitUsage    = 2
)

// errFindings says that findings were printed.
var errFindings = errors.New("findings")

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// options are what the flags of a command set.
type options struct {
	src     string // nginx source tree
	to      string // another one
	goDir   string
	mapFile string
	addr    string
	args    []string

	stdout, stderr io.Writer
}

// command is one of srcmap's.
type command struct {
	name, args, about string
	run               func(*options) error
}

// commands are in the order of the usage message.
func commands() []command {
	return []command{
		{"check", "", "prove the mapping; print the coverage of each function", (*options).check},
		{"drift", "-to DIR2", "say what changed in the mirrored functions between two releases", (*options).drift},
		{"repin", "", "rewrite the numbers in the gutters for the release in DIR", (*options).repin},
		{"table", "DIR2 ...", "say in Markdown what each release changed", (*options).table},
		{"show", "FUNCTION ...", "print C and Go side by side; a C name or a Go name will do", (*options).show},
		{"serve", "[-addr ADDRESS]", "show the same as a page", (*options).serve},
	}
}

func usage(w io.Writer) {
	fmt.Fprint(w, "usage: srcmap COMMAND [-src DIR] [-go DIR] [-map FILE] ...\n\n")
	for _, c := range commands() {
		fmt.Fprintf(w, "  %-5s %-16s %s\n", c.name, c.args, c.about)
	}
	fmt.Fprint(w, "\nDIR is an unpacked nginx source tree (the directory that has src in it).\n"+
		"Exit status: 0 all is well, 1 findings, 2 wrong usage or an unreadable file.\n"+
		"srcmap COMMAND -h lists the flags.\n")
}

// run runs a command line and returns its exit status.
func run(args []string, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		usage(stderr)
		return exitUsage
	}
	switch args[0] {
	case "-h", "-help", "--help", "help":
		usage(stdout)
		return 0
	}
	for _, c := range commands() {
		if c.name == args[0] {
			return c.main(args[1:], stdout, stderr)
		}
	}
	fmt.Fprintf(stderr, "srcmap: no command %q; srcmap -h lists them\n", args[0])
	return exitUsage
}

func (c *command) main(args []string, stdout, stderr io.Writer) int {
	o := &options{stdout: stdout, stderr: stderr}
	flags := flag.NewFlagSet("srcmap "+c.name, flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprintf(stderr, "usage: srcmap %s -src DIR %s\n%s\n", c.name, c.args, c.about)
		flags.PrintDefaults()
	}
	root := moduleRoot()
	flags.StringVar(&o.src, "src", os.Getenv("NGINX_SRC"), "nginx source tree `DIR`; $NGINX_SRC if not given")
	flags.StringVar(&o.goDir, "go", filepath.Join(root, "nginxref"), "Go code below `DIR`")
	flags.StringVar(&o.mapFile, "map", filepath.Join(root, "tools/srcmap/map.txt"), "map `FILE`")
	switch c.name {
	case "drift":
		flags.StringVar(&o.to, "to", "", "the other release's source tree `DIR`")
	case "serve":
		flags.StringVar(&o.addr, "addr", "127.0.0.1:8025", "listen on `ADDRESS`")
	}
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return exitUsage
	}
	o.args = flags.Args()

	switch err := c.run(o); {
	case errors.Is(err, errFindings):
		return exitFindings
	case err != nil:
		fmt.Fprintln(stderr, "srcmap:", err)
		return exitUsage
	}
	return 0
}

// moduleRoot returns the directory of the go.mod above the working directory,
// as a relative path, so that findings name files as the compiler does.
func moduleRoot() string {
	dir := "."
	for range 64 {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		dir = filepath.Join("..", dir)
	}
	return "."
}

// course is the Go code beside the C code of a source tree.
type course struct {
	code    *gutter.Code
	pins    *pinMap
	tree    *tree
	mirrors []*mirror
}

// load reads the Go code, the map and the source tree.
func (o *options) load() (*course, error) {
	if o.src == "" {
		return nil, errors.New("which nginx source tree? give -src DIR or set NGINX_SRC")
	}
	t, err := openTree(o.src)
	if err != nil {
		return nil, err
	}
	m, err := readPins(o.mapFile)
	if err != nil {
		return nil, err
	}
	code, err := gutter.Load(o.goDir)
	if err != nil {
		return nil, err
	}
	list, err := mirrors(code.Funcs, m, t)
	return &course{code, m, t, list}, err
}

// total counts the C statements of the mirrored functions.
func (c *course) total() int {
	n := 0
	for _, mi := range c.mirrors {
		if mi.c == nil {
			continue
		}
		for i := range mi.c.Stmts {
			if !mi.isImplied(i) {
				n++
			}
		}
	}
	return n
}
