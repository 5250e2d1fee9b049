#!/bin/sh
# SPDX-License-Identifier: MIT
# cmake_cases.sh: what projects of others ask of CMakeLists.txt and of the installed package beyond building and linking, which cmake.sh tries.
# Each is a project of a few lines. MORSEL is the tool, CC the compiler.
# Prints "ok NAME", "FAIL NAME" or "skip NAME: why"; exit status 1 after a failure.
cd "$(dirname "$0")/../.." || exit 1
source=$PWD work=$PWD/build/package/cmake_cases compiler=${CC:-cc}
morsel=$PWD/${MORSEL:-build/morsel} model=$PWD/models/cifar10/network.onnx
unset MAKEFLAGS MAKELEVEL MFLAGS
status=0
command -v cmake >/dev/null || { echo "skip cmake_cases: not installed"; exit 0; }
rm -rf "$work" && mkdir -p "$work" || exit 1
ok() { echo "ok cmake_cases $1"; }
fail() { echo "FAIL cmake_cases $1"; tail -n 10 "$work/log" | sed 's/^/    /'; status=1; }
project() { # NAME LANGUAGE: standard input is what comes after project()
    mkdir -p "$work/$1" && { printf 'cmake_minimum_required(VERSION 3.18)\nproject(p %s)\n' "$2"; cat; } >"$work/$1/CMakeLists.txt"
}
configure() { # NAME OPTIONS...: in plain C without optimization, as what it answers is not looked at
    name=$1
    shift
    cmake -S "$work/$name" -B "$work/$name/build" -DCMAKE_C_COMPILER="$compiler" -DCMAKE_BUILD_TYPE=Debug -DMORSEL_PLAIN_C=ON \
        -DCMAKE_INSTALL_PREFIX="$work/$name/installed" -DCMAKE_INSTALL_LIBDIR=lib -DSOURCE="$source" -DMODEL="$model" "$@" >"$work/log" 2>&1
}
built() { cmake --build "$work/$1/build" -j "${JOBS:-2}" >>"$work/log" 2>&1; }

# A library that is exported, and its user, who finds both.
project mine C <<'END'
add_subdirectory(${SOURCE} morsel)
add_library(mine STATIC mine.c)
target_link_libraries(mine PUBLIC morsel::morsel)
install(TARGETS mine EXPORT mine)
install(EXPORT mine NAMESPACE mine:: FILE mineConfig.cmake DESTINATION lib/cmake/mine)
export(EXPORT mine NAMESPACE mine:: FILE mineTargets.cmake)
END
project user C <<'END'
find_package(morsel REQUIRED)
find_package(mine REQUIRED)
add_executable(user user.c)
target_link_libraries(user mine::mine)
END
printf '#include "morsel.h"\nconst char *mine(void);\nconst char *mine(void)\n{\n    return morsel_version();\n}\n' >"$work/mine/mine.c"
printf 'const char *mine(void);\nint main(void)\n{\n    return !mine();\n}\n' >"$work/user/user.c"
if configure mine && built mine && cmake --install "$work/mine/build" >>"$work/log" 2>&1 &&
    configure user -DCMAKE_PREFIX_PATH="$work/mine/installed" && built user && "$work/user/build/user" >>"$work/log" 2>&1
then ok "a library that uses it is exported"
else fail "a library that uses it is exported"; fi
if sh tests/package/versions.sh "$work/mine/installed" >"$work/log" 2>&1; then ok "versions"; else fail "versions"; fi

# Several files of a project are one to the compiler; those of the library are not.
project unity C <<'END'
add_subdirectory(${SOURCE} morsel)
add_executable(app ${SOURCE}/tests/consumers/static_arena.c other.c)
target_compile_definitions(app PRIVATE NETWORK="one.h")
target_link_libraries(app morsel::morsel)
morsel_add_model(app ${MODEL} NAME one ONLY_USED)
morsel_add_model(app ${MODEL} NAME two ONLY_USED)
END
echo 'extern const int other;' >"$work/unity/other.c"
if configure unity -DCMAKE_UNITY_BUILD=ON -DMORSEL_EXECUTABLE="$morsel" && built unity && "$work/unity/build/app" >"$work/log" 2>&1
then ok "unity build"
else fail "unity build"; fi

# Instruction sets: blanks part them, too, and what is none is refused with the names of all.
project isa C <<'END'
add_subdirectory(${SOURCE} morsel)
get_target_property(definitions morsel COMPILE_DEFINITIONS)
message(STATUS "definitions: ${definitions};")
foreach(room arm64 x86)
  get_source_file_property(definitions ${SOURCE}/${room}/table.c TARGET_DIRECTORY morsel COMPILE_DEFINITIONS)
  message(STATUS "table: ${definitions};")
endforeach()
END
isa() { # LIST WHAT: it stands in what CMake says
    configure isa -DMORSEL_PLAIN_C=OFF -DMORSEL_ISA="$1"
    if grep -q "$2" "$work/log"; then ok "MORSEL_ISA=\"$1\""; else fail "MORSEL_ISA=\"$1\""; fi
}
both='MORSEL_ISA=MORSEL_HAS_AVX2+MORSEL_HAS_AVXVNNI;'
isa "avx2;avxvnni" "$both"
isa "avx2 avxvnni" "$both"
isa " c avx2 avxvnni" "$both"
isa "c" "BOOL:ON>:MORSEL_PLAIN_C>;$"
isa "avx2;foo" 'no kernels for foo: MORSEL_ISA is some of'
isa "AVX2" "MORSEL_ISA=MORSEL_HAS_AVX2;"
isa "none" "some of c neon dotprod i8mm"

