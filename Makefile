# SPDX-License-Identifier: GPL-2.0-only
#
# make help lists the targets.

# Neither make nor the kernel's build can handle paths with spaces.
$(foreach v,CURDIR DESTDIR prefix,$(if $(word 2,x$($v)x),$(error $v has a space: "$($v)". \
	Use a path without one)))

MAKEFLAGS += --no-print-directory
.DELETE_ON_ERROR:
.SECONDARY:

# A kernel of tools/vm/kernel, or "running": the one this machine runs.
KERNEL ?= running
SUITE ?=
TEST ?=
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

# Name everything that is missing at once, before compiling anything. If apt knows kernel
# headers, but not those of the running kernel, say that there is no package.
needs:
	@missing=; release=$$(uname -r); \
	 echo '#include <stdio.h>' | $(CC) -fsyntax-only -xc - 2>/dev/null || \
		missing=" gcc libc6-dev"; \
	 test -e /lib/modules/$$release/build/Makefile || { \
	 if apt-cache pkgnames linux-headers- 2>/dev/null | grep -q . && \
		! apt-cache show linux-headers-$$release >/dev/null 2>&1; then \
	 echo "The headers of the running kernel are missing, and apt has no package" \
		"linux-headers-$$release. If the kernel was updated, reboot and run apt update;" \
		"if it is not the distribution's, install the headers that come with it, to" \
		"/lib/modules/$$release/build. make install-library needs none." >&2; \
	 test -z "$$missing" || echo "On Debian: apt install$$missing" >&2; \
	 exit 1; fi; \
	 missing="$$missing linux-headers-$$release"; }; \
	 test -z "$$missing" || { \
	 echo "The C compiler or the headers of the running kernel are missing." \
		"On Debian: apt install$$missing" >&2; \
	 echo "make install-library needs no kernel headers." >&2; \
	 exit 1; }

# ---- User programs ---------------------------------------------------------
#
# A program is linked from the objects of its folders and libtwheel.a. tools/FOLDER/x.c is
# compiled to build/obj/FOLDER/x.o.

PROGRAMS := twheel twheel-demo twheel-restart twheel-bench twheel-selftest twheel-race twheel-fuzz \
	twheel-fault twheel-limits twheel-time twheel-neighbours twheel-library twheel-ring
