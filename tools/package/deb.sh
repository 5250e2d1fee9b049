#!/bin/sh
# SPDX-License-Identifier: MIT
# deb.sh: dist/libmorsel-dev_VERSION_ARCH.deb and dist/morsel_VERSION_ARCH.deb, of the sources that `make dist` packs, by Debian's own
# tools: debhelper, dpkg-dev. `make deb` calls it.
cd "$(dirname "$0")/../.." || exit 1
for needed in dpkg-buildpackage dh; do
    command -v $needed >/dev/null || { echo "deb: there is no $needed: apt-get install debhelper dpkg-dev" >&2; exit 1; }
done
unset MAKEFLAGS MAKELEVEL MFLAGS
version=$(sed -n 's/^#define MORSEL_VERSION "\(.*\)"/\1/p' core/morsel.h)
tree=build/deb/morsel-$version
rm -rf build/deb && mkdir -p "$tree" dist || exit 1
sh tools/package/sources.sh "morsel-$version/" build/deb/sources.tar.gz && tar -xzf build/deb/sources.tar.gz -C build/deb || exit 1
if [ -e .git ]; then date=$(git log -1 --format=%cD); else date=$(date -R -r NEWS.md); fi
cp -r "$tree/tools/package/debian" "$tree/debian"
{
    echo "morsel ($version) unstable; urgency=medium"
    echo
    echo "  * See /usr/share/doc/morsel/NEWS.md.gz."
    echo
    echo " -- $(sed -n 's/^Maintainer: //p' "$tree/debian/control")  $date"
} >"$tree/debian/changelog"
awk 'NR == FNR { if (/^Copyright/) holder = substr($0, index($0, ")") + 2)
        else if (started || /^Permission/) { started = 1; text = text ($0 == "" ? " .\n" : " " $0 "\n") } next }
    /@licence@/ { printf "%s", text; next } { sub("@holder@", holder); print }' LICENSE tools/package/debian/copyright >"$tree/debian/copyright"
for package in morsel libmorsel-dev; do echo NEWS.md >"$tree/debian/$package.docs"; done
(cd "$tree" && dpkg-buildpackage -us -uc -b -j"${JOBS:-2}") >build/deb/log 2>&1 || { tail -n 20 build/deb/log >&2; exit 1; }
rm -f dist/*.deb
cp build/deb/*.deb dist/ && ls dist/*.deb