# A project of C++ is told to name C, too; then it has its network.
plus() { # NAME: standard input says where the library comes from
    { printf 'if(C)\n  enable_language(C)\nendif()\n'; cat; cat <<'END'; } | project "$1" CXX
add_executable(app app.cc)
target_compile_definitions(app PRIVATE NETWORK="model.h")
target_link_libraries(app morsel::morsel)
morsel_add_model(app ${MODEL} NAME model)
END
    cp tests/consumers/static_arena.c "$work/$1/app.cc"
    set -- "$1" -DMORSEL_EXECUTABLE="$morsel" -DCMAKE_PREFIX_PATH="$work/mine/installed"
    if ! configure "$@" && tr -s ' \n' ' ' <"$work/log" | grep -q 'Name C in project()' && configure "$@" -DC=ON && built "$1" &&
        "$work/$1/build/app" >"$work/log" 2>&1; then ok "C++ alone, $1"
    else fail "C++ alone, $1"; fi
}
if command -v c++ >/dev/null; then
    echo 'find_package(morsel REQUIRED)' | plus find_package
    # shellcheck disable=SC2016
    echo 'add_subdirectory(${SOURCE} morsel)' | plus add_subdirectory
else echo "skip cmake_cases C++ alone: no c++"; fi

# A kit's options stand in the environment, and none of them reaches the tool. A stand-in for make says what came.
project kit C <<'END'
set(CMAKE_CROSSCOMPILING ON)
add_subdirectory(${SOURCE} morsel)
END
mkdir "$work/stand-in"
cat >"$work/stand-in/make" <<END
#!/bin/sh
{ for word in "\$@"; do echo "\$word"; done; env | grep ^PKG_CONFIG; } >"$work/made.txt"
END
chmod +x "$work/stand-in/make"
kit=-mcpu=cortex-a53
export PKG_CONFIG_PATH="$work" PKG_CONFIG_LIBDIR="$work" PKG_CONFIG_SYSROOT_DIR="$work"
configure kit && (CFLAGS=$kit CPPFLAGS=$kit LDFLAGS=$kit AR=/no/ar PATH=$work/stand-in:$PATH \
    cmake --build "$work/kit/build" --target morsel-tool) >>"$work/log" 2>&1
unset PKG_CONFIG_PATH PKG_CONFIG_LIBDIR PKG_CONFIG_SYSROOT_DIR
if [ "$(grep -cxE 'CROSS=|CC=cc|CFLAGS=|CPPFLAGS=|LDFLAGS=|AR=ar' "$work/made.txt")" = 6 ] && ! grep -q PKG_CONFIG "$work/made.txt"
then ok "a kit's environment"
else cp "$work/made.txt" "$work/log"; fail "a kit's environment"; fi

# make has no blanks in its targets' names. With a tool that is there they may stand everywhere.
project "b lank" C <<'END'
add_subdirectory(${SOURCE} morsel)
add_executable(app ${SOURCE}/tests/consumers/static_arena.c)
target_compile_definitions(app PRIVATE NETWORK="one.h")
target_link_libraries(app morsel::morsel)
morsel_add_model(app ${MODEL} NAME one)
END
if ! configure "b lank" && tr -s ' \n' ' ' <"$work/log" | grep -q 'make cannot build the tool in .* or a tool that is there' &&
    cp "$morsel" "$work/b lank/morsel" && configure "b lank" -DMORSEL_EXECUTABLE="$work/b lank/morsel" && built "b lank" &&
    "$work/b lank/build/app" >"$work/log" 2>&1; then ok "blanks in the build folder"
else fail "blanks in the build folder"; fi

# Cross builds, of which only the configuration is looked at: what make installed, outside the kit's root and within it. A program beside the
# library that does not run here is the other machine's.
project cross C <<'END'
set(CMAKE_CROSSCOMPILING ON)
set(CMAKE_FIND_ROOT_PATH ${ROOT})
foreach(kind LIBRARY INCLUDE)
  set(CMAKE_FIND_ROOT_PATH_MODE_${kind} ONLY)
endforeach()
find_package(morsel)
message(STATUS "found: ${morsel_FOUND}, tool: ${MORSEL_EXECUTABLE};")
END
root=$work/root
"${MAKE:-make}" -s CROSS= install PREFIX="$root/usr" DESTDIR= >"$work/log" 2>&1 || fail "make install"
mkdir "$work/empty" "$work/path" && cp "$morsel" "$work/path/morsel"
cross() { # NAME WHAT OPTIONS...: WHAT CMake says
    case=$1 what=$2
    shift 2
    rm -rf "$work/cross/build"
    configure cross "$@"
    if grep -q "found: $what;\$" "$work/log"; then ok "cross build, $case"; else fail "cross build, $case"; fi
}
cross "outside its root" "1, tool: $root/usr/bin/morsel" -DROOT="$work/empty" -Dmorsel_DIR="$root/usr/lib/cmake/morsel"
printf '\177ELF' >"$root/usr/bin/morsel"
cross "no tool for this machine" "1, tool: MORSEL_EXECUTABLE-NOTFOUND" -DROOT="$root" -DCMAKE_PREFIX_PATH="$root/usr"
before=$PATH PATH=$work/path:$PATH
cross "this machine's tool" "1, tool: $work/path/morsel" -DROOT="$root" -DCMAKE_PREFIX_PATH="$root/usr"
PATH=$before
cross "a tool that is named" "1, tool: /a/tool" -DROOT="$root" -DCMAKE_PREFIX_PATH="$root/usr" -DMORSEL_EXECUTABLE=/a/tool
exit $status
