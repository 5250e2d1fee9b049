#!/bin/sh
# SPDX-License-Identifier: MIT
# run.sh: the wheel with its extra for Ray, on a cluster of this machine. The packages, some hundred MB, go into build/ray-venv.
# Prints "ok NAME" or "FAIL NAME"; exit status 1 after a failure.
cd "$(dirname "$0")/../.." || exit 1
python=$PWD/build/ray-venv/bin/python
unset MAKEFLAGS MAKELEVEL MFLAGS MORSEL_CPU
wheel=$("${MAKE:-make}" -s QUIET=1 wheel | tail -n 1)
[ -f "$wheel" ] || { echo "FAIL ray: there is no wheel"; exit 1; }
mkdir -p build/test
{ [ -x "$python" ] || python3 -m venv build/ray-venv; } &&
    "$python" -m pip install --quiet --disable-pip-version-check -r tests/ray/requirements.txt &&
    "$python" -m pip install --quiet --disable-pip-version-check --no-deps --force-reinstall "$wheel" || { echo "FAIL ray: packages"; exit 1; }
log=build/test/ray-cluster.log
RAY_USAGE_STATS_ENABLED=0 PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$PWD/tests/ray" "$python" tests/package/python/run.py tests/ray 2>"$log"
code=$?
[ $code -eq 0 ] || tail -n 15 "$log" | sed 's/^/    /'
exit $code
