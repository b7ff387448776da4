// SPDX-License-Identifier: MIT

package timingwheel

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// late is how late a timer may be. The machine that runs the tests may be busy;
// TWHEEL_LATE has a lower limit for machines whose time does not depend on that.
var late = 2 * time.Second

func TestMain(m *testing.M) {
	if s := os.Getenv("TWHEEL_LATE"); s != "" {
		late, _ = time.ParseDuration(s)
	}
	os.Exit(m.Run())
}

func start(t testing.TB) *TimingWheel {
	tw := NewTimingWheel(time.Millisecond, 20)
	if os.Getenv("TWHEEL_BACKEND") == "device" != tw.Device() {
		t.Fatal("the wheel is not over what was asked for")
	}
	tw.Start()
	t.Cleanup(tw.Stop)
	return tw
}

// in fails unless a time is between a deadline and the latest allowed time.
func in(t *testing.T, got, deadline time.Time) {
	t.Helper()
	if got.Before(deadline) || got.After(deadline.Add(late)) {
		t.Errorf("%v after the deadline", got.Sub(deadline))
	}
}

func never(t *testing.T, what string, fired chan time.Time, d time.Duration) {
	t.Helper()
	select {
	case <-fired:
		t.Error(what)
	case <-time.After(d):
	}
}

func tell(c chan time.Time) func() {
	return func() { c <- time.Now() }
}

func TestAfterFuncIsNeitherEarlyNorLate(t *testing.T) {
	tw := start(t)
	fired := make(chan time.Time)
	for _, ms := range []time.Duration{0, 1, 5, 10, 50, 100, 500, 1000} {
		began := time.Now()
		tw.AfterFunc(ms*time.Millisecond, tell(fired))
		in(t, <-fired, began.Add(ms*time.Millisecond))
	}
	tw.AfterFunc(-1, tell(fired))
	in(t, <-fired, time.Now().Add(-late/2))
}

type intervals struct {
	list  []time.Duration
	asked []time.Time
}

func (s *intervals) Next(previous time.Time) time.Time {
	s.asked = append(s.asked, previous)
	if len(s.asked) > len(s.list) {
		return time.Time{}
	}
	return previous.Add(s.list[len(s.asked)-1])
}

func TestScheduleFuncRunsUntilAZeroTime(t *testing.T) {
	tw := start(t)
	s := &intervals{}
	for _, ms := range []time.Duration{1, 4, 5, 40, 50, 400, 500} {
		s.list = append(s.list, ms*time.Millisecond)
	}
	fired := make(chan time.Time, len(s.list)+1)
	deadline := time.Now()
	timer := tw.ScheduleFunc(s, tell(fired))
	for _, d := range s.list {
		deadline = deadline.Add(d)
		in(t, <-fired, deadline)
	}
	never(t, "it goes on", fired, 20*time.Millisecond)
	if timer.Stop() {
		t.Error("it ended, and Stop says that it stopped it")
	}
	for i := 1; i < len(s.asked); i++ {
		if d := s.asked[i].Sub(s.asked[i-1]); d != s.list[i-1] {
			t.Errorf("the schedule drifts: %v instead of %v", d, s.list[i-1])
		}
	}
	if tw.ScheduleFunc(&intervals{}, func() {}) != nil {
		t.Error("a timer without a first time")
	}
}

type every time.Duration

func (e every) Next(previous time.Time) time.Time {
	return previous.Add(time.Duration(e))
}

func TestAScheduleCanBeStoppedAndReset(t *testing.T) {
	tw := start(t)
	fired := make(chan time.Time, 100)
	timer := tw.ScheduleFunc(every(20*time.Millisecond), tell(fired))
	<-fired
	<-fired
	began := time.Now()
	timer.Reset(100 * time.Millisecond)
	for len(fired) > 0 {
		<-fired
	}
	in(t, <-fired, began.Add(100*time.Millisecond))
	in(t, <-fired, began.Add(120*time.Millisecond))
	if !timer.Stop() || timer.Stop() {
		t.Error("Stop stops it once")
	}
	time.Sleep(5 * time.Millisecond)
	for len(fired) > 0 {
		<-fired
	}
	never(t, "it runs after Stop", fired, 60*time.Millisecond)
	timer.Reset(time.Millisecond)
	<-fired
	<-fired
}

func TestStop(t *testing.T) {
	tw := start(t)
	fired := make(chan time.Time, 1)
	timer := tw.AfterFunc(20*time.Millisecond, tell(fired))
	if !timer.Stop() {
		t.Error("Stop of one that runs is true")
	}
	if timer.Stop() {
		t.Error("Stop of one that was stopped is false")
	}
	never(t, "it fires after Stop", fired, 50*time.Millisecond)
	timer = tw.AfterFunc(time.Millisecond, tell(fired))
	<-fired
	if timer.Stop() {
		t.Error("Stop after expiry is false")
	}
	if (*Timer)(nil).Stop() {
		t.Error("Stop of no timer is false")
	}
}

