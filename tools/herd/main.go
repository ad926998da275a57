// Command herd measures what each fix of the thundering herd really does: it
// starts real worker processes, makes real connections on the loopback
// interface, and prints wakeups, epoll_wait returns, erroneous accepts, share,
// latency and cost, with the prediction beside the measurement.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"herd/tools/measure"
)

// Exit codes.
const (
	exitFailed      = 1 // a measurement could not be made
	exitUsage       = 2
	exitCannotShow  = 3   // this machine cannot show it, see the message
	exitInterrupted = 130 // as a shell reports SIGINT
)

// options are the command line.
type options struct {
	fixes   []*measure.Fix
	workers int
	rate    float64 // connections a second; 0: burst; <0: all three regimes
	conns   int     // 0: the regime's own number
	delay   time.Duration
	listen  string
	nginx   string // path of the real nginx, if it is a subject
	compare bool   // measure nginxref too, and print the ratios
	json    bool
}

func main() {
	measure.Main() // does not return in the processes that are measured

	opt, err := parse(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		os.Exit(0)
	}
	if err != nil {
		fail(exitUsage, err)
	}

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	runs, err := measureAll(ctx, opt, newProgress(os.Stderr))
	switch {
	case ctx.Err() != nil:
		fail(exitInterrupted, errors.New("interrupted; all workers are stopped"))
	case errors.Is(err, measure.ErrCannotShow):
		fail(exitCannotShow, err)
	case err != nil:
		fail(exitFailed, err)
	}

	if err := report(os.Stdout, opt, runs); err != nil {
		fail(exitFailed, err)
	}
}

// fail prints one line and exits with code.
func fail(code int, err error) {
	fmt.Fprintln(os.Stderr, "herd:", err)
	os.Exit(code)
}

// report writes the table and what it says, or the JSON object.
func report(w io.Writer, opt *options, runs []measure.Run) error {
	machine := measure.ThisMachine()
	if opt.json {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(struct {
			Runs    []measure.Run   `json:"runs"`
			Machine measure.Machine `json:"machine"`
		}{runs, machine})
	}
	fmt.Fprintf(w, "%d workers, accept_mutex_delay %d ms; %s\n",
		opt.workers, opt.delay.Milliseconds(), machine)
	writeTable(w, runs)
	writeFindings(w, runs, opt.delay)
	writeRatios(w, runs)
	writeWitness(w, runs)
	return nil
}

const usage = `Usage: go run ./tools/herd [flags]

Measures each fix of the thundering herd with real processes: %d workers by
default, at 1 connection a second, at 100 a second, and in a burst.

Fixes:
%s
Flags:
`

// parse reads the command line; the error says what to change.
func parse(args []string) (*options, error) {
	opt := &options{}
	fs := flag.NewFlagSet("herd", flag.ContinueOnError)
	fix := fs.String("fix", "", "comma-separated `fixes` to measure (default all)")
	fs.IntVar(&opt.workers, "workers", defaultWorkers, "worker `processes`")
	fs.Float64Var(&opt.rate, "rate", -1, "connections per second; 0 is a closed-loop burst (default 1, 100 and 0 in turn)")
	fs.IntVar(&opt.conns, "conns", 0, "`connections` to make in each run (default: 2 seconds' worth; 2000 in a burst)")
	fs.DurationVar(&opt.delay, "delay", 500*time.Millisecond, "accept_mutex_delay")
	fs.StringVar(&opt.listen, "listen", "127.0.0.1:0", "loopback `address` the workers listen on; port 0 takes a free one")
	subject := fs.String("subject", "nginxref", "the `program` that is measured: nginxref, nginx or nginx=PATH")
	fs.BoolVar(&opt.compare, "compare", false, "with -subject nginx: measure nginxref too and print the ratios")
	fs.BoolVar(&opt.json, "json", false, "print one JSON object instead of the table")
	fs.Usage = func() {
		var list strings.Builder
		for _, f := range measure.Fixes {
			fmt.Fprintf(&list, "  %-18s %s\n", f.Name, f.About)
		}
		fmt.Fprintf(fs.Output(), usage, defaultWorkers, list.String())
		fs.PrintDefaults()
	}
	if len(args) == 1 && (args[0] == "-h" || args[0] == "-help" || args[0] == "--help") {
		fs.SetOutput(os.Stdout)
	}
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	if fs.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q; see -h", fs.Arg(0))
	}
	return opt, opt.check(fs, *fix, *subject)
}

// check validates the flags and resolves the fixes.
func (opt *options) check(fs *flag.FlagSet, fix, subject string) error {
	given := map[string]bool{}
	fs.Visit(func(f *flag.Flag) { given[f.Name] = true })

	switch {
	case opt.workers < 1 || opt.workers > measure.MaxWorkers:
		return fmt.Errorf("-workers %d: give 1 to %d", opt.workers, measure.MaxWorkers)
	case given["rate"] && !(opt.rate >= 0 && opt.rate <= 100_000): // NaN is neither
		return fmt.Errorf("-rate %g: give 0 (burst) to 100000 connections per second", opt.rate)
	case given["conns"] && opt.conns < 1:
		return fmt.Errorf("-conns %d: give at least 1", opt.conns)
	case opt.delay < time.Millisecond || opt.delay%time.Millisecond != 0:
		return fmt.Errorf("-delay %v: give whole milliseconds, such as 500ms", opt.delay)
	}

	switch program, path, _ := strings.Cut(subject, "="); {
	case subject == "nginx":
		opt.nginx = "nginx"
	case program == "nginx" && path != "":
		opt.nginx = path
	case subject != "nginxref":
		return fmt.Errorf("-subject %s: give nginxref, nginx or nginx=PATH", subject)
	}
	if opt.compare && opt.nginx == "" {
		return errors.New("-compare needs -subject nginx")
	}

	opt.fixes = measure.Fixes
	if opt.nginx != "" {
		opt.fixes = measure.NginxFixes()
	}
	if fix != "" {
		opt.fixes = nil
		for _, name := range strings.Split(fix, ",") {
			f, err := measure.FixByName(strings.TrimSpace(name))
			if err != nil {
				return err
			}
			opt.fixes = append(opt.fixes, f)
		}
	}
	return nil
}
