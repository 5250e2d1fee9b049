#!/bin/sh
# SPDX-License-Identifier: MIT
# bundle.sh FOLDER: the library as one file with what package managers and build systems ask for, so that the folder is a component as it
# stands. The manifests are those of bundle/, with this version. FOLDER appears whole or not at all; what was there before is removed.
cd "$(dirname "$0")/../.." || exit 1
folder=${1:?bundle.sh FOLDER}
version=$(sed -n 's/^#define MORSEL_VERSION "\(.*\)"/\1/p' core/morsel.h)
part=$folder.part
rm -rf "$part" && mkdir -p "$part" || exit 1
python3 tools/package/amalgamate.py "$part/src" >/dev/null || exit 1
(cd tools/package/bundle && find . -type f) | while read -r file; do
    mkdir -p "$part/$(dirname "$file")" &&
        sed -e "s/@version@/$version/g" -e "s/@soversion@/${version%.*}/g" "tools/package/bundle/$file" >"$part/$file" || exit 1
done || exit 1
mkdir "$part/cmake" && cp tools/package/cmake/morselConfigVersion.cmake "$part/cmake/" && cp LICENSE "$part/" &&
    mv "$part/module.modulemap" "$part/src/" && rm -rf "$folder" && mv "$part" "$folder" && echo "$folder: Morsel $version"
