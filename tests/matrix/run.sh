#!/bin/sh
# SPDX-License-Identifier: MIT
# run.sh [CONFIGURATION...]: builds the library, the tool and the tests by every compiler, optimization and sanitizer, and runs what can run
# there. A row a configuration: what ran, how much of it passed, failed and was skipped. `make matrix` calls it.
#   gcc-O0 .. clang-O3           the unit tests, the kernels' checker
#   i686-gcc-O2 ..               32 bits, plain C: the checker, the command line of the reduced tool
#   address-gcc, address-clang   ASan and UBSan: the unit tests, the checker, random networks in 1 to 8 tasks
#   undefined-clang              UBSan alone, at -O2: the checker, networks, the command line of the reduced tool
#   memory-clang                 MSan: what needs no library that is not instrumented. The checker, networks, damaged blobs, the command line
#   thread-gcc, thread-clang     TSan: the unit tests of threads, networks in a pool of threads with and without barrier
#   valgrind                     some unit tests and runs of the tool
# MAKE is make, JOBS configurations run at a time. Logs are below build/matrix. Exit status 1: a configuration does not build, or one of its
# tests failed.
cd "$(dirname "$0")/../.." || exit 1
work=build/matrix
export MAKE="${MAKE:-make}"
unset MAKEFLAGS MAKELEVEL MFLAGS MORSEL_CPU
all="gcc-O0 gcc-O1 gcc-O2 gcc-O3 clang-O0 clang-O1 clang-O2 clang-O3 i686-gcc-O0 i686-gcc-O2 i686-gcc-O3 i686-clang-O0 i686-clang-O2
    i686-clang-O3 address-gcc address-clang undefined-clang memory-clang thread-gcc thread-clang valgrind"

build() { # ARGUMENTS of make...
    if $MAKE -s QUIET=1 BUILD="$work/$name" "$@" >>"$work/$name.log" 2>&1; then return 0; fi
    echo "0 1 0" >"$results/build.count"
    broken=1
    return 1
}

# try NAME COMMAND...: a test program
try() {
    TALLY_GO_ON=1 sh tests/tally.sh "$results" "$@" >>"$work/$name.log" 2>&1
}

unit_tests() { # ARGUMENTS of make...
    build "$@" unit-programs || return
    TALLY_GO_ON=1 $MAKE -s QUIET=1 BUILD="$work/$name" RESULTS="$results" UNIT_NAME=unit "$@" unit-run >>"$work/$name.log" 2>&1
}

checker() { # ARGUMENTS of make...
    build "$@" kernels-program && try kernels "$work/$name/tests/check_kernels/check_kernels" --seed 1
}

