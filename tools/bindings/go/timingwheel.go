// SPDX-License-Identifier: MIT

// Package timingwheel has millions of timers on a hierarchical timing wheel in the kernel,
// /dev/twheel. Without the device, the timers are those of the standard library.
//
//	tw := timingwheel.NewTimingWheel(time.Millisecond, 256)
//	tw.Start()
//	defer tw.Stop()
//
//	idle := tw.AfterFunc(time.Minute, func() { conn.Close() })
//	idle.Reset(time.Minute) // at each message: a store, no system call
//	idle.Stop()
//
// All functions may be called by any goroutine. Each task runs in a goroutine of its own. No
// timer expires early, and none is lost: one for which the device has no room becomes one of
// the standard library.
package timingwheel

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// Timers are spread over shards, each with a lock.
const shards = 32

// A TimingWheel is a set of timers. New makes it, Start lets its timers expire, Stop drops it.
type TimingWheel struct {
	device  *device // nil: the standard library
	clock   Clock
	base    time.Duration // on the clock
	next    atomic.Uint32
	once    sync.Once
	begun   chan struct{} // closed by Start or Stop; timers that expire before that wait
	done    chan struct{} // closed when nothing is read any more
	changes *os.File      // of clocks; with the first shard's lock
	shards  [shards]shard
}

// A Clock is what a TimingWheel measures time with.
type Clock uint32

const (
	Monotonic Clock = 1 // stands still while the machine is suspended
	Boottime  Clock = 7 // goes on
)

// A shard maps keys to timers. A key is what the device returns with an expired timer: the
// index of a slot and its generation. A stale key finds nothing.
type shard struct {
	sync.Mutex
	stopped bool
	slots   []slot
	free    []uint32
	add     add
	index   uint64   // in the wheel
	_       [64]byte // each shard has its own cache lines
}

type slot struct {
	timer      *Timer
	generation uint32
}

// A Scheduler determines when a task is executed.
type Scheduler interface {
	// Next returns the next execution time after the given, previous one. It returns a
	// zero time if there is none.
	Next(time.Time) time.Time
}

// A Timer is a single event of a TimingWheel.
type Timer struct {
	wheel     *TimingWheel
	shard     *shard
	task      func()
	scheduled *scheduled
	std       *time.Timer   // the standard library's, if it is one
	deadline  time.Duration // since the wheel's base
	armed     time.Duration // the deadline that the device knows; not later than that
	id        uint64        // the device's
	key       uint64        // 0: not armed
	running   bool
}

type scheduled struct {
	scheduler Scheduler
	expires   time.Time
	turn      int
}

// New makes a timing wheel with ticks of the given length and a number of buckets per level, on
// a clock: Monotonic, if none is given. Without the device, or where it cannot be opened, the wheel
// is over the standard library. The environment variable TWHEEL_BACKEND may hold "device" or "user"
// to allow only one of them.
func New(tick time.Duration, wheelSize int64, clock ...Clock) (*TimingWheel, error) {
	clock = append(clock, Monotonic)
	if tick < time.Microsecond || wheelSize < 1 || clock[0] != Monotonic && clock[0] != Boottime {
		return nil, fmt.Errorf("timingwheel: ticks of %v in %d buckets on clock %d", tick,
			wheelSize, clock[0])
	}
	// Beyond the device's bounds, use the nearest value.
	if tick > time.Hour {
		tick = time.Hour
	}
	if wheelSize == 1 {
		wheelSize = 2
	} else if wheelSize > 65536 {
		wheelSize = 65536
	}
	tw := &TimingWheel{clock: clock[0], base: clock[0].now(), begun: make(chan struct{}),
		done: make(chan struct{})}
	for i := range tw.shards {
		tw.shards[i].index = uint64(i)
	}
	var err error
	switch backend := os.Getenv("TWHEEL_BACKEND"); backend {
	case "":
		tw.device, _ = openDevice(tick, wheelSize, tw.clock, 0)
	case "device":
		tw.device, err = openDevice(tick, wheelSize, tw.clock, 0)
	case "user":
	default:
		err = fmt.Errorf("timingwheel: TWHEEL_BACKEND=%s: not device or user", backend)
	}
	if err == nil && tw.device == nil && tw.clock != Monotonic {
		err = tw.followClocks() // the standard library's timers stand still in a suspend
	}
	if err != nil {
		return nil, err
	}
	return tw, nil
}

// NewTimingWheel is New for programs that do not check: it panics.
func NewTimingWheel(tick time.Duration, wheelSize int64, clock ...Clock) *TimingWheel {
	tw, err := New(tick, wheelSize, clock...)
	if err != nil {
		panic(err)
	}
	return tw
}

