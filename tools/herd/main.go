// Command herd measures what each fix of the thundering herd really does: it
// starts real worker processes, makes real connections on the loopback
// interface, and prints wakeups, epoll_wait returns, erroneous accepts, share,
// latency and cost, with the prediction beside the measurement.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"herd/tools/measure"
)

// Exit codes.
const (
	exitFailed      = 1 // a measurement could not be made
	exitUsage       = 2
	exitCannotShow  = 3   // this machine cannot show it, see the message
	exitInterrupted = 130 // as a shell reports SIGINT
)

// commands are the words that the first argument may be. Each gets the
// arguments after it.
var commands = map[string]func(ctx context.Context, args []string) error{
	"sweep":  sweepMain,
	"watch":  watchMain,
	"doctor": doctorMain,
}

func main() {
	measure.Main() // does not return in the processes that are measured

	run, args := measureMain, os.Args[1:]
	if len(args) > 0 && commands[args[0]] != nil {
		run, args = commands[args[0]], args[1:]
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	err := run(ctx, args)
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
	case errors.As(err, &usageError{}):
		fail(exitUsage, err)
	case ctx.Err() != nil:
		fail(exitInterrupted, errors.New("interrupted; all workers are stopped"))
	case errors.Is(err, measure.ErrCannotShow):
		fail(exitCannotShow, err)
	default:
		fail(exitFailed, err)
	}
}

// fail prints one line and exits with code.
func fail(code int, err error) {
	fmt.Fprintln(os.Stderr, "herd:", err)
	os.Exit(code)
}

// usageError is a wrong command line.
type usageError struct{ error }

// newFlags returns the flags of a command, which begins its -h with usage.
func newFlags(name, usage string) *flag.FlagSet {
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	fs.Usage = func() {
		fmt.Fprint(fs.Output(), usage)
		fs.PrintDefaults()
	}
	return fs
}

// parseFlags parses the command line: what is asked for goes to standard
// output, complaints to standard error.
func parseFlags(fs *flag.FlagSet, args []string) error {
	if len(args) == 1 && (args[0] == "-h" || args[0] == "-help" || args[0] == "--help") {
		fs.SetOutput(os.Stdout)
	}
	err := fs.Parse(args)
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		return usageError{err}
	}
	return err
}
