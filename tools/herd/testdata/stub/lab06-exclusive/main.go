// A lab that is not written yet.
package main

import (
	"herd/nginxref/event"
	"herd/tools/lab"
	"herd/tools/lab/lab06"
)

func reorder(cycle *event.Cycle, ls *event.Listening) {
	lab.TODO("ReorderAcceptEvents")
}

func main() { lab06.Experiments("", lab06.Functions{ReorderAcceptEvents: reorder}).Main() }
