# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034 # the tests use them
#
# What the tests of tools/vm/kernel share. The packages come from a fake mirror of Debian in a
# folder, which only the apt of these tests knows; its source builds at once. The cache is
# a temporary one.

set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.." || exit
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# shellcheck source=tools/tests/tap.bash
. tools/tests/tap.bash
# shellcheck source=tools/tests/kernels/mirror.bash
. tools/tests/kernels/mirror.bash

state=$folder/state
cache=$folder/cache/twheel
kernels=$cache/kernels

# The fake source reads its instructions from STATE, and records there what it did.
export XDG_CACHE_HOME=$folder/cache APT_CONFIG=$folder/apt.conf STATE=$state
export PATH=$folder/bin:$PATH

# Every test begins with the whole mirror, an empty cache, and an apt without lists.
fresh()
{
	rm -rf "${folder:?}"/{cache,mirror,mirror.gone,lib,apt,etc,state,bin}
	mkdir -p "$state" "$folder/bin"
	cp -a "$folder/template" "$mirror"
	configure_apt
}

offline()
{
	mv "$mirror" "$mirror.gone"
}

# get STATUS ARGUMENT...: fails unless that is the exit status of tools/vm/kernel. Its
# output is in $folder/out and $folder/err.
get()
{
	local want=$1 got=0
	shift

	timeout 60 tools/vm/kernel "$@" >"$folder/out" 2>"$folder/err" || got=$?
	[ "$got" -eq "$want" ] && return
	echo "tools/vm/kernel $*: exit status $got instead of $want"
	cat "$folder/out" "$folder/err"
	return 1
}

says_nothing()
{
	[ ! -s "$folder/out" ] && return
	echo "printed: $(cat "$folder/out")"
	return 1
}

silent()
{
	[ ! -s "$folder/err" ] && return
	echo "not silent:"
	cat "$folder/err"
	return 1
}

# holds FOLDER FILE TEXT
holds()
{
	diff <(echo "$3") "$1/$2"
}

# finished NAME VERSION: checks that kernel, and sets $dir to its folder.
finished()
{
	dir=$kernels/$1/$2
	says "$dir" && [ -s "$dir/release" ]
}

# Waits up to ten seconds for a command to succeed.
until_true()
{
	local i

	for i in $(seq 100); do
		"$@" && return
		sleep 0.1
	done
	echo "in vain: $*"
	return 1
}

builds()
{
	paste -sd' ' "$state/builds"
}

# key OPTIONS FRAGMENT...: the cache's name for a kernel of these fragments and the
# current compiler.
key()
{
	local options=$1
	shift

	(cd kunit && cat "$@" | grep ^CONFIG_ && gcc --version && printf %s "$options") |
		sha256sum | cut -c1-12
}

# gcc VERSION: sets the version of the fake compiler.
gcc_is()
{
	printf '#!/bin/sh\necho "gcc (test) %s"\n' "$1" >"$folder/bin/gcc"
	chmod +x "$folder/bin/gcc"
}

# Runs it in a process group of its own, in the background.
start()
{
	set -m
	tools/vm/kernel "$@" >"$folder/out" 2>"$folder/err" &
	set +m
}

# dpkg_deb_then COMMAND: dpkg-deb runs that after its work.
dpkg_deb_then()
{
	local real

	real=$(command -v dpkg-deb)
	printf '#!/bin/sh\n%s "$@"\n%s\n' "$real" "$1" >"$folder/bin/dpkg-deb"
	chmod +x "$folder/bin/dpkg-deb"
}

# run_tests [WORD]: runs the tests whose names contain the word, and exits.
run_tests()
{
	local name names

	mapfile -t names < <(declare -F | sed -n 's/^declare -f test_//p' | grep -e "${1-}")
	make_mirror
	mv "$mirror" "$folder/template"
	echo "1..${#names[@]}"
	for name in "${names[@]}"; do
		ok "${name//_/ }" "test_$name"
	done
	exit "$status"
}
