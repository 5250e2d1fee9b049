#!/bin/sh
# SPDX-License-Identifier: MIT
# deb.sh: `make deb`, what lintian says of the packages, and a program that knows only what they hold, unpacked in a folder of its own.
# Prints "ok NAME", "FAIL NAME" or "skip NAME: why"; exit status 1 after a failure.
cd "$(dirname "$0")/../.." || exit 1
work=$PWD/build/package/deb compiler=${CC:-cc}
unset MAKEFLAGS MAKELEVEL MFLAGS
status=0
for needed in dh dpkg-buildpackage git; do
    command -v $needed >/dev/null || { echo "skip deb: no $needed"; exit 0; }
done
rm -rf "$work" && mkdir -p "$work" || exit 1
fail() { echo "FAIL deb $1"; tail -n 15 "$work/log" | sed 's/^/    /'; status=1; }
"${MAKE:-make}" -s deb >"$work/log" 2>&1 || { fail "is built"; exit 1; }
echo "ok deb is built"
if command -v lintian >/dev/null; then
    lintian --allow-root --suppress-tags initial-upload-closes-no-bugs dist/*.deb >"$work/log" 2>&1
    if [ -s "$work/log" ]; then fail "lintian"; else echo "ok deb lintian"; fi
else echo "skip deb lintian: not installed"; fi
for package in dist/*.deb; do dpkg-deb -x "$package" "$work/root" || exit 1; done
PKG_CONFIG_LIBDIR=$(find "$work/root/usr/lib" -type d -name pkgconfig)
export PKG_CONFIG_LIBDIR PKG_CONFIG_SYSROOT_DIR="$work/root"
# shellcheck disable=SC2046
if "$work/root/usr/bin/morsel" convert models/cifar10/network.onnx -o "$work/network.morsel" --c "$work/model.c" >"$work/log" 2>&1 &&
    "$compiler" -std=c11 -D_POSIX_C_SOURCE=200809L tests/consumers/run_zero.c $(pkg-config --cflags --libs morsel) -o "$work/app" >>"$work/log" 2>&1 &&
    "$work/app" "$work/network.morsel" >"$work/app.txt" 2>>"$work/log" && [ -s "$work/app.txt" ] &&
    "$work/app" models/cifar10/network.morsel >"$work/shipped.txt" 2>>"$work/log" && cmp "$work/app.txt" "$work/shipped.txt" >>"$work/log"; then echo "ok deb used"
else fail "used"; fi
exit $status
