package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
)

// most is how often a server is started until the scheduler chooses as the
// script wants: each time about one in two.
const most = 100

// result is what a scenario has shown.
type result struct {
	*scenario
	comparisons []comparison
	share       share
}

// subjects are the programs that are compared.
var subjects = [2]string{"nginx", "nginxref"}

// compareScenario runs a scenario on both binaries, one after the other, and
// keeps the logs below dir.
func compareScenario(ctx context.Context, s *scenario, binaries [2]string, dir string) (result, error) {
	r := result{scenario: s}
	port, err := freePort()
	if err != nil {
		return r, err
	}
	var traces [2][]trace
	for i, subject := range subjects {
		traces[i], err = observe(ctx, s, binaries[i], filepath.Join(dir, s.name, subject), port)
		if err != nil {
			return r, fmt.Errorf("%s: %s: %w", s.name, subject, err)
		}
	}
	r.comparisons = compare(traces[0], traces[1])
	for _, c := range r.comparisons {
		r.share.add(c.share)
	}
	return r, nil
}

// observe runs the scenario on one server and returns what each process did.
func observe(ctx context.Context, s *scenario, binary, dir string, port int) ([]trace, error) {
	for range most {
		traces, err := try(ctx, s, binary, dir, port)
		if !errors.Is(err, errOtherOrder) {
			return traces, err
		}
	}
	return nil, fmt.Errorf("%w, %d times", errOtherOrder, most)
}

func try(ctx context.Context, s *scenario, binary, dir string, port int) ([]trace, error) {
	if err := os.RemoveAll(dir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	server, err := start(ctx, binary, dir, s.conf, port)
	if err != nil {
		return nil, err
	}
	r := &run{server: server, clients: map[string]*client{}, names: map[string]string{}}
	err = r.script(ctx, s.script)
	server.stop()
	r.hangUpAll() // nobody is left to log it
	if err != nil {
		return nil, err
	}
	var traces []trace
	for _, t := range reduce(server.log, r.names, s.delay()) {
		traces = append(traces, settle(t)...)
	}
	return traces, writeSteps(dir, traces)
}

// freePort returns a port that no connection takes for its own end.
func freePort() (int, error) {
	for range most {
		port := 20000 + rand.IntN(12000)
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			l.Close()
			return port, nil
		}
	}
	return 0, errors.New("no free port between 20000 and 32000")
}
