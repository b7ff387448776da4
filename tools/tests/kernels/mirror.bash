# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# A fake mirror of Debian in $folder, and an apt that knows only it.

mirror=$folder/mirror
running=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
suites=("$running" trixie trixie-backports sid experimental)
multiarch=x86_64-linux-gnu

# deb SUITE PACKAGE VERSION ARCHITECTURE DEPENDS: packs $folder/content, unless the
# package exists.
deb()
{
	local suite=$1 package=$2 version=$3 arch=$4 depends=$5 root=$folder/content
	local pool=pool/${package}_${version}_$arch.deb lists=("$arch") a

	mkdir -p "$root/DEBIAN" "$mirror/pool"
	[ ! -e "$mirror/$pool" ] || { rm -r "$root"; return; }
	cat >"$root/DEBIAN/control" <<-END
	Package: $package
	Version: $version
	Architecture: $arch
	Maintainer: nobody
	Description: for a test
	END
	[ -z "$depends" ] || echo "Depends: $depends" >>"$root/DEBIAN/control"
	dpkg-deb -Znone --root-owner-group -b "$root" "$mirror/$pool" >/dev/null || exit
	[ "$arch" != all ] || lists=(amd64 arm64)
	for a in "${lists[@]}"; do
		{
			cat "$root/DEBIAN/control"
			echo "Filename: $pool"
			echo "Size: $(stat -c %s "$mirror/$pool")"
			echo "SHA256: $(sha256sum <"$mirror/$pool" | cut -d' ' -f1)"
			echo
		} >>"$mirror/dists/$suite/main/binary-$a/Packages"
	done
	rm -r "$root"
}

# content FILE TEXT: a file of the next package.
content()
{
	mkdir -p "$(dirname "$folder/content/$1")"
	echo "$2" >"$folder/content/$1"
}

# image SUITE VERSION RELEASE FLAVOUR ARCH: a kernel's image; from sid on its files
# are in a package of their own.
image()
{
	local suite=$1 version=$2 release=$3 name=linux-image-$4 arch=$5 holder

	holder=linux-image-$release
	if [ "$suite" = sid ] || [ "$suite" = experimental ]; then
		holder=linux-binary-$release
		content "usr/lib/modules/$release/vmlinuz" "image $release"
		content "usr/lib/modules/$release/config" "config $release"
		deb "$suite" "$holder" "$version" "$arch" ""
		deb "$suite" "linux-image-$release" "$version" "$arch" \
			"$holder, linux-modules-$release"
		deb "$suite" "linux-modules-$release" "$version" "$arch" ""
	else
		content "boot/vmlinuz-$release" "image $release"
		content "boot/config-$release" "config $release"
		deb "$suite" "$holder" "$version" "$arch" "kmod | module-tools, initramfs"
	fi
	deb "$suite" "$name" "$version" "$arch" "linux-image-$release"
}

# headers SUITE VERSION RELEASE FLAVOUR ARCH: like Debian's, they name each other by their
# paths when installed.
headers()
{
	local suite=$1 version=$2 release=$3 name=linux-headers-$4 arch=$5
	local common=${3%-"$4"}-common tree=usr/src/linux-headers-$3 base=${version%%[-~]*}

	content "$tree/.config" "config $release"
	content "$tree/.kernelvariables" "# variables"
	content "$tree/Makefile" "include /usr/src/linux-headers-$common/Makefile"
	ln -s "/usr/lib/linux-kbuild-$base/scripts" "$folder/content/$tree/scripts"
	deb "$suite" "linux-headers-$release" "$version" "$arch" \
		"linux-headers-$common, linux-kbuild-$base, gcc-9-for-host | gcc-9"
	content "usr/src/linux-headers-$common/Makefile" "# common"
	deb "$suite" "linux-headers-$common" "$version" all ""
	deb "$suite" "$name" "$version" "$arch" "linux-headers-$release"
}

# kernel_in SUITE VERSION RELEASE [FLAVOUR [ARCH]]
kernel_in()
{
	local flavour=${4-cloud-amd64} base=${2%%[-~]*}

	image "$1" "$2" "$3-$flavour" "$flavour" "${5-amd64}"
	headers "$1" "$2" "$3-$flavour" "$flavour" "${5-amd64}"
	content "usr/lib/linux-kbuild-$base/scripts/script" "script"
	deb "$1" "linux-kbuild-$base" "$2" amd64 ""
}

# A compiler that is dynamically linked, a part of it, and what it needs to run.
compiler_in()
{
	mkdir -p "$folder"/content/usr/{bin,libexec,"lib/$multiarch"}
	cp /bin/cat "$folder/content/usr/bin/$multiarch-gcc"
	cp /bin/cat "$folder/content/usr/libexec/cc1"
	deb "$1" gcc-9-for-host 9 amd64 libc6
	mkdir -p "$folder/content/usr/lib/$multiarch"
	cp "/lib/$multiarch/libc.so.6" "/lib64/ld-linux-x86-64.so.2" \
		"$folder/content/usr/lib/$multiarch"
	deb "$1" libc6 9 amd64 ""
}