// Device reports whether the wheel is in the kernel.
func (tw *TimingWheel) Device() bool {
	return tw.device != nil
}

// Start begins to run the tasks of expired timers.
func (tw *TimingWheel) Start() {
	tw.once.Do(func() {
		close(tw.begun)
		if tw.device != nil {
			go tw.run()
		} else {
			close(tw.done)
		}
	})
}

// Stop drops the wheel and all its timers. It does not wait for running tasks. Timers
// that are started later never expire.
func (tw *TimingWheel) Stop() {
	// From here on no timer is started, and the descriptor is not used.
	for i := range tw.shards {
		sh := &tw.shards[i]
		sh.Lock()
		for _, slot := range sh.slots {
			if t := slot.timer; t != nil && t.std != nil {
				t.std.Stop()
			}
		}
		sh.stopped, sh.slots, sh.free = true, nil, nil
		sh.Unlock()
	}
	tw.once.Do(func() {
		close(tw.begun)
		close(tw.done)
	})
	if tw.device != nil {
		tw.device.file.Close()
	}
	if tw.changes != nil {
		tw.changes.Close()
	}
	<-tw.done
}

// run takes expired timers until the wheel is stopped.
func (tw *TimingWheel) run() {
	defer close(tw.done)
	events := make([]event, 1024)
	for {
		n, err := tw.device.read(events)
		for i := range events[:n] {
			tw.expired(events[i].data)
		}
		if errors.Is(err, os.ErrClosed) {
			return
		}
		if err != nil { // out of memory, for example: nothing is lost
			time.Sleep(time.Millisecond)
		}
	}
}

// AfterFunc waits for the duration to elapse and then calls f in its own goroutine.
func (tw *TimingWheel) AfterFunc(d time.Duration, f func()) *Timer {
	return tw.start(&Timer{task: f}, d)
}

// followClocks lets ScheduleFunc timers follow the wall clock when it is set, and timers of the
// standard library follow Boottime.
func (tw *TimingWheel) followClocks() error {
	sh := &tw.shards[0]
	sh.Lock()
	defer sh.Unlock()
	if tw.changes != nil || sh.stopped {
		return nil
	}
	changes, err := openChanges()
	if err != nil {
		return err
	}
	tw.changes = changes
	go func() {
		for !errors.Is(err, os.ErrClosed) {
			_, err = changes.Read(make([]byte, 8))
			tw.clockChanged()
		}
	}()
	return nil
}

// clockChanged brings forward timers whose time is nearer than it was.
func (tw *TimingWheel) clockChanged() {
	for i := range tw.shards {
		sh := &tw.shards[i]
		sh.Lock()
		for _, slot := range sh.slots {
			if t := slot.timer; t != nil && (t.scheduled != nil || t.std != nil) {
				now := tw.now()
				left := t.deadline - now
				if t.scheduled != nil && time.Until(t.scheduled.expires) < left {
					left = time.Until(t.scheduled.expires)
				}
				t.disarm()
				t.arm(now, left)
			}
		}
		sh.Unlock()
	}
}

// ScheduleFunc calls f in its own goroutine at each time that the scheduler returns, until
// that is a zero time. It returns nil if the first time is zero. The scheduler is called when
// the previous time has come, and need not be safe for use by several goroutines.
//
// The times are those of the wall clock, also when that is set. When it has been set back by
// more than a second, the scheduler is called again with the current time; its result is used
// if that is earlier. After a run that was more than a second late, as when the clock was set
// forward or the machine was suspended, the schedule goes on from the current time.
func (tw *TimingWheel) ScheduleFunc(s Scheduler, f func()) *Timer {
	first := s.Next(time.Now().UTC()).UTC()
	if first.IsZero() {
		return nil
	}
	tw.followClocks() // without a descriptor, try again with the next time
	t := &Timer{task: f, scheduled: &scheduled{scheduler: s, expires: first}}
	return tw.start(t, time.Until(first))
}

func (tw *TimingWheel) start(t *Timer, d time.Duration) *Timer {
	t.wheel, t.shard = tw, &tw.shards[tw.next.Add(1)%shards]
	t.shard.Lock()
	defer t.shard.Unlock()
	t.arm(tw.now(), d)
	return t
}

// Stop keeps the timer from firing. It returns true if the call does so: then the task is not
// called. It returns false if the timer has expired or been stopped before. After Stop of a
// ScheduleFunc timer, a task whose time has passed may still run.
func (t *Timer) Stop() bool {
	if t == nil {
		return false
	}
	t.shard.Lock()
	defer t.shard.Unlock()
	running := t.running && !t.shard.stopped
	t.disarm()
	return running
}

