package main

import (
	"strings"
	"testing"
)

func TestCheckProvesTheFixture(t *testing.T) {
	newFixture(t).expect(0, `                                                      mapped  diverge  omitted  total
ngx_lamp_toggle                                            2        0        0      2
ngx_lamp_cycle                                            29        0        1     30
2 functions of nginx 1.0.0                                31        0        1     32
`, "", "check")
}

// Each change of the Go code is a way to depart from C, and check must name
// it, at its line.
func TestCheckFindsDepartures(t *testing.T) {
	for _, test := range []struct{ name, old, new, want string }{
		{"a statement deleted", "	lamp.Timer = lamp.Delay // 22\n", "",
			"lamp.go:16: nothing stands for C line 22: mirror it, or declare //nginx:omit 22 REASON"},
		{"one of several for one C statement deleted", "		bright = 2      // 29\n", "",
			"lamp.go:28: C line 29: 2 Go statements stand for it, and 3 do in the map: if that is meant, run srcmap repin"},
		{"a statement of its own", "	lamp.Turns++       // 7\n", "	lamp.Turns++       // 7\n	lamp.Worn = true\n",
			"lamp.go:10: this stands for nothing in ngx_lamp_toggle: end its line with the C line, or mark it DIVERGES: with the reason"},
		{"two statements swapped", "	lamp.Log = orders       // 21\n	lamp.Timer = lamp.Delay // 22\n",
			"	lamp.Timer = lamp.Delay // 22\n	lamp.Log = orders       // 21\n",
			"lamp.go:20: out of order: it stands for C line 21, but line 19 above stands for C line 22"},
		{"two statements swapped, their numbers not", "	lamp.Log = orders       // 21\n	lamp.Timer = lamp.Delay // 22\n",
			"	lamp.Timer = lamp.Delay // 21\n	lamp.Log = orders       // 22\n",
			"lamp.go:20: this and line 19 look swapped: each reads like the C statement of the other (lines 22 and 21)"},
		{"a number that is one off", "// 22\n", "// 23\n",
			"lamp.go:20: no statement of ngx_lamp_cycle begins at C line 23: the one before begins at 22, the one after at 24 (0: none)"},
		{"a number of another statement", "// 22\n", "// 21\n",
			"lamp.go:20: C line 21: 2 Go statements stand for it, and 1 do in the map: if that is meant, run srcmap repin"},
		{"a number inside of a statement", "	case Off, Dark: // 60\n", "	case Off, Dark: // 61\n",
			"lamp.go:92: C line 61 is inside of the statement of line 60: write 60"},
		{"a number after the last", "return OK // 74", "return OK // 99",
			"lamp.go:59: no statement of ngx_lamp_cycle begins at C line 99: the one before begins at 74, the one after at 0 (0: none)"},
		{"a number lost", "lamp.Failed = true // 47", "lamp.Failed = true",
			"lamp.go:44: this stands for nothing in ngx_lamp_cycle: end its line with the C line, or mark it DIVERGES: with the reason"},
		{"a DIVERGES lost", "	// DIVERGES: the lamp here has a record of its brightness.\n", "",
			"lamp.go:53: this stands for nothing in ngx_lamp_cycle: end its line with the C line, or mark it DIVERGES: with the reason"},
		{"an omit lost", "//nginx:omit 43 nobody counts\n", "",
			"lamp.go:15: nothing stands for C line 43: mirror it, or declare //nginx:omit 43 REASON"},
		{"an omit of what is mirrored", "//nginx:omit 43", "//nginx:omit 42-43",
			"lamp.go:15: C line 42 is not omitted: lamp.go:69 stands for it"},
		{"an omit of nothing", "//nginx:omit 43", "//nginx:omit 43, 70-71",
			"lamp.go:15: no statement of ngx_lamp_cycle begins at C line 70: the one before begins at 66, the one after at 72 (0: none)"},
		{"another status", "return Error                                  // 26", "return OK // 26",
			"lamp.go:24: C line 26: the status is error in C, ok in Go"},
		{"another log level", "LogAlert", "LogWarn",
			"lamp.go:23: C line 25: the log level is alert in C, warn in Go"},
		{"another errno", "err != EINTR", "err != EAGAIN",
			"lamp.go:70: C line 44: the errno is intr in C, again in Go"},
		{"another truth", "lamp.Failed = true", "lamp.Failed = false",
			"lamp.go:44: C line 47: it sets true in C, false in Go"},
		{"an else lost", "	} else {\n		bright = 3 // 32\n	}\n", "	}\n	bright = 3 // 32\n",
			"lamp.go:33: C line 32 is in the body of line 28, but here it is not in that of line 26"},
		{"moved out of a loop", "	lamp.Bright = bright // 72", "	for lamp.On { // 35\n	lamp.Bright = bright // 72\n	}",
			"lamp.go:58: C line 72 is not in the body of line 35, as it is here"},
		{"the branches exchanged", "	case Off, Dark: // 60\n		lamp.On = false // 62\n\n	default: // 65\n		return true // 66\n",
			"	case Off, Dark: // 60\n\n	default: // 65\n		lamp.On = false // 62\n		return true // 66\n",
			"lamp.go:95: out of order: it stands for C line 62, but line 94 above stands for C line 65"},
		{"another kind of jump", "			break              // 48", "			continue // 48",
			`lamp.go:45: this is of the kind "continue", and C line 48 of the kind "break"`},
		{"a condition that decides nothing", "			break // 44\n		}\n", "		}\n",
			"lamp.go:70: C line 44: 1 Go statements stand for it, and 2 do in the map: if that is meant, run srcmap repin"},
		{"a condition that became a call", "		if err != 0 { // 46\n			lamp.Failed = true // 47\n			break              // 48\n		}\n",
			"		lamp.check(err)    // 46\n		lamp.Failed = true // 47\n		break              // 48\n",
			`lamp.go:43: this is of the kind "plain", and can only be a part of C line 46, of the kind "if"`},
		{"a case that no longer runs on", "		fallthrough\n", "",
			"lamp.go:85: C line 53: only one of the two cases runs on into the next"},
		{"a part that is no longer called", "		if lamp.obey(i) {\n			break\n		}\n", "",
			"lamp.go:95: this stands for nothing in ngx_lamp_cycle: end its line with the C line, or mark it DIVERGES: with the reason"},
		{"a part that nothing calls", "		err := lamp.wait()\n", "		err := 0 // DIVERGES: no waiting\n",
			"lamp.go:67: nothing calls (*Lamp).wait, a part of ngx_lamp_cycle, where C has it"},
		{"a part that is called too late", "		err := lamp.wait()\n		if err != 0 { // 46\n			lamp.Failed = true // 47\n			break              // 48\n		}\n",
			"		if err != 0 { // 46\n			lamp.Failed = true // 47\n			break              // 48\n		}\n		err := lamp.wait()\n",
			"lamp.go:68: out of order: it stands for C line 41, but line 44 above stands for C line 48"},
		{"another function", "ngx_lamp_toggle\nfunc", "ngx_lamp_turn\nfunc",
			"lamp.go:7: the comment says that (*Lamp).Toggle mirrors ngx_lamp_toggle, the directive says ngx_lamp_turn"},
		{"a whole function deleted", "//nginx:src/core/lamp.c ngx_lamp_toggle\nfunc (lamp *Lamp) Toggle() {\n	lamp.On = !lamp.On // 6\n	lamp.Turns++       // 7\n}\n", "",
			"map.txt:1: nothing mirrors src/core/lamp.c ngx_lamp_toggle any more: if that is meant, run srcmap repin"},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := newFixture(t)
			f.replace(test.old, test.new)
			status, _, stderr := f.run("check")
			if status != exitFindings {
				t.Errorf("exit status %d, want %d", status, exitFindings)
			}
			if !strings.Contains("\n"+stderr, "\n"+test.want+"\n") {
				t.Errorf("no finding\n  %s\namong\n%s", test.want, stderr)
			}
		})
	}
}

// Against another release check says what it could not find again; the rest of
// the proof goes on.
func TestCheckAgainstAnotherRelease(t *testing.T) {
	newFixture(t).expect(1, `                                                      mapped  diverge  omitted  total
ngx_lamp_toggle                                            2        0        0      2
ngx_lamp_cycle                                            29        0        0     31
2 functions of nginx 2.0.0                                31        0        0     33
`, `lamp.go:20: out of order: it stands for C line 22, but line 19 above stands for C line 23
lamp.go:22: C line 24 of nginx 1.0.0 reads differently in 2.0.0, line 25
lamp.go:16: nothing stands for C line 63: mirror it, or declare //nginx:omit 63 REASON
lamp.go:16: nothing stands for C line 73: mirror it, or declare //nginx:omit 73 REASON
`, "check", "-src", "testdata/nginx-2")
}

func TestCheckWithoutAMap(t *testing.T) {
	f := newFixture(t)
	f.write(f.mapFile, "")
	if status, _, stderr := f.run("check"); status != 0 || stderr != "" {
		t.Errorf("exit status %d, %s", status, stderr)
	}
}
