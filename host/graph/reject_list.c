/* reject_list.c — chunks of text in turn. */
#include "graph/reject_list.h"

#include <stdio.h>
#include <string.h>

#include "graph/model_helper.h"

qn_status reject_list_open(reject_list *list, const char *path, bool is_forced, error_context *err) {
    fmt_diag diag;
    *list = (reject_list){.file = {.fd = -1}};
    pthread_mutex_init(&list->lock, NULL);
    pthread_cond_init(&list->turn, NULL);
    if (is_forced && model_helper_refuse(path, err) != QN_OK) {
        return QN_BAD_INPUT;
    }
    const fmt_status status = atomic_file_create(&list->file, path, is_forced, 0, &diag);
    return error_from_diag(err, status, &diag, path);
}

void reject_list_begin(reject_list *list) {
    list->next_serial = 0;
}

bool reject_list_note(text_buffer *text, const char *input, const fmt_diag *diag, fmt_str line) {
    char head[512];
    const int size = snprintf(head, sizeof head, "# %.150s: %.340s\n", input, diag->text);
    return text_buffer_append(text, head, (size_t)size) && text_buffer_append(text, line.data, line.size) &&
           text_buffer_append(text, "\n", line.size > 0 ? 1 : 0);
}

qn_status reject_list_put(reject_list *list, uint64_t serial, const text_buffer *text, error_context *err) {
    fmt_diag diag = {.rule = "file"};
    fmt_status status = FMT_OK;
    pthread_mutex_lock(&list->lock);
    while (list->next_serial != serial && !list->is_ended) {
        pthread_cond_wait(&list->turn, &list->lock);
    }
    if (!list->is_ended && text->size > 0) {
        status = atomic_file_write(&list->file, list->end, text->text, text->size, &diag);
        list->end += text->size;
    }
    list->next_serial = serial + 1;
    pthread_cond_broadcast(&list->turn);
    pthread_mutex_unlock(&list->lock);
    return error_from_diag(err, status, &diag, list->file.path);
}

void reject_list_end(reject_list *list) {
    pthread_mutex_lock(&list->lock);
    list->is_ended = true;
    pthread_cond_broadcast(&list->turn);
    pthread_mutex_unlock(&list->lock);
}

qn_status reject_list_commit(reject_list *list, error_context *err) {
    fmt_diag diag = {.rule = "file"};
    return error_from_diag(err, atomic_file_commit(&list->file, &diag), &diag, list->file.path);
}

void reject_list_abort(reject_list *list) {
    atomic_file_abort(&list->file);
    pthread_cond_destroy(&list->turn);
    pthread_mutex_destroy(&list->lock);
}
