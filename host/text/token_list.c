/* token_list.c — a growing list of ids. They are what a user said: no copy is left when the list moves or goes. */
#include <stdlib.h>
#include <string.h>

#include "base/scrub.h"
#include "text/tokenizer.h"

void token_list_free(token_list *list) {
    scrub_free(list->ids, list->capacity * sizeof *list->ids);
    *list = (token_list){0};
}

static qn_status reserve(token_list *list, size_t n_more, error_context *err) {
    if (n_more <= list->capacity - list->count) {
        return QN_OK;
    }
    const size_t capacity = (list->count + n_more) * 2 + 64;
    uint32_t *ids = n_more < SIZE_MAX / 16 ? scrub_grow(list->ids, list->count * sizeof *ids, capacity * sizeof *ids) : NULL;
    if (ids == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "no memory for %zu token ids", capacity);
    }
    list->ids = ids;
    list->capacity = capacity;
    return QN_OK;
}

qn_status token_list_push(token_list *list, uint32_t id, error_context *err) {
    const qn_status status = reserve(list, 1, err);
    if (status >= 0) {
        list->ids[list->count++] = id;
    }
    return status;
}

qn_status token_list_append(token_list *list, const uint32_t *ids, size_t count, error_context *err) {
    /* `ids` may lie in the list itself, which moves when it grows */
    const bool is_own = list->ids != NULL && ids >= list->ids && ids < list->ids + list->count;
    const size_t own_at = is_own ? (size_t)(ids - list->ids) : 0;
    const qn_status status = reserve(list, count, err);
    if (status >= 0 && count > 0) {
        memcpy(list->ids + list->count, is_own ? list->ids + own_at : ids, count * sizeof *ids);
        list->count += count;
    }
    return status;
}