func TestReset(t *testing.T) {
	const ms = time.Millisecond
	tw := start(t)
	fired := make(chan time.Time, 1)
	timer := tw.AfterFunc(20*ms, tell(fired))
	began := time.Now()
	if !timer.Reset(100 * ms) {
		t.Error("Reset of one that runs is true")
	}
	in(t, <-fired, began.Add(100*ms))
	began = time.Now()
	if timer.Reset(10 * ms) {
		t.Error("Reset after expiry is false")
	}
	in(t, <-fired, began.Add(10*ms))
	timer.Reset(time.Hour)
	began = time.Now()
	if !timer.Reset(10 * ms) {
		t.Error("Reset to an earlier time is true")
	}
	in(t, <-fired, began.Add(10*ms))
	timer.Reset(time.Hour)
	timer.Stop()
	if timer.Reset(1<<63 - 1) {
		t.Error("Reset after Stop is false")
	}
	if !timer.Reset(0) {
		t.Error("Reset of what comes in 292 years is true")
	}
	<-fired
}

func TestNothingFiresBeforeStartAndAfterStop(t *testing.T) {
	tw := NewTimingWheel(time.Millisecond, 20)
	fired := make(chan time.Time, 10)
	tw.AfterFunc(time.Millisecond, tell(fired))
	stopped := tw.AfterFunc(time.Millisecond, tell(fired))
	never(t, "it fires before Start", fired, 20*time.Millisecond)
	if !stopped.Stop() {
		t.Error("what has not fired can be stopped")
	}
	tw.Start()
	tw.Start()
	<-fired
	timer := tw.AfterFunc(20*time.Millisecond, tell(fired))
	tw.Stop()
	tw.Stop()
	if timer.Stop() || timer.Reset(0) || tw.AfterFunc(0, tell(fired)).Stop() {
		t.Error("a timer of a stopped wheel runs")
	}
	never(t, "it fires after Stop", fired, 50*time.Millisecond)
	NewTimingWheel(time.Millisecond, 20).Stop()
}

func TestATaskMayDoAnything(t *testing.T) {
	tw := start(t)
	done := make(chan time.Time)
	var timer *Timer
	var ready sync.WaitGroup
	ready.Add(1)
	timer = tw.AfterFunc(time.Millisecond, func() {
		ready.Wait()
		timer.Stop()
		tw.AfterFunc(time.Millisecond, func() {
			tw.Stop()
			done <- time.Now()
		})
	})
	ready.Done()
	<-done
}

func TestBadInputIsAnError(t *testing.T) {
	for _, c := range []struct {
		tick time.Duration
		size int64
	}{{0, 20}, {-1, 20}, {time.Microsecond - 1, 20}, {time.Millisecond, 0},
		{time.Millisecond, -1}} {
		if _, err := New(c.tick, c.size); err == nil {
			t.Errorf("New(%v, %d) succeeds", c.tick, c.size)
		}
	}
	for _, size := range []int64{1, 2, 1 << 40} {
		tw, err := New(1000*time.Hour, size)
		if err != nil {
			t.Error(err)
			continue
		}
		tw.Stop()
	}
	backend := os.Getenv("TWHEEL_BACKEND")
	defer os.Setenv("TWHEEL_BACKEND", backend)
	os.Setenv("TWHEEL_BACKEND", "else")
	if _, err := New(time.Millisecond, 20); err == nil {
		t.Error("a backend that does not exist")
	}
}

func TestWithoutDescriptors(t *testing.T) {
	var old syscall.Rlimit
	syscall.Getrlimit(syscall.RLIMIT_NOFILE, &old)
	syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 3, Max: old.Max})
	defer syscall.Setrlimit(syscall.RLIMIT_NOFILE, &old)
	backend := os.Getenv("TWHEEL_BACKEND")
	defer os.Setenv("TWHEEL_BACKEND", backend)
	os.Setenv("TWHEEL_BACKEND", "device")
	_, err := New(time.Millisecond, 20)
	if backend == "device" && !errors.Is(err, syscall.EMFILE) || err == nil {
		t.Error("New says", err)
	}
	os.Setenv("TWHEEL_BACKEND", "")
	tw, err := New(time.Millisecond, 20)
	if err != nil || tw.Device() {
		t.Fatal("New does without the device:", err)
	}
	tw.Start()
	fired := make(chan time.Time)
	tw.AfterFunc(time.Millisecond, tell(fired))
	<-fired
	tw.Stop()
}

