// Command tracediff runs the real nginx and nginxref through the same
// scenarios, with debug logs, and compares what their event cores did, step
// by step. See README.md, or tracediff -h.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/term"
)

// Exit codes.
const (
	exitDiffers     = 1 // a difference that is not explained, or a run that failed
	exitUsage       = 2
	exitNoNginx     = 3
	exitInterrupted = 130 // as a shell reports SIGINT
)

func main() {
	// SIGPIPE too: whoever reads the table may leave while servers run.
	ctx, stop := signal.NotifyContext(context.Background(),
		os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	defer stop()
	os.Exit(execute(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// options are the command line.
type options struct {
	nginx     string
	keep      string
	scenarios []scenario
	details   bool // of the scenarios that are named
}

const usage = `usage: tracediff [flags] [SCENARIO ...]

Runs the real nginx and nginxref through scenarios and compares the steps of
their event cores. Without a name: all scenarios, a line each. With names: the
steps of each process, where they first differ, and which known differences
were met.

Scenarios:
%s
Flags:
`

// parse reads the command line. What it cannot read it says on stderr.
func parse(args []string, stderr io.Writer) (*options, error) {
	all, err := scenarios()
	if err != nil {
		return nil, err
	}
	opt := &options{}
	flags := flag.NewFlagSet("tracediff", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		list := strings.Builder{}
		for _, s := range all {
			fmt.Fprintf(&list, "  %-17s %s\n", s.name, s.about)
		}
		fmt.Fprintf(stderr, usage, list.String())
		flags.PrintDefaults()
		fmt.Fprint(stderr, "\nExit status: 0 all steps align or are explained, 1 they do not or a run failed,\n"+
			"2 wrong usage, 3 there is no nginx to compare with.\n")
	}
	flags.StringVar(&opt.nginx, "nginx", "/usr/sbin/nginx", "the real nginx: a binary at `PATH`")
	flags.StringVar(&opt.keep, "keep", "", "keep logs and steps below `DIR`")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	opt.scenarios, opt.details = all, flags.NArg() > 0
	if opt.details {
		opt.scenarios, err = choose(all, flags.Args())
	}
	if err != nil {
		fmt.Fprintln(stderr, "tracediff:", err)
	}
	return opt, err
}

func choose(all []scenario, names []string) (list []scenario, err error) {
	for _, name := range names {
		i := slices.IndexFunc(all, func(s scenario) bool { return s.name == name })
		if i < 0 {
			return nil, fmt.Errorf("no scenario %q; tracediff -h lists them", name)
		}
		list = append(list, all[i])
	}
	return list, nil
}

// execute runs a command line and returns the exit status.
func execute(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	opt, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		return exitUsage
	}
	version, err := checkNginx(opt.nginx)
	if err != nil {
		fmt.Fprintln(stderr, "tracediff:", err)
		return exitNoNginx
	}
	ok, err := opt.compareAll(ctx, version, stdout, stderr)
	switch {
	case ctx.Err() != nil:
		fmt.Fprintln(stderr, "tracediff: interrupted; all processes are stopped")
		return exitInterrupted
	case err != nil:
		fmt.Fprintln(stderr, "tracediff:", err)
		return exitDiffers
	case !ok:
		return exitDiffers
	}
	return 0
}

// checkNginx returns the version of the real nginx. The error says how to get
// one that will do.
func checkNginx(path string) (version string, err error) {
	const advice = "on Debian: apt-get install nginx; or name a binary that was configured --with-debug: -nginx PATH"
	out, err := exec.Command(path, "-V").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("no nginx to compare with: %w (%s)", err, advice)
	}
	if !strings.Contains(string(out), "--with-debug") {
		return "", fmt.Errorf("%s writes no debug log (%s)", path, advice)
	}
	first, _, _ := strings.Cut(string(out), "\n")
	return strings.TrimPrefix(first, "nginx version: "), nil
}

// build compiles the nginxref of the tree it is called in, into dir.
func build(ctx context.Context, dir string) (string, error) {
	binary := filepath.Join(dir, "nginxref")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", binary, "herd/nginxref")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build herd/nginxref, in the current directory's tree: %w\n%s", err, out)
	}
	return binary, nil
}

// compareAll runs the scenarios and prints what they show. ok says that
// nothing is left unexplained.
func (opt *options) compareAll(ctx context.Context, version string, stdout, stderr io.Writer) (ok bool, err error) {
	dir, err := os.MkdirTemp("", "tracediff")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(dir)
	nginxref, err := build(ctx, dir)
	if err != nil {
		return false, err
	}
	// Workers of another user reopen their log below it.
	if err := os.Chmod(dir, 0o755); err != nil {
		return false, err
	}
	logs := dir
	if opt.keep != "" {
		if logs, err = filepath.Abs(opt.keep); err != nil {
			return false, err
		}
	}

	ok = true
	if !opt.details {
		fmt.Fprintf(stdout, "%s and nginxref\n\n", version)
		writeHeader(stdout, "scenario")
	}
	for i := range opt.scenarios {
		s := &opt.scenarios[i]
		progress(stderr, s.name+" ...")
		r, err := compareScenario(ctx, s, [2]string{opt.nginx, nginxref}, logs)
		progress(stderr, "")
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		ok = opt.report(r, err, stdout) && ok
	}
	return ok, nil
}

// progress replaces the line on a terminal, and says nothing elsewhere.
func progress(w io.Writer, text string) {
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		fmt.Fprintf(w, "\r\x1b[K%s", text)
	}
}

// report prints a scenario's result and reports whether it is a good one.
func (opt *options) report(r result, err error, stdout io.Writer) (ok bool) {
	switch {
	case err != nil:
		fmt.Fprintf(stdout, "%-32s %v\n", r.name, err)
	case opt.details:
		r.writeDetails(stdout)
	default:
		writeRow(stdout, r.name, r.share)
		r.writeDifferences(stdout)
	}
	return err == nil && r.share.unexplained == 0
}
