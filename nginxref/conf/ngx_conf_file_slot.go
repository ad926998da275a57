package conf

import (
	"strings"

	"herd/nginxref/core"
)

// Values of fields that no directive has set.
const (
	Unset     = -1
	UnsetMsec = ^core.Msec(0)
)

// The generic setters. Each is made of a function that finds the field in the
// block's context, where nginx's have an offset.

// FlagSlot sets a field to 1 or 0 from on or off. Mirrors
// ngx_conf_set_flag_slot.
func FlagSlot[C any](field func(*C) *int) Setter {
	return func(cf *Conf, cmd *Command) error {
		fp := field(cf.Ctx.(*C))

		if *fp != Unset {
			return ErrDuplicate
		}

		if strings.EqualFold(cf.Args[1], "on") {
			*fp = 1

		} else if strings.EqualFold(cf.Args[1], "off") {
			*fp = 0

		} else {
			return cf.Errorf("invalid value \"%s\" in \"%s\" directive, "+
				"it must be \"on\" or \"off\"", cf.Args[1], cmd.Name)
		}

		return nil
	}
}

// StrSlot sets a field that is nil until then. Mirrors ngx_conf_set_str_slot.
func StrSlot[C any](field func(*C) **string) Setter {
	return func(cf *Conf, cmd *Command) error {
		s := field(cf.Ctx.(*C))

		if *s != nil {
			return ErrDuplicate
		}

		*s = &cf.Args[1]

		return nil
	}
}

// numberSlot sets a field to what parse returns, which is Unset for an
// argument that is not right: then the directive fails with invalid.
func numberSlot[C any](field func(*C) *int, parse func(string) int, invalid error) Setter {
	return func(cf *Conf, cmd *Command) error {
		np := field(cf.Ctx.(*C))

		if *np != Unset {
			return ErrDuplicate
		}

		*np = parse(cf.Args[1])
		if *np == Unset {
			return invalid
		}

		return nil
	}
}

// NumSlot sets a field to a number of digits. Mirrors ngx_conf_set_num_slot.
func NumSlot[C any](field func(*C) *int) Setter {
	return numberSlot(field, Atoi, ErrInvalidNumber)
}

// SecSlot sets a field to a time in seconds. Mirrors ngx_conf_set_sec_slot.
func SecSlot[C any](field func(*C) *int) Setter {
	return numberSlot(field, func(s string) int { return ParseTime(s, true) }, ErrInvalidValue)
}

// SizeSlot sets a field to a size in bytes. Mirrors ngx_conf_set_size_slot.
func SizeSlot[C any](field func(*C) *int) Setter {
	return numberSlot(field, ParseSize, ErrInvalidValue)
}

// MsecSlot sets a field to a time in milliseconds. Mirrors
// ngx_conf_set_msec_slot.
func MsecSlot[C any](field func(*C) *core.Msec) Setter {
	return func(cf *Conf, cmd *Command) error {
		msp := field(cf.Ctx.(*C))

		if *msp != UnsetMsec {
			return ErrDuplicate
		}

		*msp = core.Msec(ParseTime(cf.Args[1], false))
		if *msp == UnsetMsec {
			return ErrInvalidValue
		}

		return nil
	}
}

// Enum is a name that a directive takes and what it stands for
// (ngx_conf_enum_t).
type Enum struct {
	Name  string
	Value int
}

// EnumSlot sets a field to the value of a name. Mirrors
// ngx_conf_set_enum_slot.
func EnumSlot[C any](field func(*C) *int, enum []Enum) Setter {
	return func(cf *Conf, cmd *Command) error {
		np := field(cf.Ctx.(*C))

		if *np != Unset {
			return ErrDuplicate
		}

		for _, e := range enum {
			if strings.EqualFold(e.Name, cf.Args[1]) {
				*np = e.Value

				return nil
			}
		}

		return cf.Errorf("invalid value \"%s\"", cf.Args[1])
	}
}

// Block calls Parse for the { } of a directive, inside which ctx is
// configured by the directives of one module type that cmdType allows.
//
// DIVERGES: its own function; nginx writes it out for each block.
func (cf *Conf) Block(ctx any, moduleType ModuleType, cmdType uint32) error {
	pcf := *cf

	cf.Ctx = ctx
	cf.ModuleType = moduleType
	cf.CmdType = cmdType

	rv := cf.Parse("")

	cf.Ctx = pcf.Ctx
	cf.ModuleType = pcf.ModuleType
	cf.CmdType = pcf.CmdType

	return rv
}
