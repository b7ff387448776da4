// SPDX-License-Identifier: MIT

package timingwheel

import (
	"os"
	"syscall"
	"time"
	"unsafe"
)

// The part of the device's interface, include/uapi/linux/twheel.h, that is used here.

type setup struct {
	tick, maxTimers uint64
	size, clock     uint32
	flags           uint32
	reserved        [3]uint32
}

type add struct {
	id, time, interval, data uint64
	flags, reserved          uint32
}

type event struct {
	id, data, deadline, count uint64
}

const (
	write = 1 << 30
	read  = 2 << 30
	magic = 0xD3 << 8

	ioctlSetup  = write | uint32(unsafe.Sizeof(setup{}))<<16 | magic | 0x00
	ioctlAdd    = read | write | uint32(unsafe.Sizeof(add{}))<<16 | magic | 0x01
	ioctlCancel = write | 8<<16 | magic | 0x02

	devicePath = "/dev/twheel"
)

// A device is a wheel in the kernel. Its file is in the runtime's network poller, so that
// a goroutine that waits for events blocks no thread.
type device struct {
	file *os.File
	fd   uintptr
}

func (d *device) ioctl(number uint32, argument unsafe.Pointer) error {
	for {
		_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, d.fd, uintptr(number),
			uintptr(argument))
		if errno == 0 {
			return nil
		}
		if errno != syscall.EINTR {
			return errno
		}
	}
}

func (d *device) add(a *add) error {
	return d.ioctl(ioctlAdd, unsafe.Pointer(a))
}

func (d *device) cancel(id *uint64) error {
	return d.ioctl(ioctlCancel, unsafe.Pointer(id))
}

// openDevice makes a wheel in the kernel, for a number of timers; 0 is the module's limit.
func openDevice(tick time.Duration, size int64, clock Clock, timers uint64) (*device, error) {
	fd, err := syscall.Open(devicePath, syscall.O_RDONLY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: devicePath, Err: err}
	}
	d := &device{fd: uintptr(fd)}
	s := setup{tick: uint64(tick), size: uint32(size), maxTimers: timers, clock: uint32(clock)}
	if err := d.ioctl(ioctlSetup, unsafe.Pointer(&s)); err != nil {
		syscall.Close(fd)
		return nil, &os.PathError{Op: "setup", Path: devicePath, Err: err}
	}
	d.file = os.NewFile(uintptr(fd), devicePath)
	return d, nil
}

// read waits for expired timers and takes as many as fit.
func (d *device) read(events []event) (int, error) {
	const size = int(unsafe.Sizeof(event{}))
	bytes := unsafe.Slice((*byte)(unsafe.Pointer(&events[0])), len(events)*size)
	n, err := d.file.Read(bytes)
	return n / size, err
}

// now reads the clock.
func (c Clock) now() time.Duration {
	if c == Monotonic {
		return time.Since(started) // without a system call
	}
	var now syscall.Timespec
	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, uintptr(c), uintptr(unsafe.Pointer(&now)), 0)
	return time.Duration(now.Nano())
}

var started = time.Now()

// openChanges returns a file whose reads return when the wall clock was set or the machine was
// suspended: a timerfd that never expires, and is cancelled at both.
func openChanges() (*os.File, error) {
	const absolute, cancelOnSet = 1, 2
	timer := struct{ interval, value syscall.Timespec }{value: syscall.Timespec{Sec: 1<<31 - 1}}
	fd, _, errno := syscall.Syscall(syscall.SYS_TIMERFD_CREATE, 0,
		syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if errno != 0 {
		return nil, os.NewSyscallError("timerfd_create", errno)
	}
	syscall.Syscall6(syscall.SYS_TIMERFD_SETTIME, fd, absolute|cancelOnSet,
		uintptr(unsafe.Pointer(&timer)), 0, 0, 0)
	return os.NewFile(fd, "timerfd"), nil
}
