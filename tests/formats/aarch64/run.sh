#!/bin/sh
# Builds the tests of formats/common, formats/blocks and formats/ntriples for aarch64 with a cross compiler and runs them
# in user emulation: the ARMv8 path of CRC-32C is checked, every decoder and encoder gives the same bits there, and texts
# are scanned without vectors of x86.
# Usage: run.sh COMPILER EMULATOR SOURCE_DIR WORK_DIR
# Exit: 0 all passed, 1 a test failed, 77 compiler or emulator is not installed.
cc=$1 emulator=$2 source=$3 work=$4
case "$cc$emulator" in
*NOTFOUND*)
    echo "skipped: needs aarch64-linux-gnu-gcc and qemu-aarch64 (packages gcc-aarch64-linux-gnu, qemu-user)"
    exit 77 ;;
esac
set -e
mkdir -p "$work"
flags="-std=c11 -O2 -static -ffp-contract=off -D_POSIX_C_SOURCE=200809L -I$source/formats -I$source/formats/include
       -I$source/tests/support -I$source/tests/formats/aarch64 -I$source/tests/formats/blocks
       -I$source/tests/formats/ntriples"

compile() { # OUTPUT SOURCE FLAGS...
    output=$1 input=$2
    shift 2
    # shellcheck disable=SC2086 -- the flags are words
    "$cc" $flags "$@" -c -o "$work/$output" "$input"
}

objects=
for name in crc32c crc32c_cpu crc32c_table diag fnv utf8; do
    compile "$name.o" "$source/formats/common/$name.c"
    objects="$objects $work/$name.o"
done
compile crc32c_armv8.o "$source/formats/common/crc32c_armv8.c" -march=armv8-a+crc
objects="$objects $work/crc32c_armv8.o"
compile cpu_x86.o "$source/formats/common/cpu_x86.c"
objects="$objects $work/cpu_x86.o"
for input in "$source"/formats/blocks/*.c "$source"/formats/ntriples/*.c "$source/tests/support/corpus.c" \
             "$source/tests/formats/blocks/golden.c" "$source/tests/formats/ntriples/nt_fixture.c"; do
    name=$(basename "$input" .c)
    case $name in *_avx2 | *_avx512) continue ;; esac
    compile "$name.o" "$input"
    objects="$objects $work/$name.o"
done

for input in "$source"/tests/formats/blocks/test_*.c "$source/tests/formats/common/test_crc32c.c" \
             "$source/tests/formats/common/test_fnv.c" "$source/tests/formats/ntriples/test_ntr_parse.c" \
             "$source/tests/formats/ntriples/test_ntr_terms.c" "$source/tests/formats/ntriples/test_ntr_make.c" \
             "$source/tests/formats/ntriples/test_ntr_inline.c"; do
    name=$(basename "$input" .c)
    # shellcheck disable=SC2086
    "$cc" $flags -o "$work/$name" "$input" $objects -lm
    echo "== $name"
    "$emulator" "$work/$name"
done
