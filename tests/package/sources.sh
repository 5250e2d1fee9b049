#!/bin/sh
# SPDX-License-Identifier: MIT
# sources.sh: `make dist` and the sources of `make deb`, in a checkout of git, in what was unpacked, and where git fails. Debian's tools are
# stood in for; deb.sh calls them. Prints "ok NAME", "FAIL NAME" or "skip NAME: why"; exit status 1 after a failure.
cd "$(dirname "$0")/../.." || exit 1
work=$PWD/build/package/sources make=${MAKE:-make}
unset MAKEFLAGS MAKELEVEL MFLAGS
status=0
rm -rf "$work" && mkdir -p "$work/stand-in" || exit 1
ok() { echo "ok sources $1"; }
fail() { echo "FAIL sources $1"; tail -n 10 "$work/log" | sed 's/^/    /'; status=1; }

version=$(sed -n 's/^#define MORSEL_VERSION "\(.*\)"/\1/p' core/morsel.h)
archive=build/morsel-$version.tar.gz
{ "$make" -s dist && tar -xzf "$archive" -C "$work"; } >"$work/log" 2>&1 || { fail "make dist"; exit 1; }
ok "make dist"
tree=$work/morsel-$version
cp Makefile "$tree/" && cp tools/package/*.sh "$tree/tools/package/" # as they lie here, committed or not
(cd "$work" && find "morsel-$version" ! -type d | sort) >"$work/wanted.txt"
mkdir -p "$tree/dist" && : >"$tree/dist/left" && : >"$tree/core/left.o"
for time in once twice; do
    if "$make" -s -C "$tree" dist >"$work/log" 2>&1 && tar -tzf "$tree/$archive" | grep -v '/$' | sort | cmp - "$work/wanted.txt" >>"$work/log" 2>&1
    then ok "make dist without git, $time"
    else fail "make dist without git, $time"; fi
done

printf '#!/bin/sh\n' >"$work/stand-in/dh"
printf '#!/bin/sh\n[ -f Makefile ] && [ -f debian/rules ] && grep -q "^ -- .*  [A-Z].* [+-]....$" debian/changelog && : >../morsel.deb\n' \
    >"$work/stand-in/dpkg-buildpackage"
chmod +x "$work/stand-in"/*
if PATH=$work/stand-in:$PATH "$make" -s -C "$tree" deb >"$work/log" 2>&1 && [ -f "$tree/dist/morsel.deb" ]; then ok "make deb without git"
else fail "make deb without git"; fi

echo "of another machine" >"$tree/.git"
if ! "$make" -s -C "$tree" dist >"$work/log" 2>&1 && [ -z "$(find "$tree/build" -name '*.tar.gz*' ! -path '*/deb/*')" ]; then ok "nothing is left where git fails"
else fail "nothing is left where git fails"; fi
exit $status
