package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"text/tabwriter"

	"herd/tools/lab"
	"herd/tools/lab/all"
)

const mutantsUsage = `Usage: go run ./tools/grade mutants [LAB...]

Runs each lab's checks on its list of plausible wrong solutions and prints which
checks found each of them. Exit status: 0 each was killed by the check that
names its mistake, 1 not.
`

// mutantsMain prints the table of mutants.
func mutantsMain(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	fs := newFlags("mutants", mutantsUsage)
	if err := parseFlags(fs, args, stdout); err != nil {
		return err
	}
	root, err := courseRoot()
	if err != nil {
		return err
	}
	labs := all.Labs()
	if fs.NArg() > 0 {
		labs = nil
		for _, name := range fs.Args() {
			l, err := findLab(name)
			if err != nil {
				return usageError{err}
			}
			labs = append(labs, l)
		}
	}
	list, err := runMutants(ctx, root, labs)
	if err != nil {
		return err
	}
	return printMutants(stdout, list)
}

// mutant is what became of one wrong solution.
type mutant struct {
	lab, name string
	killers   []string // the checks that failed
	killed    bool     // by the one that names its mistake
}

// runMutants runs the solutions' TestMutants.
func runMutants(ctx context.Context, root string, labs []*lab.Lab) ([]*mutant, error) {
	args := []string{"test", "-json", "-count=1", "-trimpath", "-run=^TestMutants$"}
	for _, l := range labs {
		args = append(args, "./solutions/"+l.Name)
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	list := readMutants(&stdout)
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && len(list) > 0 {
		err = nil // survivors
	}
	if err != nil {
		return nil, fmt.Errorf("go test ./solutions: %w\n%s", err, stderr.Bytes())
	}
	return list, nil
}

// killedBy is what package lab logs for a mutant: the checks that fail.
var killedBy = regexp.MustCompile(`killed by \[(.*)\]`)

// readMutants reads the events of go test -json.
func readMutants(events io.Reader) (list []*mutant) {
	byTest := map[string]*mutant{}
	for d := json.NewDecoder(events); ; {
		var e struct{ Action, Package, Test, Output string }
		if d.Decode(&e) != nil {
			return list
		}
		_, name, ok := strings.Cut(e.Test, "/")
		if !ok {
			continue
		}
		key := e.Package + " " + name
		m := byTest[key]
		if m == nil {
			m = &mutant{lab: e.Package[strings.LastIndexByte(e.Package, '/')+1:], name: strings.ReplaceAll(name, "_", " ")}
			byTest[key] = m
			list = append(list, m)
		}
		if found := killedBy.FindStringSubmatch(e.Output); found != nil {
			m.killers = strings.Fields(strings.ReplaceAll(found[1], `"`, ""))
		}
		m.killed = m.killed || e.Action == "pass"
	}
}

// printMutants prints the table.
func printMutants(w io.Writer, list []*mutant) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "lab\tmutant\tkilled by")
	survivors := 0
	for _, m := range list {
		killers := strings.Join(m.killers, ", ")
		switch {
		case len(m.killers) == 0:
			killers = "NOTHING: it survives"
		case !m.killed:
			killers = "NOT BY ITS OWN CHECK: " + killers
		}
		if !m.killed {
			survivors++
		}
		fmt.Fprintf(t, "%s\t%s\t%s\n", m.lab, m.name, killers)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w, "%d mutants, %d not killed as they should be\n", len(list), survivors)
	if survivors > 0 {
		return errNotPassed
	}
	return nil
}
