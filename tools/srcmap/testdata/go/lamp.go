// Package lamp mirrors lamp.c, made up for srcmap's tests.
package lamp

// Toggle switches the lamp. Mirrors ngx_lamp_toggle.
//
//nginx:src/core/lamp.c ngx_lamp_toggle
func (lamp *Lamp) Toggle() {
	lamp.On = !lamp.On // 6
	lamp.Turns++       // 7
}

// Cycle does what it is ordered to. Mirrors ngx_lamp_cycle.
//
//nginx:src/core/lamp.c ngx_lamp_cycle
//nginx:omit 43 nobody counts
func (lamp *Lamp) Cycle(orders int) Status {
	bright := 0 // 15

	lamp.Log = orders       // 21
	lamp.Timer = lamp.Delay // 22

	if lamp.Broken { // 24
		lamp.Log.Error(LogAlert, 0, "lamp is broken") // 25
		return Error                                  // 26

	} else if lamp.Off { // 28
		bright = 2      // 29
		if lamp.Night { // 29
			bright = 1 // 29
		}

	} else {
		bright = 3 // 32
	}

	for i := range orders { // 35

		if lamp.Orders[i] == 0 { // 37
			continue // 38
		}

		err := lamp.wait()
		if err != 0 { // 46
			lamp.Failed = true // 47
			break              // 48
		}

		if lamp.obey(i) {
			break
		}
	}

	// DIVERGES: the lamp here has a record of its brightness.
	lamp.Record = append(lamp.Record, bright)
	lamp.Count++

	lamp.Bright = bright // 72

	return OK // 74
}

// wait waits until the lamp is ready.
//
// DIVERGES: its own function; in C it is part of ngx_lamp_cycle.
//
//nginx:src/core/lamp.c ngx_lamp_cycle
func (lamp *Lamp) wait() Errno {
	for { // 41
		err := lamp.Kernel.Wait() // 42
		if err != EINTR {         // 44
			break // 44
		}
	}
	return 0
}

// obey does what order i says and reports whether it was the last.
//
// DIVERGES: its own function; in C it is part of ngx_lamp_cycle.
//
//nginx:src/core/lamp.c ngx_lamp_cycle
func (lamp *Lamp) obey(i int) bool {
	switch lamp.Orders[i] { // 51

	case On: // 53
		lamp.On = true // 54
		fallthrough

	case Blink: // 56
		lamp.Blinks++ // 57

	case Off, Dark: // 60
		lamp.On = false // 62

	default: // 65
		return true // 66
	}
	return false
}
