package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"herd/tools/measure"
)

const doctorUsage = `Usage: go run ./tools/herd doctor

Says in one screen what this machine can show and what it cannot, and the
command that mends it. It exits with 3 only if nothing can be measured.
`

// check is one thing that a measurement needs.
type check struct {
	what string
	ok   bool
	says string // what was found, or what cannot be shown without it
	mend string // the command that mends it, if it is not ok and there is one
}

// doctorMain is the command doctor.
func doctorMain(ctx context.Context, args []string) error {
	fs := newFlags("herd doctor", doctorUsage)
	if err := parseFlags(fs, args); err != nil {
		return err
	}
	if fs.NArg() > 0 {
		return usageError{fmt.Errorf("unexpected argument %q; see -h", fs.Arg(0))}
	}
	checks, err := examine(ctx)
	writeChecks(os.Stdout, checks)
	if err != nil {
		return fmt.Errorf("%w: %w", measure.ErrCannotShow, err)
	}
	return nil
}

// writeChecks prints a line a check, and one below it that mends it.
func writeChecks(w io.Writer, checks []check) {
	for _, c := range checks {
		verdict := "ok"
		if !c.ok {
			verdict = "cannot"
		}
		fmt.Fprintf(w, "%-8s %-13s %s\n", verdict, c.what, c.says)
		if !c.ok && c.mend != "" {
			fmt.Fprintf(w, "%-22s mend: %s\n", "", c.mend)
		}
	}
}
