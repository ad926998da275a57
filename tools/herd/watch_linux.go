package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"

	"herd/tools/measure"
)

const watchUsage = `Usage: go run ./tools/herd watch [flags] [PID]

Shows what the workers of a running nginx or nginxref do, once a second: who is
woken, by what and how often for nothing, who accepts, and who has the accept
mutex. PID is its master or one of its workers; it may be left out if only one
runs here. On a terminal it is a live view that q ends; elsewhere it prints a
sample each second. nginxref counts in shared memory; of nginx the kernel's
tracepoints tell, which needs root.

Flags:
`

// watching is the command line of watch.
type watching struct {
	master   measure.Master
	interval time.Duration
	samples  int // 0: until the end
}

func parseWatch(args []string) (*watching, error) {
	w := &watching{}
	fs := newFlags("herd watch", watchUsage)
	fs.DurationVar(&w.interval, "interval", time.Second, "`time` between two samples")
	fs.IntVar(&w.samples, "n", 0, "`samples` to show; 0 goes on until the end")
	if err := parseFlags(fs, args); err != nil {
		return nil, err
	}
	switch {
	case fs.NArg() > 1:
		return nil, usageError{fmt.Errorf("unexpected argument %q; see -h", fs.Arg(1))}
	case w.interval < 10*time.Millisecond:
		return nil, usageError{fmt.Errorf("-interval %v: give at least 10ms", w.interval)}
	case w.samples < 0:
		return nil, usageError{fmt.Errorf("-n %d: give at least 1, or 0 for no end", w.samples)}
	}
	var err error
	w.master, err = chooseMaster(fs.Arg(0), measure.Masters)
	return w, err
}

// chooseMaster returns the master that arg names, or the only one there is.
func chooseMaster(arg string, masters func() []measure.Master) (measure.Master, error) {
	if arg != "" {
		pid, err := strconv.Atoi(arg)
		if err != nil {
			return measure.Master{}, usageError{fmt.Errorf("%q is no process id", arg)}
		}
		return measure.MasterOf(pid)
	}
	list := masters()
	switch len(list) {
	case 1:
		return list[0], nil
	case 0:
		return measure.Master{}, errors.New("no nginx runs here; start one, or give the process id of its master")
	}
	var b strings.Builder
	for _, m := range list {
		fmt.Fprintf(&b, "\n%8d  %s", m.Pid, m.Title)
	}
	return measure.Master{}, fmt.Errorf("several run here, say which by its process id:%s", b.String())
}

// watchMain is the command watch. To be interrupted is its ordinary end.
func watchMain(ctx context.Context, args []string) error {
	w, err := parseWatch(args)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGHUP, syscall.SIGQUIT)
	defer stop()
	watched := measure.Watch(w.master)
	defer watched.Close()

	if term.IsTerminal(int(os.Stdin.Fd())) && term.IsTerminal(int(os.Stdout.Fd())) {
		err = w.live(ctx, watched)
	} else {
		err = w.loop(ctx, watched, func(v *view) {
			fmt.Println(strings.Join(v.lines(), "\n") + "\n")
		})
	}
	if errors.Is(err, measure.ErrEnded) {
		fmt.Fprintf(os.Stderr, "herd: %v: %s\n", err, w.master.Title)
		return nil
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// loop shows a view each interval.
func (w *watching) loop(ctx context.Context, watched *measure.Watched, show func(*view)) error {
	before, err := watched.Workers()
	if err != nil {
		return err
	}
	last := time.Now()
	tick := time.NewTicker(w.interval)
	defer tick.Stop()
	for n := 0; w.samples == 0 || n < w.samples; n++ {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		after, err := watched.Workers()
		if err != nil {
			return err
		}
		now := time.Now()
		show(newView(watched, before, after, now.Sub(last)))
		before, last = after, now
	}
	return nil
}

// The terminal's own screen is left alone: the view has another, without a
// cursor.
const (
	enterScreen = "\033[?1049h\033[?25l"
	leaveScreen = "\033[?25h\033[?1049l"
)

// live shows the view on the terminal until q is pressed. However it ends,
// the terminal is as it was.
func (w *watching) live(ctx context.Context, watched *measure.Watched) error {
	state, err := term.MakeRaw(int(os.Stdin.Fd()))
	if err != nil {
		return err
	}
	fmt.Print(enterScreen)
	defer func() {
		fmt.Print(leaveScreen)
		term.Restore(int(os.Stdin.Fd()), state)
	}()
	ctx, quit := context.WithCancel(ctx)
	defer quit()
	go waitForQuit(os.Stdin, quit)

	draw(&view{title: title(watched, nil)})
	err = w.loop(ctx, watched, draw)
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// waitForQuit calls quit when q or Ctrl-C is pressed, or the terminal is gone.
// In raw mode Ctrl-C is a character like any other.
func waitForQuit(keys io.Reader, quit func()) {
	const ctrlC = 3
	var key [1]byte
	for {
		n, err := keys.Read(key[:])
		if err != nil || n == 1 && (key[0] == 'q' || key[0] == 'Q' || key[0] == ctrlC) {
			quit()
			return
		}
	}
}

// draw puts the view on the screen, as much as there is room for.
func draw(v *view) {
	width, height, err := term.GetSize(int(os.Stdout.Fd()))
	if err != nil || width == 0 || height == 0 {
		width, height = 80, 24
	}
	lines := v.lines()
	lines[0] += "; q quits"
	if len(lines) > height {
		lines = append(lines[:height-1], fmt.Sprintf("... %d more lines: make the window higher", len(lines)-height+1))
	}
	var b strings.Builder
	b.WriteString("\033[H")
	for i, line := range lines {
		if len(line) > width {
			line = line[:width]
		}
		if i > 0 {
			b.WriteString("\r\n")
		}
		b.WriteString(line + "\033[K")
	}
	b.WriteString("\033[J")
	os.Stdout.WriteString(b.String())
}
