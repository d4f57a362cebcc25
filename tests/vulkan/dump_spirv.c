/* dump_spirv.c FOLDER — writes every embedded kernel as NAME.spv, for spirv-val. */
#include <stdio.h>
#include <string.h>

#include "vk_driver.h"

int main(int argc, char **argv) {
    for (uint32_t i = 0; i < vk_spirv_count; i++) {
        char path[4096];
        const vk_spirv *const spirv = &vk_spirv_table[i];
        if (argc < 2 || snprintf(path, sizeof path, "%s/%s.spv", argv[1], spirv->name) >= (int)sizeof path) {
            fprintf(stderr, "usage: dump_spirv FOLDER\n");
            return 2;
        }
        FILE *const file = fopen(path, "wb");
        if (file == NULL || fwrite(spirv->words, 1, spirv->bytes, file) != spirv->bytes || fclose(file) != 0) {
            fprintf(stderr, "%s cannot be written\n", path);
            return 1;
        }
    }
    return 0;
}