# The fake source: it waits while STATE/hang exists, fails while STATE/fail does,
# and does not know the option in STATE/unknown.
fake_makefile()
{
	cat <<-'END'
	.NOTPARALLEL:
	.RECIPEPREFIX = >
	allnoconfig:
	> @touch $(STATE)/unknown
	> @grep -vxFf $(STATE)/unknown $(KCONFIG_ALLCONFIG) >$(O)/.config
	bzImage:
	> @echo begin >>$(STATE)/builds
	> @echo "  CC      init/main.o"
	> @for i in $$(seq 300); do test -e $(STATE)/hang || break; sleep 0.1; done
	> @if test -e $(STATE)/fail; then echo "the compiler's word"; exit 1; fi
	> @mkdir -p $(O)/arch/x86/boot $(O)/include/config
	> @echo image >$(O)/arch/x86/boot/bzImage
	> @echo 6.1.0-fake >$(O)/include/config/kernel.release
	modules:
	> @echo "$(KCSAN_SANITIZE)$(V)$(ARCH)$(KBUILD_OUTPUT)" >$(O)/options
	> @echo end >>$(STATE)/builds
	END
}

# source_in SUITE VERSION
source_in()
{
	local name=linux-source-6.1

	mkdir -p "$folder/tree/$name" "$folder/content/usr/src"
	fake_makefile >"$folder/tree/$name/Makefile"
	echo "$2" >"$folder/tree/$name/version"
	tar -C "$folder/tree" -cJf "$folder/content/usr/src/$name.tar.xz" "$name"
	deb "$1" "$name" "$2" all ""
	deb "$1" linux-source "$2" all "$name"
}

# Writes the mirror's lists after packages were added or removed.
publish()
{
	local suite

	for suite in "${suites[@]}"; do
		(cd "$mirror/dists/$suite" && cat >Release <<-END
		Origin: Debian
		Label: Debian
		Suite: $suite
		Codename: $suite
		Date: $(LC_ALL=C date -u '+%a, %d %b %Y %H:%M:%S UTC')
		Architectures: amd64 arm64
		Components: main
		SHA256:
		$(for f in main/*/Packages; do
			echo " $(sha256sum <"$f" | cut -d' ' -f1) $(stat -c %s "$f") $f"
		done)
		END
		)
	done
}

# withdraw SUITE PATTERN: removes packages from the mirror, and rewrites its lists.
withdraw()
{
	local list

	for list in "$mirror/dists/$1"/main/*/Packages; do
		awk -v RS= -v ORS='\n\n' -v p="$2" '$0 !~ p' "$list" >"$list.new"
		mv "$list.new" "$list"
	done
}

make_mirror()
{
	local suite a

	for suite in "${suites[@]}"; do
		for a in amd64 arm64; do
			mkdir -p "$mirror/dists/$suite/main/binary-$a"
			: >"$mirror/dists/$suite/main/binary-$a/Packages"
		done
	done
	deb "$running" base-files 12 amd64 ""
	kernel_in "$running" 6.1.1-1 6.1.0-1
	kernel_in "$running" 6.1.1-1 6.1.0-1 cloud-arm64 arm64
	mkdir -p "$folder/content/bin"
	echo busybox >"$folder/content/bin/busybox"
	deb "$running" busybox-static 1 arm64 ""
	source_in "$running" 6.1.1-1
	kernel_in trixie 6.12.5-1 6.12.5
	kernel_in trixie-backports 7.2.1-1~bpo1 7.2.1+bpo
	kernel_in sid 7.2.3-1 7.2.3
	kernel_in experimental 7.20~rc1-1 7.20-rc1
	for suite in trixie sid; do
		compiler_in "$suite"
	done
	publish
}

# An apt that knows only the mirror, and does not affect the system's.
configure_apt()
{
	mkdir -p "$folder"/etc/{apt.conf.d,preferences.d,sources.list.d} \
		"$folder"/lib/lists/partial "$folder"/apt/archives/partial
	: >"$folder/lib/status"
	echo "deb copy:$mirror $running main" >"$folder/etc/sources.list"
	cat >"$APT_CONFIG" <<-END
	Dir::Etc "$folder/etc";
	Dir::State "$folder/lib";
	Dir::State::status "$folder/lib/status";
	Dir::Cache "$folder/apt";
	APT::Architecture "amd64";
	Acquire::AllowInsecureRepositories "true";
	APT::Get::AllowUnauthenticated "true";
	END
}
