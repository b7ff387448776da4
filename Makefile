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

.PHONY: all user needs
all: needs
	+@$(MAKE) user module

user: $(addprefix $(BUILD)/,bin/twheel lib/libtwheel.a lib/libtwheel.so.0)

# All that is missing is named at once, and before anything is compiled.
needs:
	@missing=; \
	 echo '#include <stdio.h>' | $(CC) -fsyntax-only -xc - 2>/dev/null || \
		missing=" gcc libc6-dev"; \
	 test -e /lib/modules/$$(uname -r)/build/Makefile || \
		missing="$$missing linux-headers-$$(uname -r)"; \
	 test -z "$$missing" || { \
	 echo "The C compiler or the headers of the running kernel are missing." \
		"On Debian: apt install$$missing" >&2; \
	 exit 1; }

# ---- User programs ---------------------------------------------------------
#
# A program is made of the folders named for it, of tools/common if that is one of
# them, and of libtwheel.a. tools/FOLDER/x.c becomes build/obj/FOLDER/x.o.

PROGRAMS := twheel twheel-demo twheel-bench twheel-selftest twheel-race twheel-fuzz \
	twheel-fault twheel-limits twheel-time twheel-neighbours twheel-library
UNIT_TESTS := $(notdir $(basename $(wildcard tools/tests/unit/*.c)))
PROGS := $(PROGRAMS) $(UNIT_TESTS)

twheel.rooms := command
twheel-demo.rooms := demo common
twheel-bench.rooms := bench bench/facility bench/scene common
twheel-selftest.rooms := common
twheel-race.rooms := tests/race common
twheel-fuzz.rooms := tests/fuzz common
twheel-fault.rooms := tests/stress/fault common
twheel-limits.rooms := tests/stress/limits common
twheel-time.rooms := tests/stress/time common
twheel-neighbours.rooms := tests/neighbours common
twheel-library.rooms := tests/library common

# objects ROOM...: what the C files in these folders are compiled to.
objects = $(patsubst tools/%.c,$(BUILD)/obj/%.o,$(wildcard $(1:%=tools/%/*.c)))

comma := ,

CFLAGS ?= -O2 -g
TOOL_CFLAGS = -std=gnu11 -Wall -Wextra -D_GNU_SOURCE= -Iinclude/uapi -Itools/lib \
	-Itools/common -DTWHEEL_VERSION='"$(VERSION)"' -pthread -MMD -MP
# The machines the tests run in have no C library.
STATIC ?= -static
LIB := $(BUILD)/lib/libtwheel.a

SHARED_LIB := $(BUILD)/lib/libtwheel.so.0

.PHONY: tools
tools: $(PROGS:%=$(BUILD)/bin/%) $(SHARED_LIB)

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
	$(filter-out %/main.o,$(call objects,command)) $(call objects,common)

$(foreach p,$(PROGRAMS),$(eval $(BUILD)/bin/$p: $$(call objects,$$($p.rooms))))
$(PROGS:%=$(BUILD)/bin/%): $(LIB)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LDFLAGS) $(STATIC) -pthread -o $@ $(filter %.o,$^) $(LIB) $(LDLIBS) -lm

# ---- The library -----------------------------------------------------------
#
# It has the core of the module, compiled with stand-ins for the kernel's headers. An
# exception may pass through it on its way out of a callback.

LIB_CFLAGS = -Itools/lib/kernel -I. -fPIC -fvisibility=hidden -fexceptions \
	-fno-strict-aliasing -fno-tree-vectorize -Wno-sign-compare \
	-D_TIME_BITS=64 -D_FILE_OFFSET_BITS=64
# The core: without the rest of the module, in user space, too.
CORE := twheel_core twheel_level twheel_sort

LIB_OBJECTS = $(call objects,lib) $(CORE:%=$(BUILD)/obj/lib/%.o)

$(BUILD)/obj/lib/%.o: TOOL_CFLAGS += $(LIB_CFLAGS)
$(CORE:%=$(BUILD)/obj/lib/%.o): $(BUILD)/obj/lib/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(TOOL_CFLAGS) -c -o $@ $<

$(LIB): $(LIB_OBJECTS)
	@mkdir -p $(@D)
	@rm -f $@
	$(AR) rcs $@ $^

$(SHARED_LIB): $(LIB_OBJECTS) tools/lib/libtwheel.map
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LDFLAGS) -shared -pthread -o $@ $(filter %.o,$^) -Wl,-soname,$(@F) \
		-Wl,--version-script=tools/lib/libtwheel.map -Wl,-z,defs
	@ln -sf $(@F) $(@D)/libtwheel.so

# Its tests say what time it is; and all of it together, for the sanitizers and valgrind.
$(BUILD)/bin/twheel-library: LDLIBS = -Wl,--wrap=clock_gettime

LIBRARY_SOURCES := $(wildcard tools/tests/library/*.c tools/common/*.c tools/lib/*.c) \
	$(CORE:%=%.c)
LIBRARY_DEPENDS := $(LIBRARY_SOURCES) $(wildcard twheel*.h tools/tests/library/*.h \
	tools/common/*.h tools/lib/*.h tools/lib/kernel/linux/*.h) Makefile
LIBRARY_BUILD = -g $(filter-out -MMD -MP,$(TOOL_CFLAGS)) $(filter-out -fPIC,$(LIB_CFLAGS)) \
	-o $@ $(LIBRARY_SOURCES) -Wl,--wrap=clock_gettime

.PHONY: libraries
libraries: $(BUILD)/native/library-asan $(BUILD)/native/library-tsan $(BUILD)/native/library

$(BUILD)/native/library-%san: $(LIBRARY_DEPENDS)
	@mkdir -p $(@D)
	$(CC) -O1 -fno-omit-frame-pointer -fno-sanitize-recover=all \
		-fsanitize=$(if $(filter t,$*),thread,address$(comma)undefined) $(LIBRARY_BUILD)

$(BUILD)/native/library: $(LIBRARY_DEPENDS)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LIBRARY_BUILD)

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

SOURCES := $(wildcard Kbuild dkms.conf *.c *.h include kunit/*.[ch] \
	tools/bench/module/*.[ch])

.PHONY: module module-tree module-build
module: MODULE_STEPS = module-build
module install-module: $(if $(filter running,$(KERNEL)),needs,deps)
	@mkdir -p $(MODULE_DIR)/kunit $(MODULE_DIR)/tools/bench/module
	+@flock $(MODULE_DIR)/lock $(MAKE) $(MODULE_STEPS)

module-build: module-tree
	+@$(KBUILD) modules

# What was built for another version of the kernel goes.
module-tree:
ifeq ($(KERNEL),running)
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

# What the machine needs for it: a set of tools/vm/deps.
DEPS ?= test

.PHONY: deps demo test quick test-matrix check bench
deps:
	@tools/vm/deps $(DEPS)

demo: export DEPS = demo
demo: deps
	@$(MAKE) -s $(BUILD)/bin/twheel-demo
	@$(MAKE) -s module KERNEL=stock
	@tools/demo/run

test: deps
	@tools/tests/run $(SUITE)

quick: deps
	@tools/tests/run --quick

test-matrix: deps
	@tools/tests/matrix $(ROW)

check: deps
	@tools/tests/check

.PHONY: coverage
coverage: deps
	@tools/tests/coverage/run $(RUN)

.PHONY: html
html: deps
	@tools/html/run $(BUILD)/html
	@echo "$(BUILD)/html/index.html"

# What to measure: make bench FACILITY=a,b OP=x,y PENDING=n,m BATCH=k,l
FACILITY ?=
OP ?=
PENDING ?=
BATCH ?=

bench: export DEPS = bench
bench: deps
	@$(MAKE) -s $(BUILD)/bin/twheel-bench
	@$(MAKE) -s module KERNEL=stock
	@tools/bench/run --facility "$(FACILITY)" --op "$(OP)" \
		--pending "$(PENDING)" --batch "$(BATCH)"

# ---- Installing it ---------------------------------------------------------

# With DESTDIR, everything goes below that folder, for who makes a package of it.

MANUALS := $(filter-out %.3,$(wildcard tools/man/*.[1-8]))
LIBRARY_MANUALS := $(wildcard tools/man/*.3)
MANUAL_DIRS := $(sort $(foreach m,$(MANUALS),$(mandir)/man$(subst .,,$(suffix $(m)))))

# functions PAGE: what the page is about; each function has a page that leads there.
functions = $(shell sed '/^.SH SYNOPSIS/q' $(1) | grep -o 'twheel_[a-z_]*')
FUNCTIONS = $(foreach m,$(LIBRARY_MANUALS),$(call functions,$(m)))

RELEASE = $$(cat $(KERNEL_DIR)/release 2>/dev/null || uname -r)

# depmod RELEASE: renews the list that modprobe looks in; a package has none.
depmod = PATH=$$PATH:/usr/sbin:/sbin; test -n "$(DESTDIR)" || \
	if command -v depmod >/dev/null; then depmod $(1); else \
	echo "depmod is missing, and modprobe does not know of the change." \
		"On Debian: apt install kmod" >&2; fi

.PHONY: install install-module install-user install-library module-install
install: install-module install-user

# What tests and benchmarks need besides twheel.ko is not installed.
install-module: MODULE_STEPS = module-install \
	KBUILD_ARGS="$(filter-out CONFIG_%,$(KBUILD_ARGS)) CONFIG_KUNIT= CONFIG_TWHEEL_BENCH="

module-install: module-build
	+@$(KBUILD) INSTALL_MOD_PATH=$(DESTDIR) INSTALL_MOD_DIR=extra \
		CONFIG_MODULE_SIG_ALL= modules_install
	@$(call depmod,$(RELEASE))

install-user: $(BUILD)/bin/twheel install-library
	install -d $(addprefix $(DESTDIR),$(bindir) $(completiondir) $(MANUAL_DIRS))
	install $(BUILD)/bin/twheel $(DESTDIR)$(bindir)
	install -m 644 tools/command/completion.bash $(DESTDIR)$(completiondir)/twheel
	$(foreach m,$(MANUALS),install -m 644 $(m) \
		$(DESTDIR)$(mandir)/man$(subst .,,$(suffix $(m)));)

# For programs that can do without the module.
install-library: $(LIB) $(SHARED_LIB)
	install -d $(addprefix $(DESTDIR),$(libdir)/pkgconfig $(includedir)/linux $(mandir)/man3)
	install -m 644 $(LIB) $(DESTDIR)$(libdir)
	install $(SHARED_LIB) $(DESTDIR)$(libdir)
	ln -sf $(notdir $(SHARED_LIB)) $(DESTDIR)$(libdir)/libtwheel.so
	@test -n "$(DESTDIR)" || PATH=$$PATH:/usr/sbin:/sbin ldconfig || :
	sed 's|@libdir@|$(libdir)|; s|@includedir@|$(includedir)|; s|@version@|$(VERSION)|' \
		tools/lib/libtwheel.pc.in >$(DESTDIR)$(libdir)/pkgconfig/libtwheel.pc
	install -m 644 tools/lib/libtwheel.h tools/lib/libtwheel.hpp $(DESTDIR)$(includedir)
	install -m 644 include/uapi/linux/twheel.h $(DESTDIR)$(includedir)/linux
	@$(foreach m,$(LIBRARY_MANUALS),for f in $(call functions,$(m)); do \
		echo ".so man3/$(notdir $(m))" >$(DESTDIR)$(mandir)/man3/$$f.3; done;)
	install -m 644 $(LIBRARY_MANUALS) $(DESTDIR)$(mandir)/man3

# The bindings. Debian has the sources of packages for Go and Rust in these folders.

PYTHON ?= python3
godir ?= $(prefix)/share/gocode/src
cargodir ?= $(prefix)/share/cargo/registry
pythondir ?= $(prefix)/lib/$(shell readlink -f $$(command -v $(PYTHON)) | \
	sed 's|.*/||')/dist-packages
GO_DIR = $(DESTDIR)$(godir)/twheel.example/timingwheel
RUST_DIR = $(DESTDIR)$(cargodir)/twheel-$(VERSION)

.PHONY: install-go install-rust install-python
install-go:
	install -d $(GO_DIR)/example
	cd tools/bindings/go && install -m 644 go.mod device.go timingwheel.go $(GO_DIR)
	install -m 644 tools/bindings/go/example/main.go $(GO_DIR)/example

install-rust:
	install -d $(RUST_DIR)/src $(RUST_DIR)/examples
	sed '/^version = /s/"0.0.0".*/"$(VERSION)"/' tools/bindings/rust/Cargo.toml \
		>$(RUST_DIR)/Cargo.toml
	echo '{"files":{},"package":null}' >$(RUST_DIR)/.cargo-checksum.json
	install -m 644 tools/bindings/rust/src/*.rs $(RUST_DIR)/src
	install -m 644 tools/bindings/rust/examples/heartbeat.rs $(RUST_DIR)/examples

# The extension is compiled in a copy, against this library.
install-python: $(SHARED_LIB)
	rm -rf $(BUILD)/python
	mkdir -p $(BUILD)/python
	cd tools/bindings/python && cp -r pyproject.toml setup.py twheel $(CURDIR)/$(BUILD)/python
	cd $(BUILD)/python && TWHEEL_VERSION=$(VERSION) LDFLAGS="$(LDFLAGS) -L../lib" \
		CFLAGS="$(CFLAGS) -I$(CURDIR)/tools/lib -I$(CURDIR)/include/uapi" \
		$(PYTHON) -W ignore setup.py -q install --root=$(or $(DESTDIR),/) \
		--install-lib=$(pythondir)

.PHONY: uninstall uninstall-module uninstall-user uninstall-bindings
uninstall: uninstall-module uninstall-user uninstall-bindings

uninstall-bindings:
	rm -rf $(GO_DIR) $(RUST_DIR) $(DESTDIR)$(prefix)/lib/python3*/dist-packages/twheel \
		$(DESTDIR)$(prefix)/lib/python3*/dist-packages/twheel-*.egg-info

# Of all kernels: the module may have been installed for one before an update.
uninstall-module:
	@for f in $(DESTDIR)/lib/modules/*/extra/twheel.ko*; do \
	 test -e $$f || continue; \
	 rm -v $$f; \
	 release=$${f%/extra/*}; \
	 ($(call depmod,$${release##*/})); done