UNIT_TESTS := $(notdir $(basename $(wildcard tools/tests/unit/*.c)))
PROGS := $(PROGRAMS) $(UNIT_TESTS)

twheel.rooms := command
twheel-demo.rooms := demo common
twheel-restart.rooms := restart common
twheel-bench.rooms := bench bench/facility bench/scene common
twheel-selftest.rooms := common
twheel-race.rooms := tests/race common
twheel-fuzz.rooms := tests/fuzz common
twheel-fault.rooms := tests/stress/fault common
twheel-limits.rooms := tests/stress/limits common
twheel-time.rooms := tests/stress/time common
twheel-neighbours.rooms := tests/neighbours common
twheel-library.rooms := tests/library common
twheel-ring.rooms := tests/ring common

comma := ,

CFLAGS ?= -O2 -g
TOOL_CFLAGS = -std=gnu11 -Wall -Wextra -D_GNU_SOURCE= -Iinclude/uapi -Itools/lib \
	-Itools/common -DTWHEEL_VERSION='"$(VERSION)"' -pthread -MMD -MP
# The virtual machines of the tests have no C library.
STATIC ?= -static

# The libraries of ncurses, if they can be linked. make CURSES= does without them. The test runs
# when the command is compiled, once, and again when ncurses has been installed.
CURSES = $(shell cat $(CURSES_FOUND))
CURSES_FOUND := $(BUILD)/curses$(if $(wildcard /usr/include/*curses.h),-installed)
$(CURSES_FOUND):
	@mkdir -p $(@D)
	@for libs in "$$(pkg-config --static --libs ncursesw 2>/dev/null)" "-lncursesw -ltinfo" \
		-lncursesw ""; do echo 'int main(void) { return endwin(); }' | $(CC) $(CFLAGS) \
		$(LDFLAGS) $(STATIC) -include curses.h -xc - -o /dev/null $$libs 2>/dev/null && \
		break; done; echo "$$libs" >$@

# objects FOLDER...: the object files of the C files in these folders.
objects = $(patsubst tools/%.c,$(BUILD)/obj/%.o,$(wildcard $(1:%=tools/%/*.c)))

LIB := $(BUILD)/lib/libtwheel.a

SHARED_LIB := $(BUILD)/lib/libtwheel.so.0

.PHONY: tools
tools: $(PROGS:%=$(BUILD)/bin/%) $(SHARED_LIB)

$(BUILD)/obj/%.o: tools/%.c dkms.conf Makefile
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(TOOL_CFLAGS) -c -o $@ $<

# The linker warns of host-name functions in libevent, which this program does not call.
$(BUILD)/obj/bench/%.o: TOOL_CFLAGS += -Itools/bench
$(BUILD)/bin/twheel-ring $(BUILD)/bin/twheel-fuzz: LDLIBS = -luring
$(BUILD)/bin/twheel-bench: LDLIBS = -luring -levent_core -lev -Wl,--no-warnings

# The self-tests use the harness of the kernel's own tests, which needs them in one file.
$(BUILD)/obj/tests/selftest/main.o: TOOL_CFLAGS += -I$(BUILD)/kselftest
$(BUILD)/obj/tests/selftest/main.o: | $(BUILD)/kselftest
$(BUILD)/bin/twheel-selftest: $(BUILD)/obj/tests/selftest/main.o
$(BUILD)/kselftest: | deps
	@mkdir -p $(@D)
	@source=$$(tools/vm/kernel --source) && \
	 ln -sfn $$source/tools/testing/selftests $@

# Unit tests test the parts of the command.
$(BUILD)/obj/tests/unit/%.o: TOOL_CFLAGS += -Itools/command
$(BUILD)/bin/twheel $(UNIT_TESTS:%=$(BUILD)/bin/%): LDLIBS = $(CURSES)
$(BUILD)/obj/command/screen.o: TOOL_CFLAGS += $(if $(CURSES),-DHAVE_CURSES)
$(BUILD)/obj/command/screen.o: $(CURSES_FOUND)
$(UNIT_TESTS:%=$(BUILD)/bin/%): $(BUILD)/bin/%: $(BUILD)/obj/tests/unit/%.o \
	$(filter-out %/main.o,$(call objects,command)) $(call objects,common)

$(foreach p,$(PROGRAMS),$(eval $(BUILD)/bin/$p: $$(call objects,$$($p.rooms))))
$(PROGS:%=$(BUILD)/bin/%): $(LIB)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LDFLAGS) $(STATIC) -pthread -o $@ $(filter %.o,$^) $(LIB) $(LDLIBS) -lm

# ---- The library -----------------------------------------------------------
#
# It contains the core of the module, compiled with stand-ins for the kernel's headers.
# -fexceptions: callbacks may throw through it.

LIB_CFLAGS = -Itools/lib/kernel -I. -fPIC -fvisibility=hidden -fexceptions \
	-fno-strict-aliasing -fno-tree-vectorize -Wno-sign-compare \
	-D_TIME_BITS=64 -D_FILE_OFFSET_BITS=64
# The core, which also runs in user space without the rest of the module.
CORE := twheel_core twheel_level

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

# The library's tests control the clock, and which allocation fails. Below, everything in one
# program, for sanitizers and valgrind.
LIBRARY_WRAPS := -Wl,--wrap=clock_gettime,--wrap=malloc,--wrap=calloc
$(BUILD)/bin/twheel-library: LDLIBS = $(LIBRARY_WRAPS)

LIBRARY_SOURCES := $(wildcard tools/tests/library/*.c tools/common/*.c tools/lib/*.c) \
	$(CORE:%=%.c)
LIBRARY_DEPENDS := $(LIBRARY_SOURCES) $(wildcard twheel*.h tools/tests/library/*.h \
	tools/common/*.h tools/lib/*.h tools/lib/kernel/linux/*.h) Makefile
LIBRARY_BUILD = -g $(filter-out -MMD -MP,$(TOOL_CFLAGS)) $(filter-out -fPIC,$(LIB_CFLAGS)) \
	-o $@ $(LIBRARY_SOURCES) $(LIBRARY_WRAPS)

.PHONY: libraries
libraries: $(BUILD)/native/library-asan $(BUILD)/native/library-tsan $(BUILD)/native/library

$(BUILD)/native/library-%san: $(LIBRARY_DEPENDS)
	@mkdir -p $(@D)
	$(CC) -O1 -fno-omit-frame-pointer -fno-sanitize-recover=all \
		-fsanitize=$(if $(filter t,$*),thread,address$(comma)undefined) $(LIBRARY_BUILD)

$(BUILD)/native/library: $(LIBRARY_DEPENDS)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LIBRARY_BUILD)

# An example over librabbitmq. It never runs in a machine without a C library, so it is not static.
$(BUILD)/bin/twheel-delay: $(BUILD)/obj/examples/rabbitmq/delay.o
$(BUILD)/bin/twheel-delay-load: $(BUILD)/obj/examples/rabbitmq/load.o
$(BUILD)/bin/twheel-delay $(BUILD)/bin/twheel-delay-load: \
		$(patsubst %,$(BUILD)/obj/examples/rabbitmq/%.o,queues mq) $(LIB)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(LDFLAGS) -pthread -o $@ $(filter %.o,$^) $(LIB) -lrabbitmq -lm

-include $(shell find $(BUILD)/obj -name '*.d' 2>/dev/null)

# ---- Modules ---------------------------------------------------------------
#
# A module is built in build/KERNEL, in a tree of links to the sources, so that builds for
# several kernels do not collide and the source stays clean. A lock admits one make at a
# time.

MODULE_DIR = $(BUILD)/$(KERNEL)
KERNEL_DIR = $(shell cat $(MODULE_DIR)/kernel)
KBUILD = $(MAKE) -C $(KERNEL_DIR)/build M=$(CURDIR)/$(MODULE_DIR) \
	CONFIG_DEBUG_INFO_BTF_MODULES= $(KBUILD_ARGS)

# KUnit suites and -Werror are for the kernels of tools/vm/kernel.
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

# Remove modules that were built for another version of the kernel.
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

# The set of packages of tools/vm/deps that a target needs.
DEPS ?= test

.PHONY: deps demo test quick test-matrix check bench
deps:
	@tools/vm/deps $(DEPS)

demo: export DEPS = demo
demo: deps
	@$(MAKE) -s $(BUILD)/bin/twheel-demo
	@$(MAKE) -s module KERNEL=stock
	@tools/demo/run

.PHONY: demo-restart
demo-restart: export DEPS = demo
demo-restart: deps
	@$(MAKE) -s $(BUILD)/bin/twheel-restart
	@$(MAKE) -s module KERNEL=stock
	@tools/restart/run

# For example: make demo-delayed DELAYED="--seconds 600 --seed 1 --rate 100"
DELAYED ?=

.PHONY: demo-delayed
demo-delayed: export DEPS = delayed
demo-delayed: deps
	@$(MAKE) -s $(BUILD)/bin/twheel-delay $(BUILD)/bin/twheel-delay-load
	@tools/examples/rabbitmq/demo $(DELAYED)

.PHONY: bench-delayed
bench-delayed: export DEPS = delayed
bench-delayed: deps
	@$(MAKE) -s $(BUILD)/bin/twheel-delay $(BUILD)/bin/twheel-delay-load
	@tools/examples/rabbitmq/figures

test: deps
	@tools/tests/$(if $(TEST),one '$(subst ','\'',$(TEST))',run $(SUITE))

quick: deps
	@tools/tests/run --quick

# For example: make mutants MUTANTS="--mutants 100 --seed 2 core"
MUTANTS ?= --vm

.PHONY: mutants
mutants: drivers fuzzers libraries
	@$(MAKE) -s $(addprefix $(BUILD)/,native/kunit-native native/selftest bin/twheel-selftest)
	@$(MAKE) -s module KERNEL=stock
	@tools/tests/mutants/run $(MUTANTS)

test-matrix: deps
	@tools/tests/matrix $(ROW)

check: deps
	@tools/tests/check

.PHONY: coverage
coverage: deps
	@tools/tests/coverage/run $(RUN)

.PHONY: html
html: export DEPS = html
html: deps
	@tools/html/run $(BUILD)/html
	@echo "$(BUILD)/html/index.html"

# Choose with: make bench FACILITY=a,b OP=x,y PENDING=n,m BATCH=k,l
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

.PHONY: bench-profile
bench-profile: export DEPS = bench
bench-profile: deps
	@$(MAKE) -s $(BUILD)/bin/twheel-bench
	@$(MAKE) -s module KERNEL=stock
	@tools/bench/profile/run $(addprefix --pending ,$(PENDING)) $(addprefix --op ,$(OP)) \
		$(subst $(comma), ,$(FACILITY))

# ---- Installing it ---------------------------------------------------------

# With DESTDIR, everything is installed below that folder, for packaging.

MANUALS := $(filter-out %.3,$(wildcard tools/man/*.[1-8]))
LIBRARY_MANUALS := $(wildcard tools/man/*.3)
MANUAL_DIRS := $(sort $(foreach m,$(MANUALS),$(mandir)/man$(subst .,,$(suffix $(m)))))

# functions PAGE: the functions in its NAME section; each of them gets a page that links to it.
functions = $(shell sed '/^.SH SYNOPSIS/q' $(1) | grep -o 'twheel_[a-z_]*')
FUNCTIONS = $(foreach m,$(LIBRARY_MANUALS),$(call functions,$(m)))

RELEASE = $$(cat $(KERNEL_DIR)/release 2>/dev/null || uname -r)

# depmod RELEASE: update the list that modprobe reads, unless DESTDIR is set.
depmod = PATH=$$PATH:/usr/sbin:/sbin; test -n "$(DESTDIR)" || \
	if command -v depmod >/dev/null; then depmod $(1); else \
	echo "depmod is missing, and modprobe does not know of the change." \
		"On Debian: apt install kmod" >&2; fi

.PHONY: install install-module install-user install-library module-install
install: install-module install-user

# Install twheel.ko alone, without the modules of tests and benchmarks.
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

# For programs that do not need the module.
install-library: $(LIB) $(SHARED_LIB)
	install -d $(addprefix $(DESTDIR),$(libdir)/pkgconfig $(includedir)/linux $(mandir)/man3)
	install -m 644 $(LIB) $(DESTDIR)$(libdir)
	install $(SHARED_LIB) $(DESTDIR)$(libdir)
	ln -sf $(notdir $(SHARED_LIB)) $(DESTDIR)$(libdir)/libtwheel.so
	@test -n "$(DESTDIR)" || PATH=$$PATH:/usr/sbin:/sbin ldconfig || :
	sed 's|@libdir@|$(libdir)|; s|@includedir@|$(includedir)|; s|@version@|$(VERSION)|' \
		tools/lib/libtwheel.pc.in >$(DESTDIR)$(libdir)/pkgconfig/libtwheel.pc
	install -m 644 $(addprefix tools/lib/,libtwheel.h libtwheel.hpp libtwheel-uring.h) \
		$(DESTDIR)$(includedir)
	install -m 644 include/uapi/linux/twheel.h $(DESTDIR)$(includedir)/linux
	@$(foreach m,$(LIBRARY_MANUALS),for f in $(call functions,$(m)); do \
		echo ".so man3/$(notdir $(m))" >$(DESTDIR)$(mandir)/man3/$$f.3; done;)
	install -m 644 $(LIBRARY_MANUALS) $(DESTDIR)$(mandir)/man3

# The bindings. Debian installs the sources of Go and Rust packages to these folders.

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

# prune DIR...: remove empty folders and their empty parents below the prefix. Folders
# directly below the prefix, and share/man, stay.
prune = for d in $(1); do \
	while test "$$d" != "$(DESTDIR)$(prefix)" && test "$${d%/*}" != "$(DESTDIR)$(prefix)" && \
		test "$$d" != "$(DESTDIR)$(prefix)/share/man" && rmdir "$$d" 2>/dev/null; do \
	d=$${d%/*}; done; done

uninstall-bindings:
	rm -rf $(GO_DIR) $(RUST_DIR) $(DESTDIR)$(prefix)/lib/python3*/dist-packages/twheel \
		$(DESTDIR)$(prefix)/lib/python3*/dist-packages/twheel-*.egg-info
	@$(call prune,$(patsubst %/,%,$(dir $(GO_DIR))) $(DESTDIR)$(cargodir))

# For all kernels: the module may have been installed before a kernel update.
uninstall-module:
	@for f in $(DESTDIR)/lib/modules/*/extra/twheel.ko*; do \
	 test -e $$f || continue; \
	 rm -v $$f; \
	 rmdir $${f%/*} 2>/dev/null; \
	 release=$${f%/extra/*}; \
	 ($(call depmod,$${release##*/})); done

