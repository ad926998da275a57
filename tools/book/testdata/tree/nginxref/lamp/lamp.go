// Package lamp is a lamp.
package lamp

// Lamp is on or off.
type Lamp struct {
	On bool
}

// Switch switches the lamp. Mirrors ngx_lamp_switch.
//
//nginx:src/core/lamp.c ngx_lamp_switch
func (l *Lamp) Switch() bool {
	if l.On { // 12
		l.On = false // 13
		return false // 14
	}

	return true // 16
}

// Color mirrors nothing line by line. Mirrors ngx_lamp_color.
func (l *Lamp) Color() string {
	// book:color
	return "white"
	// book:end
}
