# SPDX-License-Identifier: GPL-2.0-only
# make help lists the targets.

# Neither make nor the kernel's build can handle paths with spaces.
$(foreach v,CURDIR DESTDIR prefix,$(if $(word 2,x$($v)x),$(error $v has a space: "$($v)". \
	Use a path without one)))

MAKEFLAGS += --no-print-directory
.DELETE_ON_ERROR:
.SECONDARY:

# A kernel of tools/vm/kernel, or "running": the one this machine runs. With KERNEL=host, virtual
# machines run that, too, instead of Debian's.
KERNEL ?= running
ifeq ($(KERNEL),host)
override KERNEL := stock
export TWHEEL_STOCK := host
endif
BUILD := build
NATIVE := $(BUILD)/native
LIB := $(BUILD)/lib/libtwheel.a
SHARED_LIB := $(BUILD)/lib/libtwheel.so.0
VERSION := $(shell sed -n 's/^PACKAGE_VERSION="\(.*\)"/\1/p' dkms.conf)

prefix ?= /usr/local
bindir ?= $(prefix)/bin
libdir ?= $(prefix)/lib
includedir ?= $(prefix)/include
mandir ?= $(prefix)/share/man
completiondir ?= $(prefix)/share/bash-completion/completions
PYTHON ?= python3
# Debian installs the sources of Go and Rust packages to these directories.
godir ?= $(prefix)/share/gocode/src
cargodir ?= $(prefix)/share/cargo/registry
pythondir ?= $(prefix)/lib/$(notdir $(shell readlink -f "$$(command -v $(PYTHON))"))/dist-packages

## Install it (prefix=/usr/local; DESTDIR=DIR for packaging)
all: needs ## the module for the running kernel, and the command
	+@$(MAKE) user module

user: $(BUILD)/bin/twheel $(LIB) $(SHARED_LIB)

# Name everything that is missing at once, before compiling anything.
MISSING = $(if $(shell ($(CC) -include stdio.h -fsyntax-only -xc /dev/null) >/dev/null 2>&1 && \
	echo there),, gcc libc6-dev)$(if $(wildcard /lib/modules/$1/build/Makefile),, linux-headers-$1)
needs:
	@missing="$(call MISSING,$(shell uname -r))"; test -z "$$missing" || { echo "Missing; on" \
		"Debian: apt install$$missing. After an update of the kernel, reboot." \
		"make install-library needs no headers." >&2; exit 1; }

# ---- Installing it ---------------------------------------------------------

HEADERS := $(addprefix libtwheel,.h .hpp -device.h -uring.h)
GO_DIR = $(DESTDIR)$(godir)/twheel.example/timingwheel
RUST_DIR = $(DESTDIR)$(cargodir)/twheel-$(VERSION)

# depmod RELEASE: update the list that modprobe reads, unless DESTDIR is set.
depmod = PATH=$$PATH:/usr/sbin:/sbin; test -n "$(DESTDIR)" || \
	if command -v depmod >/dev/null; then depmod $1; else echo "depmod is missing, and" \
	"modprobe does not know of the change. On Debian: apt install kmod" >&2; fi
ldconfig = test -n "$(DESTDIR)" || PATH=$$PATH:/usr/sbin:/sbin ldconfig || :

install: install-module install-user ## as root: module, command, library, headers and man pages

install-user: $(BUILD)/bin/twheel install-library
	install -D $(BUILD)/bin/twheel -t $(DESTDIR)$(bindir)
	install -D -m 644 tools/command/completion.bash $(DESTDIR)$(completiondir)/twheel
	install -D -m 644 tools/man/twheel.1 -t $(DESTDIR)$(mandir)/man1
	install -D -m 644 tools/man/twheel.4 -t $(DESTDIR)$(mandir)/man4

