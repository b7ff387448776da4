// SPDX-License-Identifier: MIT

// A heartbeat comes every 200 ms, and postpones an idle timeout of 500 ms. The fifth one is
// the last, and the idle timeout ends the program.
//
//	go run ./example
package main

import (
	"fmt"
	"time"

	"twheel.example/timingwheel"
)

// beats is a schedule of this many times, 200 ms apart.
type beats struct{ left int }

func (b *beats) Next(previous time.Time) time.Time {
	if b.left == 0 {
		return time.Time{}
	}
	b.left--
	return previous.Add(200 * time.Millisecond)
}

func main() {
	tw := timingwheel.NewTimingWheel(time.Millisecond, 256)
	tw.Start()
	defer tw.Stop()

	done := make(chan struct{})
	idle := tw.AfterFunc(500*time.Millisecond, func() {
		fmt.Println("idle")
		close(done)
	})
	beat := 0
	tw.ScheduleFunc(&beats{5}, func() {
		beat++
		fmt.Println("heartbeat", beat)
		idle.Reset(500 * time.Millisecond)
	})
	<-done
}
