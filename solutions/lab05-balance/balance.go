package main

// Disabled is what nginx computes after each accept; in the reference it is a
// statement of EventAccept.
func Disabled(connections, free int) int { return connections/8 - free }
