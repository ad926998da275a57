package main

import (
	"errors"
	"fmt"
	"html"
	"slices"
	"strings"
)

// table renders {{table RUN SELECTOR,SELECTOR FIELD FIELD}}.
func (r *renderer) table(args []string) (string, error) {
	if len(args) < 3 {
		return "", errors.New("write {{table NAME.json none@100,et@100 FIELD FIELD}}")
	}
	run, err := r.b.run(args[0])
	if err != nil {
		return "", err
	}
	sels, fields := splitSelectors(args[1]), args[2:]
	cells := make([][]string, len(fields))
	for i, field := range fields {
		column := make([]any, len(sels))
		for j, sel := range sels {
			if column[j], err = lookup(run.value, sel+"/"+field); err != nil {
				return "", fmt.Errorf("%s: %w", args[0], err)
			}
		}
		cells[i] = tellAll(column)
	}
	r.p.has.run++
	return "<figure class=\"data\">\n<div class=\"scroll\">" + tableHTML(rowTitles(sels), fields, cells) +
		"</div>\n<figcaption>" + medians(fields) + r.ran(run) + "</figcaption>\n</figure>\n", nil
}

// median ends the name of a field that a sweep has measured several times.
const median = "/median"

func medians(fields []string) string {
	if slices.ContainsFunc(fields, func(f string) bool { return strings.HasSuffix(f, median) }) {
		return "<span>medians</span>"
	}
	return ""
}

// tableHTML writes a table of the cells, which are by column.
func tableHTML(rows, fields []string, cells [][]string) string {
	var b strings.Builder
	b.WriteString("<table>\n<thead><tr><th></th>")
	for _, field := range fields {
		b.WriteString("<th>" + html.EscapeString(fieldWords.Replace(strings.TrimSuffix(field, median))) + "</th>")
	}
	b.WriteString("</tr></thead>\n<tbody>\n")
	for i, row := range rows {
		b.WriteString("<tr><th>" + html.EscapeString(row) + "</th>")
		for _, column := range cells {
			b.WriteString("<td>" + html.EscapeString(column[i]) + "</td>")
		}
		b.WriteString("</tr>\n")
	}
	b.WriteString("</tbody></table>")
	return b.String()
}

// splitSelectors splits "none@100,workers=8,et@100" into "none@100,workers=8"
// and "et@100".
func splitSelectors(list string) (sels []string) {
	for _, part := range strings.Split(list, ",") {
		if n := len(sels); n > 0 && !strings.Contains(part, "@") {
			sels[n-1] += "," + part
		} else {
			sels = append(sels, part)
		}
	}
	return sels
}

// fieldWords makes a column's title of a field's name.
var fieldWords = strings.NewReplacer("_per_conn", " per connection", "_per_s", " per second",
	"_us", " µs", "eagain", "EAGAIN", "/", " ", "_", " ")

// rowTitles makes the rows' titles of selectors: of "none@20,workers=8" it is
// "none, 20/s, 8 workers", less what is the same in all rows.
func rowTitles(sels []string) []string {
	titles := make([]string, len(sels))
	said := map[string]int{}
	parts := make([][]string, len(sels))
	for i, sel := range sels {
		conds, _ := conditions(sel) // lookup has found no fault
		for _, c := range conds {
			part := condWords(c[0], c[1])
			said[part]++
			parts[i] = append(parts[i], part)
		}
	}
	for i := range sels {
		own := slices.DeleteFunc(slices.Clone(parts[i]), func(p string) bool { return len(sels) > 1 && said[p] == len(sels) })
		titles[i] = strings.Join(own, ", ")
	}
	return titles
}

func condWords(field, value string) string {
	switch {
	case field == "rate":
		return value + "/s"
	case field == "workers" && value == "1":
		return "1\u00a0worker"
	case field == "workers":
		return value + "\u00a0workers" // on one line of a phone's table
	}
	return value
}
