package judge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"herd/tools/grade/result"
)

// buildTime is how long the compiler may take. On half a processor with
// nothing compiled before, the standard library takes about two minutes.
const buildTime = 5 * time.Minute

// build builds the lab's test with the student's files. The outcome is Passed
// if it could.
func (g *grading) build(ctx context.Context, o *overlay) (result.Outcome, string, error) {
	limit := buildTime
	if !g.Deadline.IsZero() {
		limit = min(limit, time.Until(g.Deadline))
	}
	timed, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	output, err := g.compile(timed, o)
	switch {
	case err == nil:
		return result.Passed, "", os.Chmod(g.test, 0o755)
	case ctx.Err() != nil:
		return "", "", ctx.Err()
	case timed.Err() != nil:
		return result.TimedOut, fmt.Sprintf("it is not compiled after %v", limit.Round(time.Second)), nil
	}
	// Whose fault is it?
	if alone, err := g.compileOurs(ctx); err != nil {
		return "", "", fmt.Errorf("the course's own %s does not compile: %w\n%s", g.lab.Name, err, alone)
	}
	return result.NotBuilt, clean(output), nil
}

// compileOurs compiles what is the course's: the lab with its own files. If
// those are the student's, its checks, which do not need them.
func (g *grading) compileOurs(ctx context.Context) (string, error) {
	if g.own {
		return g.goBuild(ctx, "build", "-trimpath", fmt.Sprintf("./tools/lab/lab%02d", g.lab.Number))
	}
	return g.compile(ctx, &overlay{})
}

// compile runs the compiler and returns what it says.
func (g *grading) compile(ctx context.Context, o *overlay) (string, error) {
	file := filepath.Join(g.scratch, "overlay.json")
	text, err := json.Marshal(o)
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return "", err
	}
	return g.goBuild(ctx, "test", "-c", "-trimpath", "-ldflags=-w", "-overlay", file, "-o", g.test, "./labs/"+g.lab.Name)
}

// goBuild runs the go command and returns what it says.
func (g *grading) goBuild(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = g.Root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	output, err := cmd.CombinedOutput()
	if errors.Is(err, exec.ErrNotFound) {
		err = fmt.Errorf("%w: grading needs the Go toolchain", err)
	}
	return g.messages(string(output)), err
}

// messages drops the lines of go that only name the package, and names the
// student's files as the student does.
func (g *grading) messages(output string) string {
	output = strings.ReplaceAll(output, g.scratch+"/", "")
	var b strings.Builder
	for line := range strings.Lines(output) {
		if !strings.HasPrefix(line, "# ") && !strings.HasPrefix(line, "FAIL") {
			b.WriteString(line)
		}
	}
	return strings.TrimSpace(b.String())
}
