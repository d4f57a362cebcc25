#!/bin/sh
# check_newer.sh DUMP_KERNELS CLANG: kernels that use subgroups or products of bytes, which no driver here has, are at least OpenCL C that
# a compiler takes: one of each kind and two formats of weights, in the languages that drivers of such devices have.
set -eu
dump=$1
clang=$2
extensions=-cl-ext=+cl_khr_subgroups,+__opencl_c_subgroups,+cl_khr_integer_dot_product,+__opencl_c_integer_dot_product_input_4x8bit_packed
n=0
for name in $("$dump" names | grep -E '_(q4_k|q8_0|f16)$'); do
    case $name in
    *dot*) languages=CL3.0 ;;
    *) languages='CL2.0 CL3.0' ;;
    esac
    for language in $languages; do
        # shellcheck disable=SC2046 # options are words
        "$dump" source "$name" | "$clang" -target spir64 -x cl "-cl-std=$language" -Xclang -finclude-default-header "$extensions" \
            -Werror=implicit-function-declaration -fsyntax-only $("$dump" options "$name") - || {
            echo "$name is not $language" >&2
            exit 1
        }
        n=$((n + 1))
    done
done
echo "$n times a kernel and a language"
test "$n" -ge 12
