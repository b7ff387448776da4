# SPDX-License-Identifier: MIT
#
# Turns the output of the test programs of Go, Rust and Python into TAP; the rest becomes
# diagnostics.
/^=== /d
/^running [0-9]* test/d
s/^ *--- PASS: \([^ ]*\) .*/ok - \1/
s/^ *--- FAIL: \([^ ]*\) .*/not ok - \1/
s/^ *--- SKIP: \([^ ]*\) .*/ok - \1 # SKIP/
s/^test \(.*\) \.\.\. ok$/ok - \1/
s/^test \(.*\) \.\.\. ignored.*/ok - \1 # SKIP/
s/^test \(.*\) \.\.\. FAILED$/not ok - \1/
s/^\(test_[^ ]*\) (.*) \.\.\. ok$/ok - \1/
s/^\(test_[^ ]*\) (.*) \.\.\. skipped.*/ok - \1 # SKIP/
s/^\(test_[^ ]*\) (.*) \.\.\. \(ERROR\|FAIL\)$/not ok - \1/
/^\(not \)\{0,1\}ok /!s/^/# /