answers() { # OPTION or "", ARGUMENTS of make...
    option=$1
    shift
    # shellcheck disable=SC2086
    build "$@" answers-program && try answers "$work/$name/tests/determinism/answers" $option --work 3000000 "$work"/networks/*.morsel
}

# The scripts for the reduced tool, with files that the full build made.
command_line() {
    build "$@" all || return
    for script in run bench eval $inspect; do
        try "cli-$script" env MORSEL="$work/$name/morsel" MAKE_FILES=build/tests/cli/make_files sh "tests/cli/$script.sh"
    done
}

under_valgrind() {
    for program in core/test_session core/test_model core/test_check core/test_check_sums core/test_picture core/test_quantize core/test_watch \
        network/test_network lower/test_view onnx/test_load onnx/test_write base/test_files samples/test_image quant/test_insert; do
        try "valgrind-$(basename $program)" $valgrind "build/tests/unit/$program"
    done
    try run $valgrind build/morsel run models/cifar10/network.morsel models/cifar10/pictures/cat.ppm
    try run-threads $valgrind build/morsel run models/cifar10/network.morsel models/cifar10/pictures/cat.ppm --threads 2
    try inspect $valgrind build/morsel inspect models/cifar10/network.morsel
    try convert $valgrind build/morsel convert models/cifar10/network.onnx -o $work/valgrind.morsel
    try quantize $valgrind build/morsel quantize tests/cli/float_small.onnx --data models/cifar10/pictures \
        --picture models/cifar10/picture.json -o $work/valgrind.morsel
}
valgrind="valgrind -q --error-exitcode=9 --leak-check=full --errors-for-leak-kinds=definite"

# Sets what, and runs it.
run_configuration() {
    compiler=${1#*-}
    inspect=inspect
    debug="-O1 -g -fno-omit-frame-pointer"
    case $1 in
    gcc-O? | clang-O?)
        what="unit tests, kernels"
        unit_tests CC="${1%-O?}" OPT="-${1#*-}" && checker CC="${1%-O?}" OPT="-${1#*-}"
        ;;
    i686-gcc-O?)
        what="kernels, command line"
        checker CROSS=i686-linux-gnu- OPT="-${1##*-}" && command_line CROSS=i686-linux-gnu- OPT="-${1##*-}"
        ;;
    i686-clang-O?)
        what="kernels, command line"
        set -- CROSS=i686-linux-gnu- CC="clang --target=i686-linux-gnu" OPT="-${1##*-}"
        checker "$@" && command_line "$@"
        ;;
    address-*)
        what="unit tests, kernels, networks"
        set -- CC="$compiler" OPT="$debug -fsanitize=address,undefined,float-cast-overflow -fno-sanitize-recover=all" STATIC=
        unit_tests "$@" && checker "$@" && answers "" "$@"
        ;;
    undefined-clang)
        what="kernels, networks, command line"
        set -- CC=clang OPT="-O2 -g -fsanitize=undefined,float-cast-overflow -fno-sanitize-recover=all" STATIC= REDUCED=1
        checker "$@" && answers "" "$@" && command_line "$@"
        ;;
    memory-clang)
        what="kernels, networks, damaged blobs, command line"
        inspect= # its pictures go through buffers of the C library, which does not say what it wrote there
        set -- CC=clang OPT="$debug -fsanitize=memory -fno-sanitize-recover=all" STATIC= REDUCED=1
        checker "$@" && answers "" "$@" && command_line "$@" && build "$@" "$work/$name/tests/fuzz/fuzz_open" &&
            try fuzz_open "$work/$name/tests/fuzz/fuzz_open" --runs 3000
        ;;
    thread-*)
        what="unit tests of threads, networks in threads"
        set -- CC="$compiler" OPT="-O1 -g -fsanitize=thread" STATIC=
        unit_tests "$@" UNIT_ONLY=%threads && answers --threads "$@"
        ;;
    valgrind)
        what="some unit tests, the tool"
        under_valgrind
        ;;
    *) what="no such configuration" broken=1 && echo "0 1 0" >"$results/build.count" ;;
    esac
}

if [ "$1" = --one ]; then
    name=$2 broken=
    results=$work/results/$name
    rm -rf "$results" && mkdir -p "$results" && : >"$work/$name.log"
    start=$(date +%s)
    run_configuration "$name"
    [ -z "$broken" ] || what="it does not build"
    cat "$results"/*.count | awk -v name="$name" -v what="$what" -v seconds=$(($(date +%s) - start)) '{ p += $1; f += $2; s += $3 }
        END { printf "%-18s %-52s %5d passed %3d failed %3d skipped %5d s\n", name, what, p, f, s, seconds; exit f > 0 || !p }' && exit
    grep -aE '^(not ok|FAIL)|error:|ERROR|WARNING: ' "$work/$name.log" | head -n 10 | sed 's/^/    /'
    exit 1
fi

mkdir -p $work/networks && rm -f $work/networks/*.morsel
build/tests/determinism/make_networks $work/networks 40 || exit 1
status=
# shellcheck disable=SC2086
printf '%s\n' ${*:-$all} | xargs -P "${JOBS:-2}" -L 1 sh tests/matrix/run.sh --one || status=1
[ -z "$status" ] && echo "every configuration passed"
exit ${status:-0}
