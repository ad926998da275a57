package main

import (
	"regexp"
	"strings"
)

// divergence is a difference that nginxref has on purpose. Where a side's
// steps match from, one a line, they are read as to.
type divergence struct {
	nginx    bool // nginx's steps are rewritten, not nginxref's
	from     *regexp.Regexp
	to       string
	reason   string
	file     string // of nginxref
	diverges string // words of the comment there
}

var divergences = []divergence{
	{
		nginx:    true,
		from:     lines(`(signal .* received) from (?:outside|(?:new )?(?:master|worker \d+(?: \(process \d+\))?))(.*)`),
		to:       "$1$2\n",
		reason:   "who sent the signal is not logged",
		file:     "process/ngx_process_signal.go",
		diverges: "Go does not say who sent a signal",
	},
}

// lines compiles a pattern for whole steps.
func lines(pattern string) *regexp.Regexp { return regexp.MustCompile("(?m)^" + pattern + "\n") }

// explain rewrites the steps of both sides as the divergences say and counts
// how often each was needed.
func explain(a, b []step, count map[*divergence]int) ([]step, []step) {
	for i := range divergences {
		d := &divergences[i]
		if d.nginx {
			a = d.rewrite(a, count)
		} else {
			b = d.rewrite(b, count)
		}
	}
	return a, b
}

func (d *divergence) rewrite(steps []step, count map[*divergence]int) (list []step) {
	text := strings.Builder{}
	for _, s := range steps {
		text.WriteString(s.text + "\n")
	}
	done := 0 // steps
	at := 0   // in the text
	for _, m := range d.from.FindAllStringSubmatchIndex(text.String(), -1) {
		before := strings.Count(text.String()[at:m[0]], "\n")
		list = append(list, steps[done:done+before]...)
		done += before
		new := d.from.ExpandString(nil, d.to, text.String(), m)
		for line := range strings.Lines(string(new)) {
			list = append(list, step{strings.TrimSuffix(line, "\n"), steps[done].line})
		}
		done += strings.Count(text.String()[m[0]:m[1]], "\n")
		at = m[1]
		count[d]++
	}
	return append(list, steps[done:]...)
}
