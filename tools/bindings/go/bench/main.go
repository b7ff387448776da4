// SPDX-License-Identifier: MIT

// Bench prints the cost of timers in Go, for tools/bindings/bench: lines in nanoseconds for
// each timer, of the wheel and of the standard library.
package main

import (
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	"twheel.example/timingwheel"
)

// The methods of both kinds of timers.
type timer interface {
	Stop() bool
	Reset(time.Duration) bool
}

func measure(name string, n int, after func(time.Duration, func()) timer) {
	timers := make([]timer, n)
	nothing := func() {}
	last := time.Now()
	lap := func() float64 {
		now := time.Now()
		defer func() { last = now }()
		return float64(now.Sub(last)) / float64(n)
	}
	for i := range timers {
		timers[i] = after(time.Duration(i*7919%1800000+1000)*time.Millisecond, nothing)
	}
	start := lap()
	for _, t := range timers {
		t.Reset(time.Hour)
	}
	again := lap()
	for _, t := range timers {
		t.Stop()
	}
	stop := lap()
	var called sync.WaitGroup
	called.Add(n)
	at := time.Now().Add(time.Duration(n) * 20 * time.Microsecond)
	for range timers {
		after(time.Until(at), called.Done)
	}
	time.Sleep(time.Until(at))
	lap()
	called.Wait()
	fmt.Printf("%-28s %7.0f %7.0f %7.0f %7.0f\n", name, start, again, stop, lap())
}

func main() {
	n := 100000
	if len(os.Args) > 1 {
		n, _ = strconv.Atoi(os.Args[1])
	}
	tw := timingwheel.NewTimingWheel(time.Millisecond, 256)
	tw.Start()
	name := "Go, timers of the kernel"
	if !tw.Device() {
		name = "Go, without the device"
	}
	measure(name, n, func(d time.Duration, f func()) timer { return tw.AfterFunc(d, f) })
	tw.Stop()
	measure("Go, time.AfterFunc", n, func(d time.Duration, f func()) timer {
		return time.AfterFunc(d, f)
	})
}
