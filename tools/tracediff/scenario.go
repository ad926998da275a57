//go:build linux

package main

import (
	"embed"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"
)

//go:embed scenarios
var scenarioFiles embed.FS

// scenario is a configuration and what clients and signals do to the server.
//
// A file has three parts: what it is about, in lines that begin with "#"; the
// nginx.conf, in which PORT stands for the port; and, after a line "---", the
// script: one command a line, see commands. "repeat N" to "end" is done N
// times; "%" in it is the number of the round.
type scenario struct {
	name   string
	about  string
	conf   string
	script []command
}

// command is one line of a script.
type command struct {
	text string
	args []string
	op   *op
	busy bool // go on before the server is at rest; "&" in the script
}

// scenarios returns all scenarios, by name.
func scenarios() ([]scenario, error) {
	files, err := scenarioFiles.ReadDir("scenarios")
	if err != nil {
		return nil, err
	}
	var list []scenario
	for _, file := range files {
		text, err := scenarioFiles.ReadFile(path.Join("scenarios", file.Name()))
		if err != nil {
			return nil, err
		}
		s, err := parseScenario(strings.TrimSuffix(file.Name(), ".txt"), string(text))
		if err != nil {
			return nil, fmt.Errorf("scenarios/%s: %w", file.Name(), err)
		}
		list = append(list, s)
	}
	return list, nil
}

func parseScenario(name, text string) (scenario, error) {
	s := scenario{name: name}
	conf, script, ok := strings.Cut(text, "\n---\n")
	if !ok {
		return s, fmt.Errorf("no line \"---\" between the configuration and the script")
	}
	for line := range strings.Lines(conf) {
		if about, ok := strings.CutPrefix(line, "# "); ok && s.conf == "" {
			s.about = strings.TrimSpace(s.about + " " + strings.TrimSpace(about))
			continue
		}
		s.conf += line
	}
	var err error
	s.script, err = parseScript(script)
	return s, err
}

func parseScript(text string) (list []command, err error) {
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		line := strings.TrimSpace(lines[i])
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if n, ok := strings.CutPrefix(line, "repeat "); ok {
			times, err := strconv.Atoi(n)
			if err != nil {
				return nil, fmt.Errorf("%q: %w", line, err)
			}
			var block []string
			for i++; i < len(lines) && strings.TrimSpace(lines[i]) != "end"; i++ {
				block = append(block, lines[i])
			}
			for round := range times {
				more, err := parseScript(strings.ReplaceAll(strings.Join(block, "\n"), "%", strconv.Itoa(round+1)))
				if err != nil {
					return nil, err
				}
				list = append(list, more...)
			}
			continue
		}
		c, err := parseCommand(line)
		if err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	return list, nil
}

func parseCommand(line string) (command, error) {
	c := command{text: line}
	line, c.busy = strings.CutSuffix(line, " &")
	for i := range ops {
		o := &ops[i]
		if rest, ok := strings.CutPrefix(line+" ", o.name+" "); ok {
			c.op = o
			c.args = strings.SplitN(strings.TrimSpace(rest), " ", max(1, o.most))
			if c.args[0] == "" {
				c.args = nil
			}
			if len(c.args) < o.least || len(c.args) > o.most {
				return c, fmt.Errorf("%q: usage: %s %s", line, o.name, o.args)
			}
			return c, nil
		}
	}
	return c, fmt.Errorf("%q: no such command", line)
}

var delayDirective = regexp.MustCompile(`accept_mutex_delay (\d+)(ms|s|);`)

// delay returns accept_mutex_delay in milliseconds, as the log has it.
func (s *scenario) delay() string {
	m := delayDirective.FindStringSubmatch(s.conf)
	switch {
	case m == nil:
		return "500"
	case m[2] == "ms":
		return m[1]
	}
	return m[1] + "000"
}