uninstall-user:
	rm -f $(addprefix $(DESTDIR),$(bindir)/twheel \
		$(addprefix $(libdir)/,libtwheel.a libtwheel.so libtwheel.so.0 \
			pkgconfig/libtwheel.pc) \
		$(includedir)/libtwheel.h $(includedir)/libtwheel.hpp \
		$(includedir)/linux/twheel.h \
		$(completiondir)/twheel \
		$(patsubst %,$(mandir)/man3/%.3,libtwheel $(FUNCTIONS)) \
		$(foreach m,$(MANUALS),$(mandir)/man$(subst .,,$(suffix $(m)))/$(notdir $(m))))

# ---- In a kernel's source --------------------------------------------------

.PHONY: in-tree
in-tree:
	@test -n "$(LINUX)" || \
	 { echo "Which source? make in-tree LINUX=DIR" >&2; exit 1; }
	@tools/in-tree/put "$(LINUX)"

# ---- Packages --------------------------------------------------------------

.PHONY: deb test-packages
deb: export DEPS = packages
deb: deps
	@tools/packages/build

test-packages: export DEPS = packages
test-packages: deps
	@$(MAKE) -s module KERNEL=stock
	@tools/tests/packages/run

.PHONY: clean
clean:
	rm -rf $(BUILD)

