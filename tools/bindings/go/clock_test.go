// SPDX-License-Identifier: MIT

//go:build setclock

package timingwheel

import (
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// These tests set CLOCK_REALTIME, and put it back: for virtual machines.

func step(t *testing.T, d time.Duration) {
	t.Helper()
	tv := syscall.NsecToTimeval(time.Now().Add(d).UnixNano())
	if err := syscall.Settimeofday(&tv); err != nil {
		t.Fatal(err)
	}
}

// planned returns a schedule of one time: a moment of the wall clock.
func planned(moment time.Time) schedule {
	asked := false
	return func(time.Time) time.Time {
		if asked {
			return time.Time{}
		}
		asked = true
		return moment
	}
}

func TestClockSetATaskRunsAtItsMoment(t *testing.T) {
	for _, by := range []time.Duration{-time.Hour, -2 * time.Second, -100 * time.Millisecond,
		-500 * time.Microsecond,
		1500 * time.Millisecond, 2 * time.Second, time.Hour} {
		tw := start(t)
		ran := make(chan time.Time, 2)
		moment := time.Now().Add(2 * time.Second).Round(0)
		tw.ScheduleFunc(planned(moment), tell(ran))
		time.Sleep(200 * time.Millisecond)
		step(t, by)
		if by == -time.Hour {
			never(t, "it runs an hour early", ran, 2500*time.Millisecond)
			step(t, time.Hour)
		}
		limit := moment
		if now := time.Now(); now.After(moment) {
			limit = now // it was set past the moment
		}
		select {
		case at := <-ran:
			check(t, !at.Round(0).Before(moment), "set by "+by.String()+": early")
			check(t, at.Round(0).Sub(limit.Round(0)) < late, "set by "+by.String()+": late")
		case <-time.After(10 * time.Second):
			t.Fatal("set by " + by.String() + ": it does not run")
		}
		if by != -time.Hour {
			step(t, -by)
		}
		never(t, "it runs twice", ran, 20*time.Millisecond)
	}
}

func TestClockSetASchedulePassesOver(t *testing.T) {
	const every = 50 * time.Millisecond
	intervals := schedule(func(previous time.Time) time.Time { return previous.Add(every) })
	aligned := schedule(func(previous time.Time) time.Time {
		return previous.Truncate(every).Add(every)
	})
	for name, s := range map[string]schedule{"intervals": intervals, "aligned": aligned} {
		for _, by := range []time.Duration{-time.Hour, time.Hour, -10 * time.Second, 10 * time.Second} {
			tw := start(t)
			var runs, running, most atomic.Int64
			tw.ScheduleFunc(s, func() {
				runs.Add(1)
				if n := running.Add(1); n > most.Load() {
					most.Store(n)
				}
				time.Sleep(2 * every)
				running.Add(-1)
			})
			time.Sleep(4 * every)
			step(t, by)
			before := runs.Load()
			time.Sleep(20 * every)
			n := runs.Load() - before
			tw.Stop()
			step(t, -by)
			if n < 5 || n > 25 || most.Load() > 5 || runtime.NumGoroutine() > 50 {
				t.Errorf("%s, set by %v: %d runs in 20 intervals, %d at once", name, by, n,
					most.Load())
			}
		}
	}
}
