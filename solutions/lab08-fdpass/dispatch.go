package main

import "herd/tools/fdpass"

// The answer to part A is the code behind the fdpass row of the herd table.
var (
	Dispatch = (*fdpass.Dispatcher).Dispatch
	Receive  = fdpass.Receive
)
