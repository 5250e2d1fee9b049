#!/bin/sh
# SPDX-License-Identifier: MIT
# deps.sh PACKAGE...: installs the Debian packages that are missing, or prints the line that does and fails.
if ! command -v dpkg-query >/dev/null 2>&1; then
    echo "This system has no dpkg; what these Debian packages hold is needed: $*" >&2
    exit 0
fi
missing=
for package in "$@"; do
    dpkg-query -W -f '${Status}\n' "$package" 2>/dev/null | grep -q '^install ok installed' || missing="$missing $package"
done
[ -n "$missing" ] || exit 0
line="apt-get install -y --no-install-recommends$missing"
if [ "$(id -u)" = 0 ]; then
    sudo=
elif sudo -n true 2>/dev/null; then
    sudo="sudo -n"
else
    echo "Packages are missing. This installs them: sudo apt-get update && sudo $line" >&2
    exit 1
fi
echo "Installing:$missing"
# shellcheck disable=SC2086
$sudo apt-get update -qq && $sudo env DEBIAN_FRONTEND=noninteractive $line >/dev/null || {
    echo "That failed. The line was: $sudo $line" >&2
    exit 1
}
