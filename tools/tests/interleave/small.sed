# SPDX-License-Identifier: MIT
#
# Tiny thresholds, so that a few timers reach all paths of the driver
s/^(#define TWHEEL_CHUNK\t+)84$/\12/
s/^(#define TWHEEL_KEEP_PAGES\t+)16$/\11/
s/^(#define TWHEEL_STEPS\t+)192$/\14/
s/^(#define TWHEEL_FEW\t+)64$/\12/
s/^(#define TWHEEL_POLL_HOLDS\t+)8$/\12/
s/^(#define TWHEEL_SLOT_BITS\t)\(PAGE_SHIFT - 4\)$/\18/
s/^(#define TWHEEL_PAUSE_NS\s+)\(25 \*/\1(10 */
s/^(static atomic64_t opened)/\1 WORLD/
