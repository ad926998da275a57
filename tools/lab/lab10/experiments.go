package lab10

import (
	"fmt"
	"io"

	"herd/tools/lab"
	"herd/tools/measure"
)

// Experiments returns the lab's measurement: how long real workers take to be
// ready, which is what nginx's 100 ms are a guess of.
func Experiments(dir string, f Functions) *lab.Experiments {
	return &lab.Experiments{
		Dir: dir,
		Runs: []lab.Experiment{
			experiment("2 workers", 2, "two"),
			experiment("64 workers", 64, "sixtyfour"),
		},
		Tell: tell,
	}
}

func experiment(title string, workers int, key string) lab.Experiment {
	return lab.Experiment{
		Title: title,
		Conf:  measure.Conf{Fix: "exclusive-reorder", Workers: workers, DelayMsec: 500},
		Load:  measure.Load{Conns: workers},
		Figures: []lab.Figure{
			lab.Ask(key+".ready_ms", "ms until all of them are ready", func(r *measure.Run) float64 { return r.ReadyMsec }),
		},
	}
}

func tell(w io.Writer, runs []measure.Run) {
	fmt.Fprintf(w, `nginx waits %d ms before it tells the old workers to leave, for 2 workers as for 64,
on an idle machine as on a busy one. Yours waits until the new ones are ready.

Reload a real server under load, and count the requests that fail:

  go test -v -run Reload ./nginxref
`, AllowToStart)
}
