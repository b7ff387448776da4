# SPDX-License-Identifier: GPL-2.0-only
#
# make help says what there is to make.

MAKEFLAGS += --no-print-directory
.DELETE_ON_ERROR:
.SECONDARY:

# A kernel of tools/kernel, or "running": the one this machine runs.
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

.PHONY: all
all: $(BUILD)/bin/twheel module

# ---- User programs ---------------------------------------------------------
#
# Every program is linked against libtwheel.a and against an archive of what the
# programs share, of which the linker takes what it needs.

TOOLS := $(basename $(notdir $(wildcard tools/*.c)))
UNIT_TESTS := $(filter %-test,$(TOOLS))
PROGS := $(filter twheel twheel-%,$(TOOLS)) $(UNIT_TESTS)
SHARED := $(filter-out $(PROGS) libtwheel selftest-%,$(TOOLS))
LIBS := $(BUILD)/obj/shared.a $(BUILD)/lib/libtwheel.a

CFLAGS ?= -O2 -g
TOOL_CFLAGS = -std=gnu11 -Wall -Wextra -D_GNU_SOURCE= -Iinclude/uapi -Itools \
	-DTWHEEL_VERSION='"$(VERSION)"' -pthread -MMD -MP

.PHONY: tools
tools: $(PROGS:%=$(BUILD)/bin/%) $(LIBS)

$(BUILD)/obj/%.o: tools/%.c dkms.conf Makefile
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(TOOL_CFLAGS) -c -o $@ $<

# The self-tests use the harness of the kernel's own.
$(BUILD)/obj/twheel-selftest.o: TOOL_CFLAGS += -I$(BUILD)/kselftest
$(BUILD)/obj/twheel-selftest.o: | $(BUILD)/kselftest
$(BUILD)/kselftest: | deps
	@mkdir -p $(@D)
	@source=$$(tools/kernel --source) && \
	 ln -sfn $$source/tools/testing/selftests $@

$(BUILD)/obj/shared.a: $(SHARED:%=$(BUILD)/obj/%.o)
$(BUILD)/lib/libtwheel.a: $(BUILD)/obj/libtwheel.o
%.a:
	@mkdir -p $(@D)
	@rm -f $@
	$(AR) rcs $@ $^

$(BUILD)/bin/%: $(BUILD)/obj/%.o $(LIBS)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) -static -pthread -o $@ $^ $(LDLIBS) -lm

# The linker warns of what libevent does about host names, and this program not.
$(BUILD)/bin/twheel-bench: LDLIBS = -luring -levent_core -lev -Wl,--no-warnings

-include $(wildcard $(BUILD)/obj/*.d)

# ---- Modules ---------------------------------------------------------------
#
# A module is built in build/KERNEL, among links to the sources, so that several
# kernels do not collide and the source stays clean. Only one make at a time may
# work there.

MODULE_DIR = $(BUILD)/$(KERNEL)
KERNEL_DIR = $(shell cat $(MODULE_DIR)/kernel)
KBUILD = $(MAKE) -C $(KERNEL_DIR)/build M=$(CURDIR)/$(MODULE_DIR) \
	CONFIG_DEBUG_INFO_BTF_MODULES= $(KBUILD_ARGS)

# The KUnit suites are for the kernels of tools/kernel; so is strictness.
ifeq ($(KERNEL),running)
KBUILD_ARGS ?= CONFIG_KUNIT=
else
KBUILD_ARGS ?= W=1 KCFLAGS=-Werror $(if $(filter stock,$(KERNEL)),CONFIG_TWHEEL_BENCH=m)
endif

SOURCES := $(wildcard Kbuild dkms.conf *.c *.h include kunit/*.c kunit/*.h bench/*.c bench/*.h)

.PHONY: module module-tree module-build
module: $(if $(filter running,$(KERNEL)),,deps)
	@mkdir -p $(MODULE_DIR)/kunit $(MODULE_DIR)/bench
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
	@tools/kernel $(KERNEL) >$(MODULE_DIR)/kernel.new
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
	@tools/deps

demo: deps
	@$(MAKE) -s $(BUILD)/bin/twheel-demo
	@$(MAKE) -s module KERNEL=stock
	@tools/demo

test: deps
	@tools/test $(SUITE)

test-matrix: deps
	@tools/matrix $(ROW)

check: deps
	@tools/check

.PHONY: coverage
coverage: deps
	@tools/coverage $(RUN)

# What to measure: make bench FACILITY=a,b OP=x,y PENDING=n,m BATCH=k,l
FACILITY ?=
OP ?=
PENDING ?=
BATCH ?=

bench: deps
	@$(MAKE) -s $(BUILD)/bin/twheel-bench
	@$(MAKE) -s module KERNEL=stock
	@tools/bench --facility "$(FACILITY)" --op "$(OP)" \
		--pending "$(PENDING)" --batch "$(BATCH)"

# ---- Installing it ---------------------------------------------------------

MANUALS := $(wildcard tools/*.[1-8])
MANUAL_DIRS := $(sort $(foreach m,$(MANUALS),$(mandir)/man$(subst .,,$(suffix $(m)))))
DEPMOD = depmod $(if $(INSTALL_MOD_PATH),-b $(INSTALL_MOD_PATH))
RELEASE = $$(cat $(KERNEL_DIR)/release 2>/dev/null || uname -r)

.PHONY: install uninstall
install: all
	+$(KBUILD) INSTALL_MOD_DIR=extra CONFIG_MODULE_SIG_ALL= modules_install
	$(DEPMOD) $(RELEASE)
	install -d $(addprefix $(DESTDIR),$(bindir) $(libdir) \
		$(includedir)/linux $(MANUAL_DIRS))
	install $(BUILD)/bin/twheel $(DESTDIR)$(bindir)
	install -m 644 $(BUILD)/lib/libtwheel.a $(DESTDIR)$(libdir)
	install -m 644 tools/libtwheel.h $(DESTDIR)$(includedir)
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
		$(foreach m,$(MANUALS),$(mandir)/man$(subst .,,$(suffix $(m)))/$(notdir $(m))))

.PHONY: clean
clean:
	rm -rf $(BUILD)

define HELP
make                  the module for the running kernel, and the command
make tools            all programs, also the tests', in build/bin
make module KERNEL=K  the module for a kernel of tools/kernel --list
make demo             half an hour of an order system, in a virtual machine
make test             all tests; one suite: SUITE=... of tools/test --list
make test-matrix      the self-tests on kernels old and new, PREEMPT_RT, with
                      32-bit programs, on arm64; some: ROW=... of tools/matrix --list
make check            the checks of the source
make coverage         which lines of the module the tests reach, and which not
                      and why; only some tests: RUN=... of tools/coverage --list
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
