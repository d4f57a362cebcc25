#!/bin/sh
# check_newer.sh DUMP_KERNELS CLANG: kernels that use subgroups or products of bytes, which no driver here has, are at least OpenCL C that
# a compiler takes: one of each kind and of three formats of weights, in the languages that drivers of such devices have.
set -eu
dump=$1
clang=$2
extensions=-cl-ext=+cl_khr_subgroups,+__opencl_c_subgroups,+cl_khr_integer_dot_product,+__opencl_c_integer_dot_product_input_4x8bit_packed
compile() {
    "$clang" -target spir64 -x cl -Xclang -finclude-default-header -Xclang "$extensions" -Werror=implicit-function-declaration -fsyntax-only "$@" -
}
echo 'int f(uint a) { return dot_4x8packed_ss_int(a, a); }' | compile -cl-std=CL3.0 >/dev/null 2>&1 || {
    echo 'skipped: clang does not know cl_khr_integer_dot_product (14 and later do)'
    exit 77
}
n=0
for name in $("$dump" names | grep -E '_(q4_k|q8_0|f16)$'); do
    case $name in
    *dot*) languages=CL3.0 ;;
    *) languages='CL2.0 CL3.0' ;;
    esac
    for language in $languages; do
        # shellcheck disable=SC2046 # options are words
        "$dump" source "$name" | compile "-cl-std=$language" $("$dump" options "$name") || {
            echo "$name is not $language" >&2
            exit 1
        }
        n=$((n + 1))
    done
done
echo "$n times a kernel and a language"
test "$n" -ge 12
