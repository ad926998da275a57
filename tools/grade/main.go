// Command grade grades labs: it builds what a student wrote with the course's
// own checks, runs each check under limits, and says what was found. See
// README.md, or grade -h.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"herd/tools/grade/jail"
)

// Exit codes.
const (
	exitPassed      = 0
	exitNotPassed   = 1
	exitUsage       = 2
	exitCannotShow  = 3   // all passed but for checks that this machine cannot show
	exitBroken      = 4   // grading itself went wrong
	exitInterrupted = 130 // as a shell reports SIGINT
)

const usage = `Usage: go run ./tools/grade [flags] DIR...
       go run ./tools/grade -all [flags] [DIR]
       go run ./tools/grade -pack gradescope [-lab LAB] -o FILE.zip
       go run ./tools/grade mutants [LAB...]
       go run ./tools/grade handout -o DIR

Grades the lab in each DIR: labs/lab03-acceptmutex, or what a student handed in.
With -all it grades every lab that is in DIR (default .). Of a DIR only the
files that the student writes are taken; the tests are always the course's.

  mutants  runs each solution's list of wrong solutions and prints what killed them
  handout  writes the tree that a course hands out, without solutions
  -pack    writes a zip to upload as an autograder

Exit status: 0 all passed, 1 not all, 2 wrong usage, 3 this machine cannot show
some checks and the others passed, 4 grading itself went wrong. With -gradescope
or -classroom50 it is 0 whenever grading went well: they take another status for
a broken grader. (go run turns each status but 0 into 1; go build first if the
difference matters.)

Flags:
`

// usageError is a wrong command line.
type usageError struct{ error }

// errNotPassed and errCannotShow end a command that went well.
var (
	errNotPassed  = errors.New("not all passed")
	errCannotShow = errors.New("this machine cannot show all")
)

// commands are the words that the first argument may be.
var commands = map[string]func(ctx context.Context, args []string, stdout, stderr io.Writer) error{
	"mutants": mutantsMain,
	"handout": handoutMain,
}

func main() {
	jail.Main() // does not return in a process that is to become a check

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run runs a command line and returns its exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	command := gradeMain
	if len(args) > 0 && commands[args[0]] != nil {
		command, args = commands[args[0]], args[1:]
	}
	err := command(ctx, args, stdout, stderr)
	code := exitBroken
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
		return exitPassed
	case errors.Is(err, errNotPassed):
		return exitNotPassed
	case errors.Is(err, errCannotShow):
		return exitCannotShow
	case errors.As(err, &usageError{}):
		code = exitUsage
	case ctx.Err() != nil:
		code, err = exitInterrupted, errors.New("interrupted; everything that was started is stopped")
	}
	fmt.Fprintln(stderr, "grade:", err)
	return code
}

// newFlags returns the flags of a command, which begins its -h with usage.
func newFlags(name, usage string) *flag.FlagSet {
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	fs.Usage = func() {
		fmt.Fprint(fs.Output(), usage)
		fs.PrintDefaults()
	}
	return fs
}

// parseFlags parses the command line: what is asked for goes to stdout,
// complaints are the error.
func parseFlags(fs *flag.FlagSet, args []string, stdout io.Writer) error {
	fs.SetOutput(io.Discard)
	err := fs.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fs.SetOutput(stdout)
		fs.Usage()
	} else if err != nil {
		return usageError{fmt.Errorf("%w; see -h", err)}
	}
	return err
}

// courseRoot returns the directory of the course's go.mod, at or above the
// working directory.
func courseRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; ; dir = filepath.Dir(dir) {
		text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && strings.HasPrefix(string(text), "module herd\n") {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", usageError{errors.New("run this in the course's tree: no go.mod of module herd here or above")}
		}
	}
}