// Reset changes the timer to expire after the duration. It returns true if the timer had been
// active. To postpone a deadline is a store; the device is updated when the old one has
// passed. A ScheduleFunc timer continues its schedule after the new time.
func (t *Timer) Reset(d time.Duration) bool {
	t.shard.Lock()
	defer t.shard.Unlock()
	running := t.running && !t.shard.stopped
	now := t.wheel.now()
	if t.scheduled != nil {
		t.scheduled.expires = time.Now().UTC().Add(d)
	}
	if deadline := after(now, d); t.key != 0 && running && deadline >= t.armed {
		t.deadline = deadline
		return true
	}
	t.disarm()
	t.arm(now, d)
	return running
}

// now is the time since the base.
func (tw *TimingWheel) now() time.Duration {
	return tw.clock.now() - tw.base
}

// after is the end of a delay, or the last possible time if it is later than that.
func after(now, d time.Duration) time.Duration {
	if d > 0 && now+d < now {
		return 1<<63 - 1
	}
	return now + d
}

// arm starts a timer that is not armed. The shard is locked.
func (t *Timer) arm(now, d time.Duration) {
	sh, tw := t.shard, t.wheel
	if sh.stopped {
		return
	}
	if d < 0 {
		d = 0
	}
	t.deadline = after(now, d)
	t.armed, t.running = t.deadline, true
	t.key = sh.insert(t)
	if tw.device != nil {
		sh.add = add{time: uint64(d), data: t.key}
		if tw.device.add(&sh.add) == nil {
			t.id = sh.add.id
			return
		}
	}
	key := t.key
	t.std = time.AfterFunc(d, func() {
		<-tw.begun
		tw.expired(key)
	})
}

// disarm stops a timer. The shard is locked.
func (t *Timer) disarm() {
	t.running = false
	if t.key == 0 || t.shard.take(t.key) == nil {
		return
	}
	if t.std != nil {
		t.std.Stop()
		t.std = nil
	} else {
		// A timer that has been read is gone; its key is stale.
		t.wheel.device.cancel(&t.id)
	}
	t.key = 0
}

// insert gives a timer a key: the generation, the slot, and in its lowest bits the shard.
func (sh *shard) insert(t *Timer) uint64 {
	var index uint32
	if n := len(sh.free); n > 0 {
		index = sh.free[n-1]
		sh.free = sh.free[:n-1]
	} else {
		index = uint32(len(sh.slots))
		sh.slots = append(sh.slots, slot{generation: 1})
	}
	sh.slots[index].timer = t
	return uint64(sh.slots[index].generation)<<32 | uint64(index)*shards | sh.index
}

// take makes a key stale, and returns the timer that had it, or nil.
func (sh *shard) take(key uint64) *Timer {
	index, generation := uint32(key)/shards, uint32(key>>32)
	if index >= uint32(len(sh.slots)) || sh.slots[index].generation != generation {
		return nil
	}
	t := sh.slots[index].timer
	if generation++; generation == 0 { // a key is never 0
		generation = 1
	}
	sh.slots[index] = slot{generation: generation}
	sh.free = append(sh.free, index)
	return t
}

// expired runs the timer that has a key, unless the key is stale or the timer was postponed.
func (tw *TimingWheel) expired(key uint64) {
	sh := &tw.shards[key%shards]
	sh.Lock()
	defer sh.Unlock()
	t := sh.take(key)
	if t == nil {
		return
	}
	t.key, t.std = 0, nil
	if now := tw.now(); t.deadline > now {
		t.arm(now, t.deadline-now)
		return
	}
	if t.scheduled == nil {
		t.running = false
		go t.task()
		return
	}
	t.scheduled.turn++
	go t.turn(t.scheduled.turn, t.scheduled.expires)
}

// turn runs the task of a ScheduleFunc timer if its time has come, and arms it for the next
// one, unless it was reset or stopped.
func (t *Timer) turn(turn int, planned time.Time) {
	tw, next, late := t.wheel, planned, time.Since(planned)
	if late < -time.Second || late > time.Second {
		next = t.scheduled.scheduler.Next(time.Now().UTC()).UTC()
	} else if late >= 0 {
		next = t.scheduled.scheduler.Next(planned).UTC()
	}
	if late < 0 && (next.IsZero() || next.After(planned)) {
		next = planned
	}
	tw.followClocks()
	t.shard.Lock()
	if t.running && t.key == 0 && t.scheduled.turn == turn {
		if t.running = !next.IsZero(); t.running {
			t.scheduled.expires = next
			t.arm(tw.now(), time.Until(next))
		}
	}
	t.shard.Unlock()
	if late >= 0 {
		t.task()
	}
}
