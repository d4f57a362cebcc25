#!/bin/sh
# validate_spirv.sh DUMP_SPIRV SPIRV_VAL — every embedded kernel is valid SPIR-V for Vulkan 1.1.
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
"$1" "$folder" || exit 1
failed=0
for kernel in "$folder"/*.spv; do
    "$2" --target-env vulkan1.1 "$kernel" || { echo "$(basename "$kernel") is not valid"; failed=1; }
done
echo "$(ls "$folder" | wc -l) kernels"
exit $failed