# For programs that do not need the module.
install-library: $(LIB) $(SHARED_LIB) ## only the library and its headers, without kernel headers
	install -D -m 644 $(LIB) -t $(DESTDIR)$(libdir)
	install $(SHARED_LIB) $(DESTDIR)$(libdir)
	ln -sf $(notdir $(SHARED_LIB)) $(DESTDIR)$(libdir)/libtwheel.so
	@$(ldconfig)
	install -d $(DESTDIR)$(libdir)/pkgconfig
	sed 's|@libdir@|$(libdir)|; s|@includedir@|$(includedir)|; s|@version@|$(VERSION)|' \
		tools/lib/libtwheel.pc.in >$(DESTDIR)$(libdir)/pkgconfig/libtwheel.pc
	install -D -m 644 $(HEADERS:%=tools/lib/%) -t $(DESTDIR)$(includedir)
	install -D -m 644 include/uapi/linux/twheel.h -t $(DESTDIR)$(includedir)/linux
	install -D -m 644 tools/man/*.3 -t $(DESTDIR)$(mandir)/man3
	@if command -v $(PYTHON) >/dev/null; then \
		$(PYTHON) tools/man/make-pages $(DESTDIR)$(mandir)/man3; \
	else echo "No man pages of libtwheel's functions: making them needs python3" >&2; fi

install-go: ## timers for Go; also install-rust, install-python
	cd tools/bindings/go && install -D -m 644 go.mod device.go timingwheel.go -t $(GO_DIR)

install-rust:
	install -D -m 644 tools/bindings/rust/src/*.rs -t $(RUST_DIR)/src
	sed '/^version = /s/"0.0.0".*/"$(VERSION)"/' tools/bindings/rust/Cargo.toml \
		>$(RUST_DIR)/Cargo.toml
	echo '{"files":{},"package":null}' >$(RUST_DIR)/.cargo-checksum.json

# The extension is compiled in a copy, against this library.
install-python: $(SHARED_LIB)
	rm -rf $(BUILD)/python
	cp -r tools/bindings/python $(BUILD)/python
	cd $(BUILD)/python && TWHEEL_VERSION=$(VERSION) LDFLAGS="$(LDFLAGS) -L../lib" \
		CFLAGS="$(CFLAGS) -I$(CURDIR)/tools/lib -I$(CURDIR)/include/uapi" \
		$(PYTHON) -W ignore setup.py -q install --root=$(or $(DESTDIR),/) \
		--install-lib=$(pythondir)

# Files of all kernels: the module may have been installed before an update. Directories that are
# empty afterwards are removed, except those directly below the prefix, and share/man.
INSTALLED = $(bindir)/twheel $(completiondir)/twheel $(mandir)/man1/twheel.1 \
	$(mandir)/man4/twheel.4 $(addprefix $(mandir)/man3/,libtwheel.3 twheel_*.3) \
	$(addprefix $(includedir)/,$(HEADERS) linux/twheel.h) $(addprefix $(libdir)/,libtwheel.a \
	libtwheel.so libtwheel.so.0 pkgconfig/libtwheel.pc) \
	$(addprefix $(prefix)/lib/python3*/dist-packages/,twheel twheel-*.egg-info)
EMPTIED = $(includedir)/linux $(libdir)/pkgconfig $(addprefix $(mandir)/man,1 3 4) \
	$(foreach d,$(completiondir) $(godir)/twheel.example $(godir) $(cargodir),$d $(dir $d))

uninstall: uninstall-module uninstall-user ## as root: remove all of these

uninstall-user:
	rm -rf $(addprefix $(DESTDIR),$(INSTALLED)) $(GO_DIR) $(RUST_DIR)
	@rmdir $(addprefix $(DESTDIR),$(EMPTIED)) 2>/dev/null || :
	@$(ldconfig)

