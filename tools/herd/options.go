package main

import (
	"errors"
	"flag"
	"fmt"
	"strings"
	"time"

	"herd/tools/measure"
)

// options are the command line of the measurement.
type options struct {
	fixes   []*measure.Fix
	workers int
	rate    float64 // connections a second; 0: burst; <0: all three regimes
	conns   int     // 0: the regime's own number
	delay   time.Duration
	listen  string
	nginx   string      // path of the real nginx, if it stands beside nginxref
	lab     *labSubject // or a lab
	compare bool        // print the ratios
	json    bool
	report  string // file to write the report to; empty: none
	asked   bool   // for the report; else it is left out where it cannot be written
	whole   bool   // everything is measured, also what only the report shows
}

const defaultReport = "report.html"

const usage = `Usage: go run ./tools/herd [flags]
       go run ./tools/herd sweep|watch|doctor [-h]

Measures each fix of the thundering herd with real processes: %d workers by
default, at 1 connection a second, at 100 a second, and in a burst; prints a
table, and writes %s.

  sweep   measures over numbers of workers and rates, and maps which fix is best
  watch   shows live what the workers of an nginx or nginxref do
  doctor  says what this machine can show, and what to do about the rest

Fixes:
%s
Flags:
`

// subjectFlags adds the flags that say what is measured.
func (opt *options) subjectFlags(fs *flag.FlagSet) (fix, subject *string) {
	fix = fs.String("fix", "", "comma-separated `fixes` to measure (default all, or those that the subject has)")
	fs.DurationVar(&opt.delay, "delay", 500*time.Millisecond, "accept_mutex_delay")
	fs.StringVar(&opt.listen, "listen", "127.0.0.1:0", "loopback `address` the workers listen on; port 0 takes a free one")
	subject = fs.String("subject", "nginxref", "`program` whose rows stand beside nginxref's: "+subjects)
	fs.BoolVar(&opt.json, "json", false, "print one JSON object instead of the table")
	return fix, subject
}

// parse reads the command line; the error says what to change.
func parse(args []string) (*options, error) {
	opt := &options{}
	fs := newFlags("herd", fmt.Sprintf(usage, defaultWorkers, defaultReport, fixList()))
	fix, subject := opt.subjectFlags(fs)
	fs.IntVar(&opt.workers, "workers", defaultWorkers, "worker `processes`")
	fs.Float64Var(&opt.rate, "rate", -1, "connections per second; 0 is a closed-loop burst (default 1, 100 and 0 in turn)")
	fs.IntVar(&opt.conns, "conns", 0, "`connections` to make in each run (default: 2 seconds' worth; 2000 in a burst)")
	fs.BoolVar(&opt.compare, "compare", false, "with -subject: print the ratio of each of nginxref's figures to the subject's")
	fs.StringVar(&opt.report, "report", "", "`file` to write the report to (default "+defaultReport+", but none with -json, -fix, -rate or -conns; empty writes none)")
	if err := parseFlags(fs, args); err != nil {
		return nil, err
	}
	if err := opt.check(fs, *fix, *subject); err != nil {
		return nil, usageError{err}
	}
	return opt, nil
}

// fixList explains the fixes.
func fixList() string {
	var list strings.Builder
	for _, f := range measure.Fixes {
		fmt.Fprintf(&list, "  %-18s %s\n", f.Name, f.About)
	}
	return list.String()
}

// given returns the names of the flags that were given.
func given(fs *flag.FlagSet) map[string]bool {
	names := map[string]bool{}
	fs.Visit(func(f *flag.Flag) { names[f.Name] = true })
	return names
}

// check validates the flags and resolves the fixes.
func (opt *options) check(fs *flag.FlagSet, fix, subject string) error {
	given := given(fs)
	switch {
	case opt.workers < 1 || opt.workers > measure.MaxWorkers:
		return fmt.Errorf("-workers %d: give 1 to %d", opt.workers, measure.MaxWorkers)
	case given["rate"] && !validRate(opt.rate):
		return fmt.Errorf("-rate %g: give 0 (burst) to %d connections per second", opt.rate, maxRate)
	case given["conns"] && opt.conns < 1:
		return fmt.Errorf("-conns %d: give at least 1", opt.conns)
	}
	if err := opt.checkSubject(fs, fix, subject); err != nil {
		return err
	}
	opt.asked = given["report"]
	opt.whole = !given["rate"] && !given["conns"]
	if opt.whole && !given["fix"] && !opt.asked && !opt.json {
		opt.report = defaultReport
	}
	return nil
}

const maxRate = 100_000

func validRate(rate float64) bool { return rate >= 0 && rate <= maxRate } // NaN is not

// checkSubject validates the flags that say what is measured.
func (opt *options) checkSubject(fs *flag.FlagSet, fix, subject string) error {
	if fs.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q; see -h", fs.Arg(0))
	}
	if opt.delay < time.Millisecond || opt.delay%time.Millisecond != 0 {
		return fmt.Errorf("-delay %v: give whole milliseconds, such as 500ms", opt.delay)
	}
	if err := opt.chooseSubject(subject); err != nil {
		return err
	}
	if opt.compare && !opt.beside() {
		return errors.New("-compare needs -subject nginx, or a lab's directory")
	}
	return opt.chooseFixes(fix)
}