// A wheel of the kernel for ten timers: the others are the standard library's.
func TestNoTimerIsLostAtALimit(t *testing.T) {
	tw := NewTimingWheel(time.Millisecond, 20)
	defer tw.Stop()
	if tw.device != nil {
		tw.device.file.Close()
		var err error
		if tw.device, err = openDevice(time.Millisecond, 20, 10); err != nil {
			t.Fatal(err)
		}
	}
	tw.Start()
	var fired atomic.Int32
	var timers [100]*Timer
	for i := range timers {
		timers[i] = tw.AfterFunc(time.Duration(20+i)*time.Millisecond, func() { fired.Add(1) })
	}
	want := int32(len(timers))
	for i := range timers {
		if i%2 == 0 && !timers[i].Reset(time.Duration(40+i)*time.Millisecond) {
			want++
		} else if i%2 == 1 && timers[i].Stop() {
			want--
		}
	}
	for limit := 0; fired.Load() < want && limit < 10000; limit++ {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(20 * time.Millisecond)
	if fired.Load() != want {
		t.Errorf("%d fired, not %d", fired.Load(), want)
	}
}

// Either it fires, or it is stopped and does not fire.
func TestTimersFromManyGoroutinesAreExact(t *testing.T) {
	each, goroutines := 10000, 100
	if testing.Short() {
		each = 200
	}
	tw := start(t)
	fired := make([]atomic.Int32, goroutines*each)
	stopped := make([]bool, goroutines*each)
	var all sync.WaitGroup
	var early atomic.Int32
	all.Add(goroutines)
	for g := 0; g < goroutines; g++ {
		go func(g int) {
			defer all.Done()
			random := rand.New(rand.NewSource(int64(g)))
			timers := make([]*Timer, each)
			for i := range timers {
				d := time.Duration(random.Int63n(int64(time.Second)))
				count, deadline := &fired[g*each+i], time.Now().Add(d)
				timers[i] = tw.AfterFunc(d, func() {
					count.Add(1)
					if time.Now().Before(deadline) {
						early.Add(1)
					}
				})
				if random.Intn(8) == 0 {
					runtime.Gosched()
				}
				switch n := random.Intn(i + 1); random.Intn(4) {
				case 0:
					stopped[g*each+n] = timers[n].Stop() || stopped[g*each+n]
				case 1:
					if !stopped[g*each+n] && timers[n].Stop() {
						count, deadline := &fired[g*each+n], time.Now().Add(d)
						timers[n] = tw.AfterFunc(d, func() {
							count.Add(1)
							if time.Now().Before(deadline) {
								early.Add(1)
							}
						})
					}
				}
			}
		}(g)
	}
	all.Wait()
	for i := range fired {
		want := int32(1)
		if stopped[i] {
			want = 0
		}
		for limit := 0; fired[i].Load() < want && limit < 60000; limit++ {
			time.Sleep(time.Millisecond)
		}
	}
	time.Sleep(20 * time.Millisecond)
	for i := range fired {
		if n := fired[i].Load(); (n == 1) == stopped[i] || n > 1 {
			t.Fatalf("timer %d: stopped %v, fired %d times", i, stopped[i], n)
		}
	}
	if n := early.Load(); n > 0 {
		t.Errorf("%d are early", n)
	}
	for i := range tw.shards {
		sh := &tw.shards[i]
		sh.Lock()
		if len(sh.free) != len(sh.slots) {
			t.Errorf("shard %d: %d slots, %d free", i, len(sh.slots), len(sh.free))
		}
		sh.Unlock()
	}
}

// Stop, Reset and expiry of one timer from many goroutines: as often as Reset or AfterFunc
// started it, it fired or was stopped.
func TestOneTimerFromManyGoroutines(t *testing.T) {
	tw := start(t)
	var fired, stopped, begun atomic.Int64
	timer := tw.AfterFunc(0, func() { fired.Add(1) })
	begun.Add(1)
	var all sync.WaitGroup
	for g := 0; g < 8; g++ {
		all.Add(1)
		go func(g int) {
			defer all.Done()
			random := rand.New(rand.NewSource(int64(g)))
			for i := 0; i < 2000; i++ {
				if random.Intn(3) == 0 {
					if timer.Stop() {
						stopped.Add(1)
					}
				} else if !timer.Reset(time.Duration(random.Intn(3)) * time.Millisecond) {
					begun.Add(1)
				}
			}
		}(g)
	}
	all.Wait()
	if timer.Stop() {
		stopped.Add(1)
	}
	for limit := 0; fired.Load()+stopped.Load() < begun.Load() && limit < 1000; limit++ {
		time.Sleep(time.Millisecond)
	}
	if fired.Load()+stopped.Load() != begun.Load() {
		t.Errorf("begun %d, fired %d, stopped %d", begun.Load(), fired.Load(), stopped.Load())
	}
}

// The numbers of the interface, from the repository's list.
func TestNumbers(t *testing.T) {
	list := os.Getenv("TWHEEL_ABI")
	if list == "" {
		list = "../../tests/abi.list"
	}
	file, err := os.Open(list)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	want := map[string]uint32{"TWHEEL_SETUP": ioctlSetup, "TWHEEL_ADD": ioctlAdd,
		"TWHEEL_CANCEL": ioctlCancel, "sizeof(struct twheel_event)": 32}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var value uint32
		for name, number := range want {
			if n, _ := fmt.Sscanf(lines.Text(), name+" %v", &value); n == 1 {
				if value != number {
					t.Errorf("%s is %#x, not %#x", name, value, number)
				}
				delete(want, name)
			}
		}
	}
	if len(want) > 0 {
		t.Error("not in the list:", want)
	}
}
