/* model_panels.c — tensor by tensor, the same one in another file. */
#include "model/model_panels.h"

#include <stdlib.h>
#include <string.h>

bool model_lacks_panels(const model *m) {
    bool has_some = false, lacks_some = false;
    for (uint32_t i = 0; i < m->n_tensors; i++) {
        const model_tensor *t = &m->tensors[i];
        has_some = has_some || t->is_in_panels;
        lacks_some = lacks_some || (t->rank == 2 && blk_panel_find(t->type) != BLK_NO_PANELS);
    }
    return lacks_some && !has_some;
}

/* Where the tensor began in what the container was made of. */
static uint64_t source_offset(const model *m, const model_tensor *t) {
    return m->format == MODEL_GGUF ? m->gguf.tensors[t->index].offset : p64_get_tensor(&m->p64, t->index).source_offset;
}

static bool is_same(const model *m, const model_tensor *t, const p64_tensor *other) {
    const uint32_t type = blk_panel_of_dtype(other->dtype) != BLK_NO_PANELS ? other->dtype - BLK_PANEL_DTYPE : other->dtype;
    bool is_equal = t->type == type && t->rank == other->rank && source_offset(m, t) == other->source_offset;
    for (uint32_t k = 0; k < 4; k++) {
        is_equal = is_equal && t->dims[k] == other->dims[k];
    }
    return is_equal;
}

static qn_status find_same(const model *m, const model *panels, const model_tensor *t, p64_tensor *out, error_context *err) {
    if (!p64_find_name(&panels->p64, t->name.data, t->name.size, out) || !is_same(m, t, out)) {
        return FAIL(err, QN_BAD_FILE, "%s: has not the tensor %.*s of %s", panels->file.path,
                    (int)(t->name.size < 256 ? t->name.size : 256), t->name.data, m->file.path);
    }
    return QN_OK;
}

static void take_tensor(const model *panels, const p64_tensor *from, model_tensor *t) {
    t->is_in_panels = blk_panel_of_dtype(from->dtype) != BLK_NO_PANELS;
    t->data = from->blob.data;
    t->bytes = from->blob.size;
    t->at = from->blob_offset;
    t->file = &panels->file;
}

qn_status model_take_panels(model *m, model *panels, error_context *err) {
    p64_tensor from;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < m->n_tensors; i++) {
        if (m->tensors[i].index != MODEL_NO_INDEX) {
            QN_TRY(find_same(m, panels, &m->tensors[i], &from, err), err, "taking the weights from panels");
        }
    }
    for (uint32_t i = 0; i < m->n_tensors; i++) {
        if (m->tensors[i].index != MODEL_NO_INDEX) {
            (void)find_same(m, panels, &m->tensors[i], &from, NULL);
            take_tensor(panels, &from, &m->tensors[i]);
        }
        bytes += m->tensors[i].bytes;
    }
    m->weight_bytes = bytes;
    m->panels = panels;
    return QN_OK;
}
