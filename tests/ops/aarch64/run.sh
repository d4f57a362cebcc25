#!/bin/sh
# Builds the cpu plugin and the op tests for AArch64 with a cross compiler and runs them in user emulation at one level.
# Usage: run.sh COMPILER EMULATOR SOURCE_DIR WORK_DIR LEVEL CLASS FILTER
# Exit: 0 all passed, 1 a test failed, 77 compiler or emulator is not installed.
cc=$1 emulator=$2 source=$3 work=$4 level=$5 class=$6 filter=$7
case "$cc$emulator" in
*NOTFOUND*)
    echo "skipped: needs aarch64-linux-gnu-gcc and qemu-aarch64 (packages gcc-aarch64-linux-gnu, qemu-user)"
    exit 77 ;;
esac
set -e
sysroot=/usr/aarch64-linux-gnu
cmake -S "$source/tests/ops/aarch64" -B "$work" -DCMAKE_TOOLCHAIN_FILE="$source/tests/ops/aarch64/toolchain.cmake" \
    -DCMAKE_C_COMPILER="$cc" -DCMAKE_BUILD_TYPE=RelWithDebInfo > /dev/null
cmake --build "$work" --parallel 2 > /dev/null
"$emulator" -L "$sysroot" "$work/test_ops" --plugin "$work/lib/quoin/plugins/cpu.quoin.so" --mask "$level" --numeric "$class" --filter "$filter"
