// SPDX-License-Identifier: MIT
module twheel.example/timingwheel

go 1.19
