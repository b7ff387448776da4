# SPDX-License-Identifier: GPL-2.0-only
#
# The core in user space: the kernel's own headers for tools, and stand-ins for
# what those leave out. Part of the Makefile.

NATIVE := $(BUILD)/native

# As the kernel compiles it; in what is ours, more warnings.
NATIVE_FLAGS = -std=gnu11 -D_GNU_SOURCE= -fno-strict-aliasing -Wall \
	-Itools/native/include -isystem $(NATIVE)/source/tools/include -I.
NATIVE_TOOL_FLAGS = -Wextra -Wno-sign-compare

# The kernel's source has the headers, and the red-black tree.
$(NATIVE)/source: | deps
	@mkdir -p $(@D)
	@source=$$(tools/vm/kernel --source) && ln -sfn $$source $@

$(NATIVE)/%.o: %.c tools/native/rules.mk | $(NATIVE)/source
	$(CC) $(CFLAGS) $(NATIVE_FLAGS) -MMD -MP -c -o $@ $<

$(NATIVE)/%.o: tools/native/%.c tools/native/rules.mk | $(NATIVE)/source
	$(CC) $(CFLAGS) $(NATIVE_FLAGS) $(NATIVE_TOOL_FLAGS) -MMD -MP -c -o $@ $<

$(NATIVE)/rbtree.o: tools/native/rules.mk | $(NATIVE)/source
	$(CC) $(CFLAGS) $(NATIVE_FLAGS) -c -o $@ $(NATIVE)/source/tools/lib/rbtree.c

# ---- The benchmark ----

$(NATIVE)/bench/%.o: tools/bench/native/%.c tools/native/rules.mk | $(NATIVE)/source
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(NATIVE_FLAGS) $(NATIVE_TOOL_FLAGS) -MMD -MP -c -o $@ $<

$(NATIVE)/bench/%.o: tools/bench/native/%.cc tools/native/rules.mk
	@mkdir -p $(@D)
	$(CXX) $(CFLAGS) -Wall -Wextra -MMD -MP -c -o $@ $<

# The C library's own headers, not the stand-ins' kernel.
$(addprefix $(NATIVE)/bench/,main.o memory.o): \
	NATIVE_FLAGS = -std=gnu11 -D_GNU_SOURCE= -Wall -Itools/common

BENCH_NATIVE := bench/main bench/memory bench/core bench/heap bench/multimap \
	$(CORE) twheel_store timerqueue rbtree

$(NATIVE)/bench-native: $(BENCH_NATIVE:%=$(NATIVE)/%.o) $(call objects,common)
	$(CXX) $(CFLAGS) -o $@ $^