define HELP
make                  the module for the running kernel, and the command
make tools            all programs, also the tests', in build/bin
make module KERNEL=K  the module for a kernel of tools/vm/kernel --list
make demo             half an hour of an order system, in a virtual machine
make test             all tests; one suite: SUITE=... of tools/tests/run --list
make quick            the tests for the minutes between two edits: two minutes
make test-matrix      the self-tests on kernels old and new, PREEMPT_RT, with
                      32-bit programs, on arm64; some: ROW=... of tools/tests/matrix --list
make check            the checks of the source
make coverage         which lines of the module the tests reach, and which not
                      and why; only some tests: RUN=... of tools/tests/coverage/run --list
make bench            twheel next to all else that has timers, in numbers;
                      choose: FACILITY=a,b OP=x,y PENDING=n,m BATCH=k,l
make bench-native     the core in user space next to a heap and std::multimap;
                      choose: FACILITY=a,b PENDING=n,m
make html             the documentation as HTML, in build/html
make drawings         the drawings of the documentation, from runs of the core
make fuzz-core        random operations on the core, for SECONDS=n
sudo make install     module, command, library and header; prefix=/usr/local;
                      DESTDIR=DIR for a package; install-module, install-user: a part
make install-library  the library and its header alone: it does without the module
make install-go       timers for Go; install-rust, install-python: for those
sudo make uninstall   removes them
make in-tree LINUX=DIR  puts module, tests and documentation into a kernel's source
make deb              Debian packages, in build/deb
make test-packages    installs, upgrades and removes them in a Debian system; 7 minutes
make clean            removes build/
endef

.PHONY: help
help:
	$(info $(HELP))
	@:
