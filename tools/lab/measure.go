package lab

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"herd/tools/measure"
)

// Experiment is a run of real processes whose figures were predicted.
type Experiment struct {
	Title   string
	Conf    measure.Conf
	Load    measure.Load
	Figures []Figure

	// Run, if set, is done in place of Conf under Load.
	Run func(ctx context.Context) (measure.Run, error)
}

// Figure is one measured number beside its prediction.
type Figure struct {
	Question Question
	Of       func(*measure.Run) float64
}

// Ask returns the figure that is predicted under name.
func Ask(name, text string, of func(*measure.Run) float64) Figure {
	return Figure{Question{name, text}, of}
}

// Experiments are a lab's measurement: what is run, and what the outcome says.
type Experiments struct {
	Dir  string         // labs/lab03-acceptmutex
	Fix  []*measure.Fix // the lab's own, beside the reference's
	Runs []Experiment
	Tell func(w io.Writer, runs []measure.Run) // what the numbers say
}

// Beside returns the reference's fixes that a fix of the lab's stands beside.
func (e *Experiments) Beside() (list []*measure.Fix) {
	for _, f := range measure.Fixes {
		if slices.ContainsFunc(e.Fix, func(own *measure.Fix) bool { return own.Beside == f.Name }) {
			list = append(list, f)
		}
	}
	return list
}

// questions returns what is to be predicted.
func (e *Experiments) questions() (list []Question) {
	for _, run := range e.Runs {
		for _, f := range run.Figures {
			list = append(list, f.Question)
		}
	}
	return list
}

// Main is the main function of a lab: it measures what was predicted and
// prints the two side by side.
func (e *Experiments) Main() {
	measure.Fixes = append(measure.Fixes, e.Fix...)
	measure.Main()

	flag.Usage = func() {
		fmt.Fprintf(flag.CommandLine.Output(), "Usage: go run ./%s\n\nMeasures what you predicted in %s/%s.\n",
			e.Dir, e.Dir, PredictionsFile)
	}
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := e.run(ctx, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "lab:", err)
		os.Exit(exitCode(ctx, err))
	}
}

// exitCode tells an interruption and a machine that cannot show it from
// failure.
func exitCode(ctx context.Context, err error) int {
	switch {
	case ctx.Err() != nil:
		return 130
	case errors.Is(err, measure.ErrCannotShow):
		return 3
	}
	return 1
}

func (e *Experiments) run(ctx context.Context, w io.Writer) error {
	predicted, err := ReadPredictions(e.Dir, e.questions())
	if err != nil {
		return err
	}
	var runs []measure.Run
	for _, x := range e.Runs {
		fmt.Fprintf(w, "%s\n%10s %9s\n", x.Title, "predicted", "measured")
		run, err := x.measure(ctx)
		if err != nil && exitCode(ctx, err) == 1 {
			err = fmt.Errorf("%w (does your code pass its checks? go test ./%s)", err, e.Dir)
		}
		if err != nil {
			return err
		}
		for _, f := range x.Figures {
			fmt.Fprintf(w, "%10.2f %9.2f  %s\n", predicted[f.Question.Name], f.Of(&run), f.Question.Text)
		}
		runs = append(runs, run)
	}
	if e.Tell != nil {
		fmt.Fprintln(w)
		e.Tell(w, runs)
	}
	return nil
}

func (x *Experiment) measure(ctx context.Context) (measure.Run, error) {
	if x.Run != nil {
		return x.Run(ctx)
	}
	s, err := measure.Start(ctx, x.Conf, "127.0.0.1:0")
	if err != nil {
		return measure.Run{}, err
	}
	defer s.Stop()
	return s.Measure(ctx, x.Load, func(int) {})
}