-include $(wildcard $(NATIVE)/*.d $(NATIVE)/bench/*.d)

# ---- Fuzzing ----

# Everything in one go: all of it has to be instrumented.
FUZZ_SOURCES := $(CORE:%=%.c) kunit/model.c tools/native/timerqueue.c \
	tools/tests/fuzz-core/fuzz-core.c tools/tests/fuzz-core/structure.c
FUZZ_DEPENDS := $(FUZZ_SOURCES) $(wildcard twheel*.h kunit/*.h tools/tests/fuzz-core/*.h \
	tools/native/include/linux/*.h) tools/native/rules.mk
FUZZ_BUILD = -O1 -g -fno-omit-frame-pointer -fno-sanitize-recover=all \
	$(NATIVE_FLAGS) -o $@ $(FUZZ_SOURCES) $(NATIVE)/source/tools/lib/rbtree.c

$(NATIVE)/fuzz-core: tools/tests/fuzz-core/libfuzzer.c $(FUZZ_DEPENDS) | $(NATIVE)/source
	clang -fsanitize=fuzzer,address,undefined $(FUZZ_BUILD) $<

$(NATIVE)/fuzz-seeded: tools/tests/fuzz-core/seeded.c $(FUZZ_DEPENDS) \
	$(call objects,common) | $(NATIVE)/source
	$(CC) -fsanitize=address,undefined -Itools/common $(FUZZ_BUILD) $< $(filter %.o,$^)

# With tiny numbers where the core changes its ways, a handful of timers sees all of them.
SMALL_FLAGS := -DTWHEEL_CROWD=3 -DTWHEEL_INSERTION_MAX=2 -DTWHEEL_BIN_BITS=1 \
	-DTWHEEL_LEAD_SHARE=2 -DTWHEEL_TIMERS_PER_STEP=1

$(NATIVE)/fuzz-small: tools/tests/fuzz-core/seeded.c $(FUZZ_DEPENDS) \
	$(call objects,common) | $(NATIVE)/source
	$(CC) -fsanitize=address,undefined -Itools/common $(SMALL_FLAGS) $(FUZZ_BUILD) $< \
		$(filter %.o,$^)

# It runs hundreds of millions of operations: without sanitizers.
$(NATIVE)/fuzz-short: tools/tests/fuzz-core/short.c $(FUZZ_DEPENDS) \
	$(call objects,common) | $(NATIVE)/source
	$(CC) $(CFLAGS) -Itools/common $(NATIVE_FLAGS) $(SMALL_FLAGS) -o $@ $< \
		$(filter-out %/fuzz-core.c,$(FUZZ_SOURCES)) $(filter %.o,$^) \
		$(NATIVE)/source/tools/lib/rbtree.c

# Without clang there are those that need no more than the C compiler.
FUZZERS = $(addprefix $(NATIVE)/,fuzz-seeded fuzz-small fuzz-short) \
	$(if $(shell command -v clang),$(NATIVE)/fuzz-core)

# ---- Drawings ----

$(NATIVE)/drawings/%.o: tools/drawings/%.c tools/native/rules.mk | $(NATIVE)/source
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(NATIVE_FLAGS) $(NATIVE_TOOL_FLAGS) -MMD -MP -c -o $@ $<

$(NATIVE)/draw: $(patsubst tools/%.c,$(NATIVE)/%.o,$(wildcard tools/drawings/*.c)) \
	$(addprefix $(NATIVE)/,$(CORE:=.o) timerqueue.o rbtree.o)
	$(CC) $(CFLAGS) -o $@ $^

-include $(wildcard $(NATIVE)/drawings/*.d)

# ---- The driver on threads ----

# The stand-ins of the driver come first: the core is to see the same kernel.
DRIVER_SOURCES := $(wildcard twheel_*.c tools/tests/threads/*.c) tools/native/timerqueue.c \
	tools/common/chance.c tools/common/options.c
DRIVER_DEPENDS := $(DRIVER_SOURCES) $(wildcard twheel*.h include/uapi/linux/*.h \
	tools/tests/threads/*.h tools/tests/threads/include/linux/*.h \
	tools/tests/threads/include/linux/sched/*.h tools/tests/threads/include/trace/*.h \
	tools/common/*.h tools/native/include/linux/*.h) tools/native/rules.mk
DRIVER_BUILD = -O1 -g -fno-omit-frame-pointer -fno-sanitize-recover=all \
	-Itools/tests/threads/include -Itools/common -Iinclude $(NATIVE_FLAGS) \
	-Wno-maybe-uninitialized -o $@ $(DRIVER_SOURCES) $(NATIVE)/source/tools/lib/rbtree.c -pthread

$(NATIVE)/driver-tsan: $(DRIVER_DEPENDS) | $(NATIVE)/source
	$(CC) -fsanitize=thread $(DRIVER_BUILD)

$(NATIVE)/driver-asan: $(DRIVER_DEPENDS) | $(NATIVE)/source
	$(CC) -fsanitize=address,undefined $(DRIVER_BUILD)

.PHONY: drivers
drivers: deps
	@$(MAKE) -s $(NATIVE)/driver-tsan $(NATIVE)/driver-asan

# ---- Running it ----

.PHONY: native bench-native drawings fuzzers fuzz-core
native: $(NATIVE)/bench-native fuzzers

fuzzers: deps
	@$(MAKE) -s $(FUZZERS)

bench-native: deps
	@$(MAKE) -s $(NATIVE)/bench-native
	@$(NATIVE)/bench-native --json $(BUILD)/bench-native.json \
		$(if $(FACILITY),--facility $(FACILITY)) \
		$(if $(PENDING),--pending $(PENDING))

# Those in the documentation, where make check wants them to be what the core does.
DRAWINGS ?= documentation/drawings

drawings: deps
	@$(MAKE) -s $(NATIVE)/draw
	@mkdir -p $(DRAWINGS)
	@for d in levels journeys wakeups; do \
	 $(NATIVE)/draw $$d >$(DRAWINGS)/$$d.svg || exit; done

# How long: make fuzz-core SECONDS=n
SECONDS ?= 60

fuzz-core: fuzzers
	@tools/tests/fuzz-core/run $(SECONDS)
