// SPDX-License-Identifier: MIT

package timingwheel

import (
	"errors"
	"fmt"
	"math/rand"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"
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

func check(t *testing.T, ok bool, what string) {
	t.Helper()
	if !ok {
		t.Error(what)
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

type schedule func(time.Time) time.Time

func (s schedule) Next(previous time.Time) time.Time {
	return s(previous)
}

func TestScheduleFuncRunsUntilAZeroTime(t *testing.T) {
	const ms = time.Millisecond
	tw := start(t)
	list := []time.Duration{1 * ms, 4 * ms, 5 * ms, 40 * ms, 50 * ms, 400 * ms, 500 * ms}
	fired := make(chan time.Time, len(list)+1)
	var planned []time.Time
	deadline := time.Now()
	timer := tw.ScheduleFunc(schedule(func(previous time.Time) time.Time {
		planned = append(planned, previous)
		if len(planned) > len(list) {
			return time.Time{}
		}
		return previous.Add(list[len(planned)-1])
	}), tell(fired))
	for _, d := range list {
		deadline = deadline.Add(d)
		in(t, <-fired, deadline)
	}
	never(t, "it goes on", fired, 20*ms)
	check(t, !timer.Stop(), "it ended, and Stop says that it stopped it")
	for i, d := range list { // one that was a second late goes on from there
		drift := planned[i+1].Sub(planned[i]) - d
		check(t, drift == 0 || drift > time.Second, "the schedule drifts")
	}
	none := schedule(func(time.Time) time.Time { return time.Time{} })
	check(t, tw.ScheduleFunc(none, func() {}) == nil, "a timer without a first time")
}

func TestAScheduleCanBeStoppedAndReset(t *testing.T) {
	const ms = time.Millisecond
	tw := start(t)
	fired := make(chan time.Time, 100)
	timer := tw.ScheduleFunc(schedule(func(previous time.Time) time.Time {
		return previous.Add(20 * ms)
	}), tell(fired))
	<-fired
	<-fired
	began := time.Now()
	timer.Reset(100 * ms)
	for len(fired) > 0 {
		<-fired
	}
	in(t, <-fired, began.Add(100*ms))
	in(t, <-fired, began.Add(120*ms))
	check(t, timer.Stop() && !timer.Stop(), "Stop stops it once")
	time.Sleep(5 * ms)
	for len(fired) > 0 {
		<-fired
	}
	never(t, "it runs after Stop", fired, 60*ms)
	timer.Reset(ms)
	<-fired
	<-fired
}

func TestStopAndReset(t *testing.T) {
	const ms = time.Millisecond
	tw := start(t)
	fired := make(chan time.Time, 1)
	timer := tw.AfterFunc(20*ms, tell(fired))
	check(t, timer.Stop(), "Stop of one that runs is true")
	check(t, !timer.Stop(), "Stop of one that was stopped is false")
	check(t, !(*Timer)(nil).Stop(), "Stop of no timer is false")
	never(t, "it fires after Stop", fired, 50*ms)
	began := time.Now()
	check(t, !timer.Reset(20*ms), "Reset after Stop is false")
	check(t, timer.Reset(100*ms), "Reset of one that runs is true")
	in(t, <-fired, began.Add(100*ms))
	check(t, !timer.Stop(), "Stop after expiry is false")
	check(t, !timer.Reset(1<<63-1), "Reset after expiry is false")
	began = time.Now()
	check(t, timer.Reset(10*ms), "Reset of what comes in 292 years is true")
	in(t, <-fired, began.Add(10*ms))
	began = time.Now()
	tw.AfterFunc(-1, tell(fired))
	in(t, <-fired, began)
}

func TestNothingFiresBeforeStartAndAfterStop(t *testing.T) {
	const ms = time.Millisecond
	tw := NewTimingWheel(ms, 20)
	fired := make(chan time.Time, 10)
	tw.AfterFunc(ms, tell(fired))
	stopped := tw.AfterFunc(ms, tell(fired))
	never(t, "it fires before Start", fired, 20*ms)
	check(t, stopped.Stop(), "what has not fired can be stopped")
	tw.Start()
	tw.Start()
	<-fired
	timer := tw.AfterFunc(20*ms, tell(fired))
	tw.Stop()
	tw.Stop()
	check(t, !timer.Stop() && !timer.Reset(0) && !tw.AfterFunc(0, tell(fired)).Stop(),
		"a timer of a stopped wheel runs")
	never(t, "it fires after Stop", fired, 50*ms)
	NewTimingWheel(ms, 20).Stop()
}

func TestATaskMayDoAnything(t *testing.T) {
	tw := start(t)
	done := make(chan time.Time)
	ready := make(chan *Timer, 1)
	ready <- tw.AfterFunc(time.Millisecond, func() {
		(<-ready).Stop()
		tw.AfterFunc(time.Millisecond, func() {
			tw.Stop()
			done <- time.Now()
		})
	})
	<-done
}

func TestBadInputIsAnError(t *testing.T) {
	_, err := New(time.Microsecond-1, 20)
	check(t, err != nil, "a tick that is too short")
	_, err = New(time.Millisecond, 0)
	check(t, err != nil, "no buckets")
	for _, size := range []int64{1, 1 << 40} {
		tw, err := New(1000*time.Hour, size)
		if err != nil {
			t.Fatal(err)
		}
		tw.Stop()
	}
	t.Setenv("TWHEEL_BACKEND", "else")
	_, err = New(time.Millisecond, 20)
	check(t, err != nil, "a backend that does not exist")
}

func TestWithoutDescriptors(t *testing.T) {
	var old syscall.Rlimit
	syscall.Getrlimit(syscall.RLIMIT_NOFILE, &old)
	syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 3, Max: old.Max})
	defer syscall.Setrlimit(syscall.RLIMIT_NOFILE, &old)
	exists := os.Getenv("TWHEEL_BACKEND") == "device"
	t.Setenv("TWHEEL_BACKEND", "device")
	_, err := New(time.Millisecond, 20)
	check(t, err != nil && (!exists || errors.Is(err, syscall.EMFILE)), "New says what failed")
	t.Setenv("TWHEEL_BACKEND", "")
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

// descriptors returns the open descriptors, and whether they are closed on exec.
func descriptors() map[uintptr]bool {
	found := map[uintptr]bool{}
	for fd := uintptr(0); fd < 1000; fd++ {
		flags, _, errno := syscall.Syscall(syscall.SYS_FCNTL, fd, syscall.F_GETFD, 0)
		if errno == 0 {
			found[fd] = flags&syscall.FD_CLOEXEC != 0
		}
	}
	return found
}

func TestNoDescriptorLeaks(t *testing.T) {
	NewTimingWheel(time.Millisecond, 20).Stop() // the runtime has its own from here on
	before := descriptors()
	never := schedule(func(previous time.Time) time.Time { return previous.Add(time.Hour) })
	for i := 0; i < 8; i++ {
		tw := NewTimingWheel(time.Millisecond, 20, Boottime)
		if i%2 == 0 {
			tw.Start()
		}
		tw.ScheduleFunc(never, func() {})
		tw.ScheduleFunc(never, func() {})
		now := descriptors()
		for fd, closed := range now {
			_, old := before[fd]
			check(t, old || closed, fmt.Sprint(fd, " stays open on exec"))
		}
		check(t, len(now) <= len(before)+2, "a wheel has more than its device and a clock")
		tw.Stop()
		check(t, tw.ScheduleFunc(never, func() {}) != nil, "a schedule after Stop")
		if tw.Device() { // it refuses the set-up: too many timers
			_, err := openDevice(time.Millisecond, 20, Monotonic, 1<<60)
			check(t, errors.Is(err, syscall.ENOSPC), "a wheel for 2^60 timers")
		}
	}
	check(t, len(descriptors()) == len(before), "descriptors stay open")
}

// A timer that is postponed by less than a tick or two is not early.
func TestPostponedTimersAreNotEarly(t *testing.T) {
	tw := start(t)
	const timers = 500
	var early atomic.Int64
	var all sync.WaitGroup
	all.Add(timers)
	for i := 0; i < timers; i++ {
		var deadline atomic.Int64 // of the last Reset; ns since base
		base := time.Now()
		d := time.Duration(20+i%10) * time.Millisecond
		timer := tw.AfterFunc(d, func() {
			if time.Since(base) < time.Duration(deadline.Load()) {
				early.Add(1)
			}
			all.Done()
		})
		d += time.Duration(i) * 4 * time.Microsecond
		deadline.Store(int64(time.Since(base) + d))
		timer.Reset(d)
	}
	all.Wait()
	check(t, early.Load() == 0, fmt.Sprint(early.Load(), " are early"))
}

func TestBoottime(t *testing.T) {
	tw := NewTimingWheel(time.Millisecond, 20, Boottime)
	tw.Start()
	defer tw.Stop()
	exact(t, tw, 1, 200)
	_, err := New(time.Millisecond, 20, Clock(0))
	check(t, err != nil, "a clock that does not exist")
	if tw.Device() {
		return // the module's tests suspend a machine
	}
	fired := make(chan time.Time, 1)
	timer := tw.AfterFunc(time.Hour, tell(fired))
	tw.AfterFunc(10*time.Hour, func() { t.Error("fired after an hour") })
	tw.base -= time.Hour // as after an hour of suspend
	tw.clockChanged()
	<-fired
	check(t, !timer.Stop(), "it has expired")
}

// exact starts and stops timers: each fires, not early, or is stopped and does not fire.
func exact(t *testing.T, tw *TimingWheel, goroutines, each int) {
	fired := make([]atomic.Int32, goroutines*each)
	stopped := make([]bool, goroutines*each)
	var all sync.WaitGroup
	var early atomic.Int32
	all.Add(goroutines)
	for g := 0; g < goroutines; g++ {
		go func(first int) {
			defer all.Done()
			random := rand.New(rand.NewSource(int64(first)))
			timers := make([]*Timer, each)
			for i := range timers {
				d := time.Duration(random.Int63n(int64(time.Second)))
				begin := func(n int) {
					deadline := time.Now().Add(d)
					timers[n] = tw.AfterFunc(d, func() {
						fired[first+n].Add(1)
						if time.Now().Before(deadline) {
							early.Add(1)
						}
					})
				}
				begin(i)
				if random.Intn(8) == 0 {
					runtime.Gosched()
				}
				n := random.Intn(i + 1)
				if action := random.Intn(4); action < 2 && timers[n].Stop() {
					if stopped[first+n] = action == 0; !stopped[first+n] {
						begin(n)
					}
				}
			}
		}(g * each)
	}
	all.Wait()
	for i := range fired {
		for limit := 0; !stopped[i] && fired[i].Load() < 1 && limit < 60000; limit++ {
			time.Sleep(time.Millisecond)
		}
	}
	time.Sleep(20 * time.Millisecond)
	for i := range fired {
		if n := fired[i].Load(); (n == 1) == stopped[i] || n > 1 {
			t.Fatalf("timer %d: stopped %v, fired %d times", i, stopped[i], n)
		}
	}
	check(t, early.Load() == 0, "some are early")
	for i := range tw.shards {
		sh := &tw.shards[i]
		sh.Lock()
		check(t, len(sh.free) == len(sh.slots), "a shard has slots that are not free")
		sh.Unlock()
	}
}

func TestTimersFromManyGoroutinesAreExact(t *testing.T) {
	if testing.Short() {
		exact(t, start(t), 100, 200)
	} else {
		exact(t, start(t), 100, 2000)
	}
}

// A wheel of the kernel for ten timers: the others are the standard library's.
func TestNoTimerIsLostAtALimit(t *testing.T) {
	tw := NewTimingWheel(time.Millisecond, 20)
	defer tw.Stop()
	if tw.device != nil {
		tw.device.file.Close()
		var err error
		if tw.device, err = openDevice(time.Millisecond, 20, Monotonic, 10); err != nil {
			t.Fatal(err)
		}
	}
	tw.Start()
	exact(t, tw, 1, 200)
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
	check(t, fired.Load()+stopped.Load() == begun.Load(), "a start is lost, or counted twice")
}

// The numbers of the interface, from the repository's list.
func TestNumbers(t *testing.T) {
	path := os.Getenv("TWHEEL_ABI")
	if path == "" {
		path = "../../tests/abi.list"
	}
	list, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, number := range map[string]uint32{"TWHEEL_SETUP": ioctlSetup,
		"TWHEEL_ADD": ioctlAdd, "TWHEEL_CANCEL": ioctlCancel,
		"sizeof(struct twheel_event)": uint32(unsafe.Sizeof(event{}))} {
		line := fmt.Sprintf("\n%s %#x\n", name, number)
		check(t, strings.Contains(string(list), line), "not in the list:"+line)
	}
}
