package lamp

import "testing"

// A lamp on a wire.
//
//	t0
//	 |
//	l0
func TestLampIsSwitched(t *testing.T) {}

// Without a drawing.
func TestLampIsPlain(t *testing.T) {}
