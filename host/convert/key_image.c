/* key_image.c — the keys of a model folder as a GGUF file in memory. */
#include "convert/key_image.h"

#include <stdlib.h>

#include "convert/hf_config.h"
#include "convert/hf_tokenizer.h"

static qn_status translate(const hf_folder *folder, key_list *list, key_image *image, error_context *err) {
    uint32_t n_vocab = 0;
    QN_TRY(hf_translate_config(folder, list, &n_vocab, err), err, "translating config.json");
    QN_TRY(hf_translate_tokenizer(folder, n_vocab, list, err), err, "translating the tokenizer");
    return key_list_write(list, &image->bytes, &image->scratch, &image->file, err);
}

qn_status key_image_from_folder(const hf_folder *folder, key_image *out_image, error_context *err) {
    key_image image = {.rope_type = "half",
                       .dims_order = "rowmajor",
                       .source_format = "safetensors",
                       .source_name = folder->source_name,
                       .holds_tokenizer = true};
    const char *arch = NULL;
    key_list list;
    if (folder->config.root == NULL) {
        return FAIL(err, QN_NOT_FOUND, "%s: there is no config.json: nothing says what model these weights are",
                    folder->path);
    }
    QN_TRY(hf_find_arch(folder, &arch, err), err, "translating config.json");
    key_list_init(&list, arch);
    qn_status status = translate(folder, &list, &image, err);
    key_list_free(&list);
    if (status == QN_OK) {
        status = hf_folder_digest(folder, image.source_sha256, err);
    }
    if (status < 0) {
        key_image_free(&image);
        return status;
    }
    *out_image = image;
    return QN_OK;
}

void key_image_free(key_image *image) {
    free(image->bytes);
    free(image->scratch);
    *image = (key_image){.bytes = NULL};
}
