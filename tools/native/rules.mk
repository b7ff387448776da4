# SPDX-License-Identifier: GPL-2.0-only
#
# The core in user space, with the stand-ins for the kernel's headers that the library has.
# The kernel's source has the red-black tree of the tests' model. Part of the Makefile.

NATIVE := $(BUILD)/native

# As the kernel compiles it, with more warnings for our files.
NATIVE_FLAGS = -std=gnu11 -D_GNU_SOURCE= -fno-strict-aliasing -Wall \
	-Itools/lib/kernel -idirafter $(NATIVE)/source/tools/include -I.
NATIVE_TOOL_FLAGS = -Wextra -Wno-sign-compare

$(NATIVE)/source: | deps
	@mkdir -p $(@D)
	@source=$$(tools/vm/kernel --source) && ln -sfn $$source $@

$(NATIVE)/%.o: %.c tools/native/rules.mk | $(NATIVE)/source
	$(CC) $(CFLAGS) $(NATIVE_FLAGS) -MMD -MP -c -o $@ $<

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
	$(CORE) twheel_store

$(NATIVE)/bench-native: $(BENCH_NATIVE:%=$(NATIVE)/%.o) $(call objects,common)
	$(CXX) $(CFLAGS) -o $@ $^

-include $(wildcard $(NATIVE)/*.d $(NATIVE)/bench/*.d)

# ---- KUnit ----

KUNIT_SOURCES := $(wildcard kunit/*.c) tools/native/kunit/run.c
KUNIT_OBJECTS := $(KUNIT_SOURCES:%.c=$(NATIVE)/kunit/%.o)

$(NATIVE)/kunit/%.o: %.c tools/native/rules.mk | $(NATIVE)/source
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -DTWHEEL_DEBUG -Itools/native/kunit/include $(NATIVE_FLAGS) \
		-MMD -MP -c -o $@ $<

$(NATIVE)/kunit-native: $(KUNIT_OBJECTS) $(CORE:%=$(NATIVE)/kunit/%.o) \
		$(NATIVE)/kunit/twheel_store.o
	$(CC) $(CFLAGS) -o $@ $^ $(NATIVE)/source/tools/lib/rbtree.c \
		-isystem $(NATIVE)/source/tools/include

-include $(shell find $(NATIVE)/kunit -name '*.d' 2>/dev/null)

# ---- Fuzzing ----

# Compile everything together, as all of it has to be instrumented.
FUZZ_SOURCES := $(CORE:%=%.c) kunit/model.c tools/tests/fuzz-core/fuzz-core.c \
	tools/tests/fuzz-core/structure.c
FUZZ_DEPENDS := $(FUZZ_SOURCES) $(wildcard twheel*.h kunit/*.h tools/tests/fuzz-core/*.h \
	tools/lib/kernel/linux/*.h) tools/native/rules.mk
FUZZ_BUILD = -O1 -g -fno-omit-frame-pointer -fno-sanitize-recover=all \
	-DTWHEEL_DEBUG $(NATIVE_FLAGS) -o $@ $(FUZZ_SOURCES) $(NATIVE)/source/tools/lib/rbtree.c

$(NATIVE)/fuzz-core: tools/tests/fuzz-core/libfuzzer.c $(FUZZ_DEPENDS) | $(NATIVE)/source
	clang -fsanitize=fuzzer,address,undefined $(FUZZ_BUILD) $<

$(NATIVE)/fuzz-seeded: tools/tests/fuzz-core/seeded.c $(FUZZ_DEPENDS) \
	$(call objects,common) | $(NATIVE)/source
	$(CC) -fsanitize=address,undefined -Itools/common $(FUZZ_BUILD) $< $(filter %.o,$^)

# With tiny thresholds, a few timers reach all paths of the core.
SMALL_FLAGS := -DTWHEEL_EARLY_CASCADE_MIN=3 -DTWHEEL_LEAD_DIVISOR=2 -DTWHEEL_INSERTION_MAX=2 \
	-DTWHEEL_DIGIT_BITS=1 -DTWHEEL_TIMERS_PER_STEP=1

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

# Callers that violate preconditions of the core.
$(NATIVE)/misuse: tools/tests/fuzz-core/misuse.c $(CORE:%=%.c) $(wildcard twheel*.h \
	tools/lib/kernel/linux/*.h) tools/native/rules.mk | $(NATIVE)/source
	$(CC) $(CFLAGS) -DTWHEEL_DEBUG $(NATIVE_FLAGS) -o $@ $< $(CORE:%=%.c)

# Without clang, only the fuzzers that need just the C compiler.
FUZZERS = $(addprefix $(NATIVE)/,fuzz-seeded fuzz-small fuzz-short misuse) \
	$(if $(shell command -v clang),$(NATIVE)/fuzz-core)

# ---- The driver on threads ----

# The driver's stand-ins come first, so that the core sees the same kernel.
DRIVER_SOURCES := $(wildcard twheel_*.c tools/tests/threads/*.c) tools/common/chance.c \
	tools/common/options.c
DRIVER_DEPENDS := $(DRIVER_SOURCES) $(wildcard twheel*.h include/uapi/linux/*.h \
	tools/tests/threads/*.h tools/tests/threads/include/linux/*.h \
	tools/tests/threads/include/linux/*/*.h tools/tests/threads/include/trace/*.h \
	tools/common/*.h tools/lib/kernel/linux/*.h) tools/native/rules.mk
DRIVER_BUILD = -O1 -g -fno-omit-frame-pointer -fno-sanitize-recover=all -DTWHEEL_DEBUG -DCONFIG_IO_URING=1 \
	-Itools/tests/threads/include -Itools/common -Iinclude $(NATIVE_FLAGS) \
	-Wno-maybe-uninitialized -o $@ $(DRIVER_SOURCES) -pthread

$(NATIVE)/driver-tsan: $(DRIVER_DEPENDS) | $(NATIVE)/source
	$(CC) -fsanitize=thread $(DRIVER_BUILD)

$(NATIVE)/driver-asan: $(DRIVER_DEPENDS) | $(NATIVE)/source
	$(CC) -fsanitize=address,undefined $(DRIVER_BUILD)

.PHONY: drivers
drivers: deps
	@$(MAKE) -s $(NATIVE)/driver-tsan $(NATIVE)/driver-asan

# ---- The self-tests over the driver ----

# The tests see the C library's headers, and the driver the stand-ins'. The linker leads the
# system calls of the tests to the driver.
SELFTEST := tools/tests/selftest/native
SELFTEST_CALLS := breathing_space clock_gettime clock_settime close dup epoll_ctl epoll_wait \
	fopen getrusage ioctl main mmap open poll preadv2 read select syscall task_sleep
SELFTEST_SOURCES := $(wildcard twheel_*.c) $(SELFTEST)/calls.c \
	$(addprefix tools/tests/threads/,kernel.c calls.c) tools/common/chance.c \
	tools/common/options.c
SELFTEST_OBJECTS := $(SELFTEST_SOURCES:%.c=$(NATIVE)/selftests/%.o)
SELFTEST_TESTS := $(addprefix $(NATIVE)/selftests/,$(SELFTEST)/main.o tools/common/clock.o \
	tools/common/pass.o)
# Programs may pass pointers that are NULL, not aligned, or beyond all memory.
SELFTEST_SANITIZERS := -fsanitize=address,undefined -fno-sanitize=alignment,null,pointer-overflow \
	-fno-sanitize-recover=all
SELFTEST_FLAGS = -O1 -g -fno-omit-frame-pointer $(SELFTEST_SANITIZERS) -U_FORTIFY_SOURCE \
	-MMD -MP

$(SELFTEST_OBJECTS): $(NATIVE)/selftests/%.o: %.c tools/native/rules.mk | $(NATIVE)/source
	@mkdir -p $(@D)
	$(CC) $(SELFTEST_FLAGS) -DTWHEEL_DEBUG -DCONFIG_IO_URING=1 -DUSER_MEMCPY= -I$(SELFTEST)/include \
		-Itools/tests/threads/include -Itools/tests/threads -Itools/common -Iinclude \
		$(NATIVE_FLAGS) -Wno-maybe-uninitialized -c -o $@ $<

$(SELFTEST_TESTS): $(NATIVE)/selftests/%.o: %.c tools/native/rules.mk | $(BUILD)/kselftest
	@mkdir -p $(@D)
	$(CC) $(SELFTEST_FLAGS) -std=gnu11 -Wall -Wextra -Wno-missing-field-initializers -D_GNU_SOURCE= \
		-Iinclude/uapi -Itools/common -I$(BUILD)/kselftest -c -o $@ $<

$(NATIVE)/selftest: $(SELFTEST_OBJECTS) $(SELFTEST_TESTS)
	$(CC) $(SELFTEST_SANITIZERS) -o $@ $^ $(SELFTEST_CALLS:%=-Wl,--wrap=%) -pthread

-include $(SELFTEST_OBJECTS:.o=.d) $(SELFTEST_TESTS:.o=.d)

# ---- The driver on coroutines ----

# A copy of the driver with tiny constants, on pages that hold four timers.
INTERLEAVE := $(NATIVE)/interleave
INTERLEAVE_HEADERS := $(patsubst %,$(INTERLEAVE)/source/%,$(wildcard twheel*.h))
INTERLEAVE_OBJECTS := $(patsubst %.c,$(INTERLEAVE)/%.o,$(wildcard twheel_*.c)) \
	$(patsubst tools/tests/interleave/%.c,$(INTERLEAVE)/%.o, \
		$(wildcard tools/tests/interleave/*.c)) \
	$(addprefix $(INTERLEAVE)/,calls.o chance.o options.o)
INTERLEAVE_FLAGS = -O2 -g -DTWHEEL_DEBUG -DCONFIG_IO_URING=1 -DPAGE_SHIFT=8 $(SMALL_FLAGS) \
	-U_FORTIFY_SOURCE -I$(INTERLEAVE)/source -Itools/tests/interleave/include \
	-Itools/tests/threads/include -Itools/tests/threads -Itools/common -Iinclude \
	$(NATIVE_FLAGS) -Wno-maybe-uninitialized -MMD -MP
# Its memory is restored before each schedule.
INTERLEAVE_DRIVER_FLAGS = $(INTERLEAVE_FLAGS) $(foreach function, \
	malloc calloc realloc aligned_alloc free,-D$(function)=world_$(function))

$(INTERLEAVE)/source/%: % tools/tests/interleave/small.sed
	@mkdir -p $(@D)
	sed -E -f tools/tests/interleave/small.sed $< >$@

$(INTERLEAVE)/twheel_%.o: $(INTERLEAVE)/source/twheel_%.c $(INTERLEAVE_HEADERS) \
		tools/native/rules.mk | $(NATIVE)/source
	$(CC) $(INTERLEAVE_DRIVER_FLAGS) -c -o $@ $<

$(INTERLEAVE)/calls.o: tools/tests/threads/calls.c tools/native/rules.mk | $(NATIVE)/source
	@mkdir -p $(@D)
	$(CC) $(INTERLEAVE_DRIVER_FLAGS) -c -o $@ $<

$(INTERLEAVE)/%.o: tools/tests/interleave/%.c $(INTERLEAVE_HEADERS) tools/native/rules.mk \
		| $(NATIVE)/source
	$(CC) $(INTERLEAVE_FLAGS) -c -o $@ $<

$(INTERLEAVE)/%.o: tools/common/%.c tools/native/rules.mk | $(NATIVE)/source
	@mkdir -p $(@D)
	$(CC) $(INTERLEAVE_FLAGS) -c -o $@ $<

$(INTERLEAVE)/interleave: $(INTERLEAVE_OBJECTS)
	$(CC) -o $@ $^

-include $(wildcard $(INTERLEAVE)/*.d)

# Uses the sources in the folder PLANTED instead: see tools/tests/interleave/planted.
PLANTED_OBJECTS = $(patsubst %.c,%.o,$(wildcard $(PLANTED)/*.c))

$(INTERLEAVE)/planted/%.o: $(INTERLEAVE)/planted/%.c
	$(CC) $(INTERLEAVE_DRIVER_FLAGS) -c -o $@ $<

.PHONY: interleave-planted
interleave-planted: $(PLANTED_OBJECTS)
	$(CC) -o $(PLANTED)/interleave $^ $(filter-out \
		$(addprefix $(INTERLEAVE)/,$(notdir $^)),$(INTERLEAVE_OBJECTS))

.PHONY: interleave
interleave: deps
	@$(MAKE) -s $(INTERLEAVE)/interleave

# ---- Running it ----

.PHONY: native bench-native fuzzers fuzz-core
native: $(NATIVE)/bench-native fuzzers

fuzzers: deps
	@$(MAKE) -s $(FUZZERS)

bench-native: deps
	@$(MAKE) -s $(NATIVE)/bench-native
	@$(NATIVE)/bench-native --json $(BUILD)/bench-native.json \
		$(if $(FACILITY),--facility $(FACILITY)) \
		$(if $(PENDING),--pending $(PENDING))

# The time to fuzz: make fuzz-core SECONDS=n
SECONDS ?= 60

fuzz-core: fuzzers
	@tools/tests/fuzz-core/run $(SECONDS)