uninstall-module:
	@cd $(DESTDIR)/lib/modules 2>/dev/null || exit 0; \
	 for f in */extra/twheel.ko*; do test -e $$f || continue; \
	 rm -v $$f; rmdir $${f%/*} 2>/dev/null; ($(call depmod,$${f%%/*})); done

# ---- Modules ---------------------------------------------------------------

# A module is built in build/KERNEL, in a tree of links to the sources, so that builds for
# several kernels do not collide and the source stays clean. A lock admits one make at a
# time. KUnit suites and -Werror are for the kernels of tools/vm/kernel. make check runs kernel-doc,
# which needs more of perl than Debian installs with a compiler.

MODULE_DIR = $(BUILD)/$(KERNEL)
# For the shell: module-build writes this file.
KERNEL_DIR = $$(cat $(MODULE_DIR)/kernel)
KBUILD = $(MAKE) -C $(KERNEL_DIR)/build M=$(CURDIR)/$(MODULE_DIR) \
	CONFIG_DEBUG_INFO_BTF_MODULES= cmd_checkdoc= $(KBUILD_ARGS)
KBUILD_ARGS ?= $(if $(filter running,$(KERNEL)),CONFIG_KUNIT=,W=1 KCFLAGS=-Werror \
	$(if $(filter stock 6.12 7.2 newest,$(KERNEL)),CONFIG_TWHEEL_BENCH=m))
SOURCES := $(wildcard Kbuild dkms.conf *.c *.h include kunit/*.[ch] tools/bench/module/*.[ch])

module: ## the module for a kernel of tools/vm/kernel --list: KERNEL=K
module: STEP = module-build
# Install twheel.ko alone, without the modules of tests and benchmarks.
install-module: STEP = module-install \
	KBUILD_ARGS="$(filter-out CONFIG_%,$(KBUILD_ARGS)) CONFIG_KUNIT= CONFIG_TWHEEL_BENCH="
module install-module: $(if $(filter running,$(KERNEL)),needs,deps)
	@mkdir -p $(MODULE_DIR)/kunit $(MODULE_DIR)/tools/bench/module
	+@flock $(MODULE_DIR)/lock $(MAKE) $(STEP)

# Remove modules that were built for another version of the kernel.
module-build:
	@$(if $(filter running,$(KERNEL)),echo /lib/modules/$$(uname -r),tools/vm/kernel $(KERNEL)) \
		>$(MODULE_DIR)/kernel.new
	@cmp -s $(MODULE_DIR)/kernel.new $(MODULE_DIR)/kernel || \
	 find $(MODULE_DIR) ! -type d ! -name lock ! -name kernel.new -delete
	@mv $(MODULE_DIR)/kernel.new $(MODULE_DIR)/kernel
	@find $(MODULE_DIR) -xtype l -delete
	@for f in $(SOURCES); do ln -sfnr $$f $(MODULE_DIR)/$$f || exit 1; done
	+@$(KBUILD) modules

module-install: module-build
	+@$(KBUILD) INSTALL_MOD_PATH=$(DESTDIR) INSTALL_MOD_DIR=extra \
		CONFIG_MODULE_SIG_ALL= modules_install
	@$(call depmod,$$(cat $(KERNEL_DIR)/release 2>/dev/null || uname -r))

# ---- Tools -----------------------------------------------------------------

# The set of packages of tools/vm/deps that a target needs.
DEPS ?= $(if $(filter-out running stock,$(KERNEL)),test-all,test)
deps:
	@tools/vm/deps $(DEPS)

TOOLS := demo demo-jobs html deb test-packages bench bench-native bench-jobs test test-all \
	check test-matrix test-hosts mutants fuzz-core
.PHONY: $(TOOLS) all clean deps dist drivers fuzzers help in-tree install interleave \
	libraries module module-build module-install needs series tools uninstall user \
	$(addprefix install-,go library module python rust user) $(addprefix uninstall-,module user)
$(TOOLS): deps
$(foreach d,demo html bench,$(eval $d: export DEPS = $d))
demo-jobs bench-jobs: export DEPS = jobs
deb test-packages: export DEPS = packages
test-all check test-matrix test-hosts mutants fuzz-core: export DEPS = test-all
STOCK = $(MAKE) -s KERNEL=stock module

deb: ; @tools/packages/build ## Debian packages, in build/deb
dist: ## a tarball of the last commit's sources, in build
	@mkdir -p $(BUILD)
	@git -c tar.tar.xz.command="xz -c" archive --prefix=twheel-$(VERSION)/ \
		-o $(BUILD)/twheel-$(VERSION).tar.xz HEAD
	@echo $(BUILD)/twheel-$(VERSION).tar.xz
in-tree: ; @tools/in-tree/put $(LINUX) ## copy the sources to a kernel's source: LINUX=DIR
series: ; @tools/in-tree/series $(LINUX) ## commit them there, as patches for review: LINUX=DIR

## Try it, in a virtual machine
demo: ## half an hour of an order system; DEMO=--restart: one that is killed and replaced
	@$(STOCK) $(BUILD)/bin/twheel-demo
	@tools/demo/run $(DEMO)
demo-jobs: ## jobs in PostgreSQL, while workers, hosts and the primary are killed; JOBS="--seed 7"
	@$(STOCK)
	@tools/examples/jobs/demo.py $(JOBS)

## Read about it
html: ; @tools/html/run $(BUILD)/html ## the documentation as HTML, in build/html

## Test it
test: ## the proof; SUITE="a b" of tools/tests/run --list, TEST=part of a name, KERNEL=host
	@tools/tests/$(if $(TEST),one '$(subst ','\'',$(TEST))',run $(SUITE))
test-all: ; @tools/tests/run --all ## every test, also those that need debug kernels
check: ; @tools/tests/check ## style, documents, licences, warnings of the compilers
test-matrix: ## self-tests on other kernels, 32 bits, arm64; ROW=... of tools/tests/matrix --list
	@tools/tests/matrix $(ROW)
test-hosts: ## demo and test on Debian 12, 13, sid, from nothing; ROW=... of tools/tests/hosts --list
	@tools/tests/hosts $(ROW)
test-packages: ## install, upgrade and remove the packages in a Debian system
	@$(STOCK) $(LIB)
	@tools/tests/packages/run
mutants: drivers fuzzers libraries ## bugs that tests have to find; MUTANTS=--help
	@$(STOCK) $(NATIVE)/kunit-native $(BUILD)/bin/twheel-selftest
	@$(if $(MUTANTS),,tools/tests/planted/run)
	@tools/tests/mutants/run $(or $(MUTANTS),--vm)
fuzz-core: $(NATIVE)/fuzz-core ## random operations on the core, for SECONDS=n
	@mkdir -p build/fuzz-core/corpus
	@$(NATIVE)/fuzz-core -max_total_time=$(or $(SECONDS),60) -max_len=8192 \
		-artifact_prefix=build/fuzz-core/ build/fuzz-core/corpus

## Measure it
bench: KERNEL := $(KERNEL:running=stock)
bench: ## instructions per timer; FACILITY=a,b OP=x,y PENDING=n,m BATCH=k,l KERNEL=7.2
	@$(MAKE) -s KERNEL=$(KERNEL) module $(BUILD)/bin/twheel-bench
	@tools/bench/run --kernel $(KERNEL) --facility "$(FACILITY)" --op "$(OP)" \
		--pending "$(PENDING)" --batch "$(BATCH)"
bench-jobs: ## jobs over a wheel, and over workers that poll; JOBS="--workers 8 --rates 50"
	@$(STOCK)
	@tools/examples/jobs/bench.py $(JOBS)
bench-native: ## the core of the wheel in user space, in nanoseconds; PENDING="n m"
	@$(MAKE) -s $(NATIVE)/bench-native
	@$(NATIVE)/bench-native $(PENDING)

## Work on it
clean: ## remove build/
	rm -rf $(BUILD)

include tools/Makefile

help:
	@awk '/^## / { print ""; print substr($$0, 4) } /^[a-z-]+:.* ## / { \
		name = $$1; sub(/:.*/, "", name); sub(/.* ## /, ""); \
		printf "  make %-16s %s\n", name == "all" ? "" : name, $$0 }' $(MAKEFILE_LIST)
