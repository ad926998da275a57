// A lab that does not compile.
package main

import (
	"herd/nginxref/event"
	"herd/tools/lab/lab06"
)

func reorder(cycle *event.Cycle, ls *event.Listening) {
	cycle.Reorder(ls)
}

func main() { lab06.Experiments("", lab06.Functions{ReorderAcceptEvents: reorder}).Main() }