uninstall-user:
	rm -f $(addprefix $(DESTDIR),$(bindir)/twheel \
		$(addprefix $(libdir)/,libtwheel.a libtwheel.so libtwheel.so.0 \
			pkgconfig/libtwheel.pc) \
		$(includedir)/libtwheel.h $(includedir)/libtwheel.hpp \
		$(includedir)/libtwheel-uring.h \
		$(includedir)/linux/twheel.h \
		$(completiondir)/twheel \
		$(patsubst %,$(mandir)/man3/%.3,libtwheel $(FUNCTIONS)) \
		$(foreach m,$(MANUALS),$(mandir)/man$(subst .,,$(suffix $(m)))/$(notdir $(m))))
	@$(call prune,$(addprefix $(DESTDIR),$(includedir)/linux $(libdir)/pkgconfig \
		$(completiondir) $(mandir)/man3 $(MANUAL_DIRS)))
	@test -n "$(DESTDIR)" || PATH=$$PATH:/usr/sbin:/sbin ldconfig || :

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
	@$(MAKE) -s $(LIB)
	@tools/tests/packages/run

.PHONY: clean
clean:
	rm -rf $(BUILD)

define HELP
Try it, in a virtual machine
  make demo             half an hour of an order system
  make demo-restart     an order system that is killed and replaced twice; its timers live on
  make demo-delayed     delayed messages over RabbitMQ, while brokers and nodes are killed

