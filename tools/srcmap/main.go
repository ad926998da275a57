// Command srcmap proves that nginxref mirrors nginx line by line.
//
// Every statement of a mirrored Go function carries the number of the C line
// it stands for (package gutter says how). srcmap reads the real C source and
// checks that nothing is missing, made up, out of order or in another branch.
//
//	srcmap check -src DIR              prove it; print the coverage
//	srcmap drift -src DIR -to DIR2     what changed between two releases
//	srcmap repin -src DIR2             move the numbers to another release
//	srcmap table DIR...                what each release changed, in Markdown
//	srcmap show  -src DIR FUNCTION     C and Go side by side
//	srcmap serve -src DIR              the same as a page, on loopback
//
// DIR is an unpacked nginx source tree; NGINX_SRC is its default. No C text
// is kept in this tree.
//
// It exits with 0 if all is well, 1 if there are findings, 2 if it could not
// look: wrong usage, an unreadable file.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"herd/tools/srcmap/gutter"
)

// errFindings says that findings were printed.
var errFindings = errors.New("findings")

func main() {
	switch err := run(os.Args[1:], os.Stdout, os.Stderr); {
	case err == nil, errors.Is(err, flag.ErrHelp):
	case errors.Is(err, errFindings):
		os.Exit(1)
	default:
		fmt.Fprintln(os.Stderr, "srcmap:", err)
		os.Exit(2)
	}
}

// command is what the flags of a command set.
type command struct {
	src, to string // nginx source trees
	goDir   string
	mapFile string
	addr    string
	args    []string

	stdout, stderr io.Writer
}

// commands holds each command's synopsis and what it runs.
var commands = map[string]struct {
	synopsis string
	run      func(*command) error
}{
	"check": {"check -src DIR", (*command).check},
	"drift": {"drift -src DIR -to DIR2", (*command).drift},
	"repin": {"repin -src DIR2", (*command).repin},
	"serve": {"serve -src DIR", (*command).serve},
	"show":  {"show -src DIR FUNCTION", (*command).show},
	"table": {"table -src DIR DIR2 ...", (*command).table},
}

const usage = `usage: srcmap COMMAND [flags]; "srcmap COMMAND -h" lists a command's flags
`

func run(args []string, stdout, stderr io.Writer) error {
	if len(args) == 0 {
		return errors.New("no command; srcmap -h lists them")
	}
	cmd, ok := commands[args[0]]
	if !ok {
		if strings.Trim(args[0], "-") == "h" || strings.Trim(args[0], "-") == "help" {
			fmt.Fprint(stdout, usage)
			return nil
		}
		return fmt.Errorf("no command %q; srcmap -h lists them", args[0])
	}
	c := &command{stdout: stdout, stderr: stderr}
	flags := flag.NewFlagSet(cmd.synopsis, flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&c.src, "src", os.Getenv("NGINX_SRC"), "the nginx source tree `DIR`; $NGINX_SRC by default")
	flags.StringVar(&c.addr, "addr", "127.0.0.1:8025", "serve: listen on `ADDRESS`")
	flags.StringVar(&c.to, "to", "", "drift: the other release's source tree `DIR`")
	root := moduleRoot()
	flags.StringVar(&c.goDir, "go", filepath.Join(root, "nginxref"), "the Go code, below `DIR`")
	flags.StringVar(&c.mapFile, "map", filepath.Join(root, "tools/srcmap/map.txt"), "the map `FILE`")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	c.args = flags.Args()
	return cmd.run(c)
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

// load reads the Go code, the map and the source tree at dir.
func (c *command) load(dir string) (*nginxref, error) {
	if dir == "" {
		return nil, errors.New("which nginx source tree? give -src DIR or set NGINX_SRC")
	}
	t, err := openTree(dir)
	if err != nil {
		return nil, err
	}
	m, err := readPins(c.mapFile)
	if err != nil {
		return nil, err
	}
	code, err := gutter.Load(c.goDir)
	if err != nil {
		return nil, err
	}
	list, err := mirrors(code.Funcs, m, t)
	return &nginxref{code, m, t, list}, err
}

// nginxref is the Go code beside the C code of a source tree.
type nginxref struct {
	code    *gutter.Code
	pins    *pinMap
	tree    *tree
	mirrors []*mirror
}

func (c *command) check() error {
	ref, err := c.load(c.src)
	if err != nil {
		return err
	}
	findings := ref.code.Findings
	var sum coverage
	for _, mi := range ref.mirrors {
		n, bad := check(mi, ref.pins.release, ref.tree.release)
		findings = append(findings, bad...)
		fmt.Fprintf(c.stdout, "%-32s %s\n", mi.ref.Func, n)
		sum.add(n)
	}
	fmt.Fprintf(c.stdout, "%-32s %s\n", fmt.Sprintf("%d functions of nginx %s", len(ref.mirrors), ref.tree.release), sum)
	for _, dir := range slices.Sorted(maps.Keys(ref.code.Unnumbered)) {
		fmt.Fprintf(c.stdout, "%s: %d functions mirror nginx's, but not line by line\n", dir, ref.code.Unnumbered[dir])
	}
	for _, f := range findings {
		fmt.Fprintln(c.stderr, f)
	}
	if len(findings) > 0 {
		return errFindings
	}
	return nil
}
