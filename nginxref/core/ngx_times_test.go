package core

import (
	"testing"
	"time"
)

// CASES E11: deadlines counted on the wall clock stop firing for as long as
// it was set back.
func TestCurrentMsecFollowsTheMonotonicClockOnly(t *testing.T) {
	k := &clock{wall: stamp, mono: 7_000_999_999}
	times := NewTimes(k)
	if times.CurrentMsec != 7000 {
		t.Fatalf("CurrentMsec %d, want 7000 for 7.000999999 s", times.CurrentMsec)
	}
	k.wall = stamp.Add(-time.Hour)
	k.mono += 100e6
	times.TimeUpdate()
	if times.CurrentMsec != 7100 {
		t.Errorf("CurrentMsec %d, 100 ms after 7000 and with the wall clock an hour back", times.CurrentMsec)
	}
	if times.Sec != stamp.Unix()-3600 {
		t.Errorf("Sec %d does not follow the wall clock to %d", times.Sec, stamp.Unix()-3600)
	}
}

func TestTimesAreAsOldAsTheLastUpdate(t *testing.T) {
	k := &clock{wall: stamp, mono: 1e9}
	times := NewTimes(k)
	k.wall, k.mono = stamp.Add(1234*time.Millisecond), 2e9
	if times.Sec != stamp.Unix() || times.Msec != 0 || times.CurrentMsec != 1000 ||
		string(times.ErrLogTime()) != "2026/11/30 00:29:13" {
		t.Errorf("changed without an update: %d.%03d %d %s", times.Sec, times.Msec, times.CurrentMsec, times.ErrLogTime())
	}
	times.TimeUpdate()
	if times.Sec != stamp.Unix()+1 || times.Msec != 234 || times.CurrentMsec != 2000 ||
		string(times.ErrLogTime()) != "2026/11/30 00:29:14" {
		t.Errorf("after the update: %d.%03d %d %s", times.Sec, times.Msec, times.CurrentMsec, times.ErrLogTime())
	}
	// Within the second only the milliseconds move.
	k.wall = k.wall.Add(700 * time.Millisecond)
	times.TimeUpdate()
	if times.Sec != stamp.Unix()+1 || times.Msec != 934 {
		t.Errorf("later in that second: %d.%03d", times.Sec, times.Msec)
	}
}

func TestLogTimeIsLocalAndHTTPTimeIsGMT(t *testing.T) {
	local := time.Local
	defer func() { time.Local = local }()
	for _, c := range []struct {
		zone    *time.Location
		log     string
		minutes int
	}{
		{time.FixedZone("", 5*3600+1800), "1970/09/28 11:30:00", 330},
		{time.FixedZone("", -9*3600), "1970/09/27 21:00:00", -540},
		{time.UTC, "1970/09/28 06:00:00", 0},
	} {
		time.Local = c.zone
		times := NewTimes(&clock{wall: time.Date(1970, 9, 28, 6, 0, 0, 0, time.UTC)})
		if got := string(times.ErrLogTime()); got != c.log {
			t.Errorf("log time %s, want %s", got, c.log)
		}
		if got, want := string(times.HTTPTime()), "Mon, 28 Sep 1970 06:00:00 GMT"; got != want {
			t.Errorf("HTTP time %s, want %s", got, want)
		}
		if times.gmtoff != c.minutes {
			t.Errorf("%d minutes east, want %d", times.gmtoff, c.minutes)
		}
	}
}

func TestTimeUpdateDoesNotAllocate(t *testing.T) {
	k := &clock{wall: stamp}
	times := NewTimes(k)
	if n := testing.AllocsPerRun(100, func() {
		k.wall = k.wall.Add(time.Second)
		times.TimeUpdate()
	}); n != 0 {
		t.Errorf("%v allocations a second", n)
	}
}
