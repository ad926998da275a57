// Command book builds the book: a static site of the chapters, the labs'
// handouts and the tools' READMEs. Code, output and numbers in it come from the
// tree; what the tree no longer has or says fails the build.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
)

const usage = `Usage: go run ./tools/book -o DIR                 build the site in DIR
       go run ./tools/book -serve 127.0.0.1:PORT  serve it; a page is built when it is asked for
       go run ./tools/book check                  say what is wrong with the book
       go run ./tools/book record [NAME [COMMAND]]
                                                  run recorded commands again; with COMMAND, a new one
       go run ./tools/book figure [NAME]          draw the figures again (needs graphviz)

chapters/WRITING.md says how a chapter is written.

`

func main() {
	fs := flag.NewFlagSet("book", flag.ContinueOnError)
	fs.Usage = func() {
		fmt.Fprint(fs.Output(), usage)
		fs.PrintDefaults()
	}
	root := fs.String("root", ".", "top of the `tree`")
	out := fs.String("o", "", "`directory` to build the site in")
	serve := fs.String("serve", "", "loopback `address` to serve the site on")
	if len(os.Args) == 2 && (os.Args[1] == "-h" || os.Args[1] == "--help") {
		fs.SetOutput(os.Stdout)
	}
	if err := fs.Parse(os.Args[1:]); errors.Is(err, flag.ErrHelp) {
		return
	} else if err != nil {
		os.Exit(2)
	}
	err := do(*root, *out, *serve, fs.Args())
	if errors.Is(err, errUsage) {
		fs.Usage()
		os.Exit(2)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "book:", err)
		os.Exit(1)
	}
}

var errUsage = errors.New("wrong usage")

// do what the command line says.
func do(root, out, serve string, args []string) error {
	command, names := "", []string(nil)
	if len(args) > 0 {
		command, names = args[0], args[1:]
	}
	switch {
	case slices.Contains(names, "-h"):
		return errUsage
	case command != "" && (out != "" || serve != ""):
		return errUsage
	case command == "record" && len(names) == 2:
		return record(root, names[:1], names[1])
	case command == "record" && len(names) < 2:
		return record(root, names, "")
	case command == "figure" && len(names) < 2:
		return drawFigures(root, names)
	case command == "check" && len(names) == 0:
		b, err := checked(root)
		if err == nil {
			fmt.Println(b.summary())
		}
		return err
	case serve != "" && out == "":
		return serveSite(root, serve)
	case out != "" && serve == "":
		return writeSite(root, out)
	}
	return errUsage
}

// checked builds the book; its problems are printed and are an error.
func checked(root string) (*book, error) {
	b, err := build(root)
	if err != nil {
		return nil, err
	}
	for _, p := range b.problems {
		fmt.Fprintln(os.Stderr, p)
	}
	if n := len(b.problems); n > 0 {
		return nil, fmt.Errorf("the book has %d problems", n)
	}
	return b, nil
}
