// A lab that panics at the first connection.
package main

import (
	"herd/nginxref/event"
	"herd/tools/lab/lab06"
)

func reorder(cycle *event.Cycle, ls *event.Listening) {
	ls.Connection = nil
	ls.Connection.Read.Ready = false
}

func main() { lab06.Experiments("", lab06.Functions{ReorderAcceptEvents: reorder}).Main() }
