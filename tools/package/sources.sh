#!/bin/sh
# SPDX-License-Identifier: MIT
# sources.sh PREFIX/ FILE.tar.gz: an archive of the sources below PREFIX: the committed ones, or those that lie here where there is no git
# checkout, as in what such an archive held. FILE appears whole or not at all.
cd "$(dirname "$0")/../.." || exit 1
prefix=${1:?sources.sh PREFIX/ FILE} file=${2:?sources.sh PREFIX/ FILE}
if [ -e .git ]; then
    command -v git >/dev/null || { echo "sources: this is a checkout of git, which is not installed" >&2; exit 1; }
    git archive --format=tar.gz --prefix="$prefix" -o "$file.part" HEAD
else
    tar -czf "$file.part" --exclude=./build --exclude=./dist --exclude=./out --exclude='*.o' --transform "s|^\./|$prefix|S" \
        --owner=0 --group=0 --numeric-owner .
fi || { rm -f "$file.part"; echo "sources: there is no $file" >&2; exit 1; }
mv "$file.part" "$file"
