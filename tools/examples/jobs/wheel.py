# SPDX-License-Identifier: MIT
"""A wheel that several processes share: the low-level interface of /dev/twheel.

A Loop of the binding for Python belongs to one process, which calls back. Here, every process
that inherits the descriptor may add, cancel and read, as include/uapi/linux/twheel.h describes.
Times are in nanoseconds, and deadlines on the wheel's clock.
"""

import ctypes
import errno
import fcntl
import os
import struct
import time

ABSTIME = 1
ADD, MODIFY, EVENT = struct.Struct("=4Q2I"), struct.Struct("=2Q2I"), struct.Struct("=4Q")
LISTED, BATCH, LIST = struct.Struct("=4Q2I"), struct.Struct("=Q2I"), struct.Struct("=2Q2I")
SETUP = struct.Struct("=2Q6I")


def request(direction, number, size):
    return direction << 30 | size << 16 | 0xD3 << 8 | number


WRITE, BOTH = 1, 3
TWHEEL_SETUP = request(WRITE, 0x00, SETUP.size)
TWHEEL_CANCEL = request(WRITE, 0x02, 8)
TWHEEL_MODIFY = request(WRITE, 0x03, MODIFY.size)
TWHEEL_ADD_BATCH = request(WRITE, 0x11, BATCH.size)
TWHEEL_LIST = request(BOTH, 0x14, LIST.size)


class Wheel:
    def __init__(self, clock=time.CLOCK_REALTIME, tick=1_000_000, device="/dev/twheel"):
        try:
            self.fd = os.open(device, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            raise SystemExit("%s is missing: load the module, modprobe twheel" % device) from None
        fcntl.ioctl(self.fd, TWHEEL_SETUP, SETUP.pack(tick, 0, 256, clock, 0, 0, 0, 0))

    def add(self, timers):
        """Add timers, (deadline, interval, data) each; return their ids.

        There are fewer ids than timers if the wheel or its user has no room for more.
        """
        entries = ctypes.create_string_buffer(len(timers) * ADD.size)
        for i, (deadline, interval, data) in enumerate(timers):
            ADD.pack_into(entries, i * ADD.size, 0, deadline, interval, data, ABSTIME, 0)
        try:
            added = fcntl.ioctl(self.fd, TWHEEL_ADD_BATCH, bytearray(BATCH.pack(
                ctypes.addressof(entries), len(timers), 0))) if timers else 0
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.ENOMEM):
                raise
            added = 0
        return [ADD.unpack_from(entries, i * ADD.size)[0] for i in range(added)]

    def change(self, command, argument):
        """Return whether there was such a timer."""
        try:
            fcntl.ioctl(self.fd, command, argument)
        except OSError as error:
            if error.errno != errno.ENOENT:
                raise
            return False
        return True

    def cancel(self, timer):
        return self.change(TWHEEL_CANCEL, struct.pack("=Q", timer))

    def modify(self, timer, deadline):
        return self.change(TWHEEL_MODIFY, MODIFY.pack(timer, deadline, ABSTIME, 0))

    def read(self):
        """Wait for a timer that has expired: return its id, data, first deadline and count."""
        return EVENT.unpack(os.read(self.fd, EVENT.size))

    def list(self):
        """Return the id and the data of each timer that has not been read or cancelled."""
        entries, cursor, found = ctypes.create_string_buffer(256 * LISTED.size), 0, []
        while True:
            argument = bytearray(LIST.pack(cursor, ctypes.addressof(entries), 256, 0))
            number = fcntl.ioctl(self.fd, TWHEEL_LIST, argument)
            if number == 0:
                return found
            cursor = LIST.unpack(argument)[0]
            found += [LISTED.unpack_from(entries, i * LISTED.size)[:2] for i in range(number)]
