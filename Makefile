# SPDX-License-Identifier: GPL-2.0-only
#
# make help says what there is to make.

MAKEFLAGS += --no-print-directory
.DELETE_ON_ERROR:
.SECONDARY:

# A kernel of tools/vm/kernel, or "running": the one this machine runs.
KERNEL ?= running
SUITE ?=
ROW ?=
RUN ?=

BUILD := build
VERSION := $(shell sed -n 's/^PACKAGE_VERSION="\(.*\)"/\1/p' dkms.conf)

prefix ?= /usr/local
bindir ?= $(prefix)/bin
libdir ?= $(prefix)/lib
includedir ?= $(prefix)/include
mandir ?= $(prefix)/share/man
completiondir ?= $(prefix)/share/bash-completion/completions

.PHONY: all
all: $(BUILD)/bin/twheel module

# ---- User programs ---------------------------------------------------------
#
# A program is made of the folders named for it, of tools/common if that is one of
# them, and of libtwheel.a. tools/FOLDER/x.c becomes build/obj/FOLDER/x.o.

PROGRAMS := twheel twheel-demo twheel-bench twheel-selftest twheel-race twheel-fuzz \
	twheel-fault twheel-limits twheel-time twheel-neighbours
UNIT_TESTS := $(notdir $(basename $(wildcard tools/tests/unit/*.c)))
PROGS := $(PROGRAMS) $(UNIT_TESTS)

twheel.rooms := command
twheel-demo.rooms := demo
twheel-bench.rooms := bench bench/facility bench/scene
twheel-race.rooms := tests/race common
twheel-fuzz.rooms := tests/fuzz common
twheel-fault.rooms := tests/stress/fault common
twheel-limits.rooms := tests/stress/limits common
twheel-time.rooms := tests/stress/time common
twheel-neighbours.rooms := tests/neighbours common

# objects ROOM...: what the C files in these folders are compiled to.
objects = $(patsubst tools/%.c,$(BUILD)/obj/%.o,$(wildcard $(1:%=tools/%/*.c)))

CFLAGS ?= -O2 -g
TOOL_CFLAGS = -std=gnu11 -Wall -Wextra -D_GNU_SOURCE= -Iinclude/uapi -Itools/lib \
	-Itools/common -DTWHEEL_VERSION='"$(VERSION)"' -pthread -MMD -MP
LIB := $(BUILD)/lib/libtwheel.a

.PHONY: tools
tools: $(PROGS:%=$(BUILD)/bin/%)

$(BUILD)/obj/%.o: tools/%.c dkms.conf Makefile
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(TOOL_CFLAGS) -c -o $@ $<

# The linker warns of what libevent does about host names, and this program not.
$(BUILD)/obj/bench/%.o: TOOL_CFLAGS += -Itools/bench
$(BUILD)/bin/twheel-bench: LDLIBS = -luring -levent_core -lev -Wl,--no-warnings

# The self-tests use the harness of the kernel's own, which wants them in one file.
$(BUILD)/obj/tests/selftest/main.o: TOOL_CFLAGS += -I$(BUILD)/kselftest
$(BUILD)/obj/tests/selftest/main.o: | $(BUILD)/kselftest
$(BUILD)/bin/twheel-selftest: $(BUILD)/obj/tests/selftest/main.o
$(BUILD)/kselftest: | deps
	@mkdir -p $(@D)
	@source=$$(tools/vm/kernel --source) && \
	 ln -sfn $$source/tools/testing/selftests $@

# Unit tests are of the command's parts.
$(BUILD)/obj/tests/unit/%.o: TOOL_CFLAGS += -Itools/command
$(UNIT_TESTS:%=$(BUILD)/bin/%): $(BUILD)/bin/%: $(BUILD)/obj/tests/unit/%.o \
	$(filter-out %/main.o,$(call objects,command))

$(LIB): $(call objects,lib)
	@mkdir -p $(@D)
	@rm -f $@
	$(AR) rcs $@ $^

$(foreach p,$(PROGRAMS),$(eval $(BUILD)/bin/$p: $$(call objects,$$($p.rooms))))
$(PROGS:%=$(BUILD)/bin/%): $(LIB)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -static -pthread -o $@ $(filter %.o,$^) $(LIB) $(LDLIBS) -lm

-include $(shell find $(BUILD)/obj -name '*.d' 2>/dev/null)

# ---- Modules ---------------------------------------------------------------
#
# A module is built in build/KERNEL, among links to the sources, so that several
# kernels do not collide and the source stays clean. Only one make at a time may
# work there.

MODULE_DIR = $(BUILD)/$(KERNEL)
KERNEL_DIR = $(shell cat $(MODULE_DIR)/kernel)
KBUILD = $(MAKE) -C $(KERNEL_DIR)/build M=$(CURDIR)/$(MODULE_DIR) \
	CONFIG_DEBUG_INFO_BTF_MODULES= $(KBUILD_ARGS)

# The KUnit suites are for the kernels of tools/vm/kernel; so is strictness.
ifeq ($(KERNEL),running)
KBUILD_ARGS ?= CONFIG_KUNIT=
else
KBUILD_ARGS ?= W=1 KCFLAGS=-Werror $(if $(filter stock,$(KERNEL)),CONFIG_TWHEEL_BENCH=m)
endif

SOURCES := $(wildcard Kbuild dkms.conf *.c *.h include kunit/*.c \
	tools/bench/module/*.[ch])

.PHONY: module module-tree module-build
module: $(if $(filter running,$(KERNEL)),,deps)
	@mkdir -p $(MODULE_DIR)/kunit $(MODULE_DIR)/tools/bench/module
	+@flock $(MODULE_DIR)/lock $(MAKE) module-tree module-build

module-build: module-tree
	+@$(KBUILD) modules

# What was built for another version of the kernel goes.
module-tree:
ifeq ($(KERNEL),running)
	@test -e /lib/modules/$$(uname -r)/build/Makefile || { \
	 echo "The headers of the running kernel are missing." \
	      "On Debian: apt install linux-headers-$$(uname -r)" >&2; \
	 exit 1; }
	@echo /lib/modules/$$(uname -r) >$(MODULE_DIR)/kernel.new
else
	@tools/vm/kernel $(KERNEL) >$(MODULE_DIR)/kernel.new
endif
	@cmp -s $(MODULE_DIR)/kernel.new $(MODULE_DIR)/kernel || \
	 find $(MODULE_DIR) ! -type d ! -name lock ! -name kernel.new -delete
	@mv $(MODULE_DIR)/kernel.new $(MODULE_DIR)/kernel
	@find $(MODULE_DIR) -xtype l -delete
	@for f in $(SOURCES); do \
	 ln -sfnr $$f $(MODULE_DIR)/$$f || exit 1; done

include tools/native/rules.mk

# ---- Running it ------------------------------------------------------------

.PHONY: deps demo test test-matrix check bench
deps:
	@tools/vm/deps

demo: deps
	@$(MAKE) -s $(BUILD)/bin/twheel-demo
	@$(MAKE) -s module KERNEL=stock
	@tools/demo/run

test: deps
	@tools/tests/run $(SUITE)

test-matrix: deps
	@tools/tests/matrix $(ROW)

check: deps
	@tools/tests/check

.PHONY: coverage
coverage: deps
	@tools/tests/coverage/run $(RUN)

# What to measure: make bench FACILITY=a,b OP=x,y PENDING=n,m BATCH=k,l
FACILITY ?=
OP ?=
PENDING ?=
BATCH ?=

bench: deps
	@$(MAKE) -s $(BUILD)/bin/twheel-bench
	@$(MAKE) -s module KERNEL=stock
	@tools/bench/run --facility "$(FACILITY)" --op "$(OP)" \
		--pending "$(PENDING)" --batch "$(BATCH)"

# ---- Installing it ---------------------------------------------------------

MANUALS := $(wildcard tools/man/*.[1-8])
MANUAL_DIRS := $(sort $(foreach m,$(MANUALS),$(mandir)/man$(subst .,,$(suffix $(m)))))
DEPMOD = depmod $(if $(INSTALL_MOD_PATH),-b $(INSTALL_MOD_PATH))
RELEASE = $$(cat $(KERNEL_DIR)/release 2>/dev/null || uname -r)

.PHONY: install uninstall
install: all
	+$(KBUILD) INSTALL_MOD_DIR=extra CONFIG_MODULE_SIG_ALL= modules_install
	$(DEPMOD) $(RELEASE)
	install -d $(addprefix $(DESTDIR),$(bindir) $(libdir) \
		$(includedir)/linux $(completiondir) $(MANUAL_DIRS))
	install $(BUILD)/bin/twheel $(DESTDIR)$(bindir)
	install -m 644 tools/command/completion.bash $(DESTDIR)$(completiondir)/twheel
	install -m 644 $(BUILD)/lib/libtwheel.a $(DESTDIR)$(libdir)
	install -m 644 tools/lib/libtwheel.h $(DESTDIR)$(includedir)
	install -m 644 include/uapi/linux/twheel.h $(DESTDIR)$(includedir)/linux
	$(foreach m,$(MANUALS),install -m 644 $(m) \
		$(DESTDIR)$(mandir)/man$(subst .,,$(suffix $(m)));)

uninstall:
	for f in $(INSTALL_MOD_PATH)/lib/modules/*/extra/twheel.ko*; do \
	 test -e $$f || continue; \
	 rm -f $$f; \
	 release=$${f%/extra/*}; \
	 $(DEPMOD) $${release##*/}; done
	rm -f $(addprefix $(DESTDIR),$(bindir)/twheel $(libdir)/libtwheel.a \
		$(includedir)/libtwheel.h $(includedir)/linux/twheel.h \
		$(completiondir)/twheel \
		$(foreach m,$(MANUALS),$(mandir)/man$(subst .,,$(suffix $(m)))/$(notdir $(m))))

.PHONY: clean
clean:
	rm -rf $(BUILD)

define HELP
make                  the module for the running kernel, and the command
make tools            all programs, also the tests', in build/bin
make module KERNEL=K  the module for a kernel of tools/vm/kernel --list
make demo             half an hour of an order system, in a virtual machine
make test             all tests; one suite: SUITE=... of tools/tests/run --list
make test-matrix      the self-tests on kernels old and new, PREEMPT_RT, with
                      32-bit programs, on arm64; some: ROW=... of tools/tests/matrix --list
make check            the checks of the source
make coverage         which lines of the module the tests reach, and which not
                      and why; only some tests: RUN=... of tools/tests/coverage/run --list
make bench            twheel next to all else that has timers, in numbers;
                      choose: FACILITY=a,b OP=x,y PENDING=n,m BATCH=k,l
make bench-native     the core in user space next to a heap and std::multimap;
                      choose: FACILITY=a,b PENDING=n,m
make fuzz-core        random operations on the core, for SECONDS=n
sudo make install     module, command, library and header; prefix=/usr/local
sudo make uninstall   removes them
make clean            removes build/
endef

.PHONY: help
help:
	$(info $(HELP))
	@:
