package report

import (
	"fmt"
	"slices"

	"herd/tools/measure"
)

// Size of a panel of bars: a bar a fix.
const (
	barsW  = 400
	barH   = 22
	valueW = 44 // for the figures at the right
)

// barsOf returns the drawing for the runs, and where its bars begin: to the
// right of the names.
func barsOf(runs []entry) (d *drawing, left float64) {
	longest := 0
	for _, e := range runs {
		longest = max(longest, len(name(e.Subject, e.Fix)))
	}
	left = 12 + 7*float64(longest)
	d = &drawing{w: barsW, h: float64(barH*len(runs)) + 8}
	for i, e := range runs {
		d.text(left-8, float64(barH*i)+16, "end", "label", name(e.Subject, e.Fix))
	}
	return d, left
}

// eagain shows the erroneous accepts, a panel a load.
func eagain(r *Results) figure {
	runs := entries("runs", r.Runs)
	f := figure{
		ID:    "eagain",
		Title: "Erroneous accepts: EAGAIN per connection",
		Size:  "medium",
		Text: []string{
			"A worker that was woken, returned and called accept4 too late got EAGAIN. It is the part of a herd that shows " +
				"in user space, and only part: most of the workers that were woken go back to sleep inside the kernel. " +
				"A fix without EAGAIN may still wake everybody: compare with the wakeups.",
		},
	}
	if r.Points != nil {
		return f // a sweep has too many runs for bars; its table has the figures
	}
	most := 1.0
	for _, e := range runs {
		most = max(most, e.EagainPerConn)
	}
	for _, load := range loadsOf(runs) {
		d, left := barsOf(load)
		x := scale{0, most, left, barsW - valueW, false}
		for i, e := range load {
			top := float64(barH * i)
			d.bar(x, 0, e.EagainPerConn, top, "s0", e.path,
				fmt.Sprintf("%s, %s: %.2f EAGAIN per connection", name(e.Subject, e.Fix), loadWord(e.Run), e.EagainPerConn))
			d.text(x.at(e.EagainPerConn)+6, top+16, "start", "value", fmt.Sprintf("%.2f", e.EagainPerConn))
		}
		d.line(x.from, 0, x.from, float64(barH*len(load)), "axis")
		title := LoadText(load[0].Run)
		f.Panels = append(f.Panels, panel{title, d.html("EAGAIN per connection, " + title + "; the figures are in the table below")})
	}
	f.Table = tableOf(runs, fixColumn, loadColumn, wakeupsColumn, returnsColumn, eagainColumn)
	return f
}

// loadsOf gathers the runs of each load.
func loadsOf(runs []entry) [][]entry {
	loads, byLoad := group(runs, func(e entry) string { return LoadText(e.Run) })
	var list [][]entry
	for _, load := range loads {
		list = append(list, byLoad[load])
	}
	return list
}

// bar draws from lo to hi.
func (d *drawing) bar(x scale, lo, hi, top float64, class, row, tip string) {
	d.add(`<rect x="%v" y="%v" width="%v" height="%v" class="bar %s" data-row="%s" data-tip="%s"/>`,
		x.at(lo), top+3, x.at(hi)-x.at(lo), float64(barH-6), class, row, tip)
}

// shares shows who accepted how much, a panel a load.
func shares(r *Results) figure {
	f := figure{
		ID:    "shares",
		Title: "Share of each worker",
		Size:  "medium",
		Text: []string{
			"Each bar is all connections of a run, cut into the workers' parts. Equal parts are fair; one part means that " +
				"one worker did everything. The number is Jain's index: 1 when all are equal, 1/N when one has everything.",
		},
	}
	if r.Points != nil {
		return f
	}
	runs := slices.DeleteFunc(entries("runs", r.Runs), func(e entry) bool { return e.Conns < 2*e.Workers })
	for _, load := range loadsOf(runs) {
		d, left := barsOf(load)
		for i, e := range load {
			d.shareBar(left, float64(barH*i), e)
		}
		title := LoadText(load[0].Run)
		f.Panels = append(f.Panels, panel{title, d.html("Share of each worker, " + title + "; the figures are in the table below")})
	}
	f.Table = tableOf(runs, fixColumn, loadColumn, jainColumn)
	f.Table.Head = append(f.Table.Head, "connections of each worker")
	for i := range f.Table.Rows {
		f.Table.Rows[i].Cells = append(f.Table.Rows[i].Cells, cell{Text: sharesText(runs[i].Run), Field: "shares"})
	}
	return f
}

func sharesText(r *measure.Run) string {
	s := fmt.Sprint(r.Shares)
	return s[1 : len(s)-1]
}

// shareBar draws one run's connections, cut into the workers' parts.
func (d *drawing) shareBar(left, top float64, e entry) {
	x := scale{0, float64(max(1, e.Accepted)), left, barsW - valueW, false}
	sum := 0
	for w, n := range e.Shares {
		if n > 0 {
			d.bar(x, float64(sum), float64(sum+n), top, fmt.Sprintf("part w%d", w%2), e.path,
				fmt.Sprintf("%s, worker %d: %d of %d connections", name(e.Subject, e.Fix), w, n, e.Accepted))
		}
		sum += n
	}
	d.text(barsW-valueW+6, top+16, "start", "value", fmt.Sprintf("%.2f", e.Jain))
}