Install it
  make                  the module for the running kernel, and the command
  sudo make install     module, command, library and headers; prefix=/usr/local;
                        DESTDIR=DIR for packaging; install-module, install-user: a part
  make install-library  only the library and its headers, without kernel headers
  make install-go       timers for Go; also install-rust, install-python
  sudo make uninstall   remove all of these
  make deb              Debian packages, in build/deb
  make in-tree LINUX=DIR  copy module, tests and documentation to a kernel's source

Read about it
  make html             the documentation as HTML, in build/html

Test it
  make quick            the tests to run while editing: two minutes
  make test             all tests; one suite: SUITE=... of tools/tests/run --list;
                        one test: TEST=... a part of its name
  make check            style, documents, licences, warnings of the compilers
  make test-matrix      the self-tests on old and new kernels, PREEMPT_RT, with
                        32-bit programs, on arm64; ROW=... of tools/tests/matrix --list
  make test-packages    install, upgrade and remove the packages in a Debian system
  make coverage         which lines of the module the tests reach, and why not the
                        others; RUN=... of tools/tests/coverage/run --list
  make mutants          300 small changes to core, driver and libtwheel, which tests
                        have to detect; MUTANTS=... of tools/tests/mutants/run --help
  make fuzz-core        random operations on the core, for SECONDS=n

Measure it
  make bench            instructions per timer, for twheel and other timers;
                        choose: FACILITY=a,b OP=x,y PENDING=n,m BATCH=k,l
  make bench-profile    what a timer that expires alone costs, by function;
                        choose: FACILITY=a,b PENDING=n OP=live or rearm
  make bench-delayed    delayed messages over RabbitMQ: throughput and lateness
  make bench-native     the core in user space, a heap and std::multimap;
                        choose: FACILITY=a,b PENDING=n,m

Work on it
  make tools            all programs, also those of the tests, in build/bin
  make module KERNEL=K  the module for a kernel of tools/vm/kernel --list
  make drawings         the drawings of the documentation, from runs of the core
  make clean            remove build/
endef

.PHONY: help
help:
	$(info $(HELP))
	@:
