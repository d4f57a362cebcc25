/* standard_bytes.c — panels turned back, a tensor at a time. */
#include "convert/standard_bytes.h"

#include <stdlib.h>

#define NO_TENSOR UINT32_MAX

void standard_bytes_init(standard_bytes *s) {
    *s = (standard_bytes){.index = NO_TENSOR};
}

void standard_bytes_free(standard_bytes *s) {
    free(s->room);
    standard_bytes_init(s);
}

uint64_t standard_bytes_size(const p64_tensor *t) {
    const uint32_t kind = blk_panel_of_dtype(t->dtype);
    const uint64_t dims[4] = {t->dims[0], t->dims[1], t->dims[2], t->dims[3]};
    uint64_t bytes = t->blob.size;
    if (kind != BLK_NO_PANELS) {
        (void)blk_tensor_bytes(blk_panel_kinds[kind].type, t->rank, dims, &bytes); /* an opened file has panels that are sound */
    }
    return bytes;
}

static bool make_room(standard_bytes *s, uint64_t bytes) {
    if (bytes > s->capacity) {
        free(s->room);
        s->room = malloc((size_t)bytes);
        s->capacity = s->room != NULL ? bytes : 0;
    }
    return s->room != NULL;
}

const uint8_t *standard_bytes_of(standard_bytes *s, const p64_tensor *t) {
    blk_panels panels;
    if (!p64_tensor_panels(t, &panels)) {
        return t->blob.data;
    }
    if (s->index != t->index) {
        s->index = NO_TENSOR;
        if (!make_room(s, standard_bytes_size(t))) {
            return NULL;
        }
        blk_panels_unpack(&panels, 0, panels.n_panels, s->room);
        s->index = t->index;
    }
    return s->room;
}
