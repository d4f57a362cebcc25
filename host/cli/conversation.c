/* conversation.c — keeping turns. */
#include "cli/conversation.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/scrub.h"

#define SHOWN_BYTES 60u

qn_status conversation_add(conversation *talk, chat_role role, const char *text, size_t size, error_context *err) {
    if (talk->n_messages == talk->capacity) {
        const size_t capacity = talk->capacity * 2 + 16;
        chat_message *grown = realloc(talk->messages, capacity * sizeof *grown);
        if (grown == NULL) {
            return FAIL(err, QN_NO_HOST_MEM, "out of memory for the conversation");
        }
        talk->messages = grown;
        talk->capacity = capacity;
    }
    char *copy = malloc(size + 1);
    if (copy == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "out of memory for a message of %zu bytes", size);
    }
    if (size > 0) {
        memcpy(copy, text, size);
    }
    copy[size] = '\0';
    talk->messages[talk->n_messages++] = (chat_message){role, copy, size};
    return QN_OK;
}

static void remove_at(conversation *talk, size_t at) {
    scrub_free((char *)(uintptr_t)talk->messages[at].text, talk->messages[at].size);
    memmove(talk->messages + at, talk->messages + at + 1, (talk->n_messages - at - 1) * sizeof *talk->messages);
    talk->n_messages--;
}

bool conversation_drop_oldest(conversation *talk, char *gone, size_t room) {
    const size_t first = talk->n_messages > 0 && talk->messages[0].role == CHAT_SYSTEM ? 1 : 0;
    if (talk->n_messages < first + 2) {
        return false;
    }
    const size_t size = talk->messages[first].size < room - 1 ? talk->messages[first].size : room - 1;
    memcpy(gone, talk->messages[first].text, size);
    gone[size] = '\0';
    remove_at(talk, first);
    while (talk->n_messages > first + 1 && talk->messages[first].role == CHAT_ASSISTANT) {
        remove_at(talk, first);
    }
    return true;
}

void conversation_clear(conversation *talk) {
    const size_t kept = talk->n_messages > 0 && talk->messages[0].role == CHAT_SYSTEM ? 1 : 0;
    while (talk->n_messages > kept) {
        conversation_pop(talk);
    }
}

void conversation_pop(conversation *talk) {
    if (talk->n_messages > 0) {
        remove_at(talk, talk->n_messages - 1);
    }
}

void conversation_free(conversation *talk) {
    while (talk->n_messages > 0) {
        conversation_pop(talk);
    }
    free(talk->messages);
    memset(talk, 0, sizeof *talk);
}

qn_status conversation_encode(conversation *talk, const chat_template *form, const tokenizer *tok, uint32_t n_ctx,
                              uint32_t reserve, token_list *out_ids, uint32_t *out_n_dropped, error_context *err) {
    *out_n_dropped = 0;
    for (;;) {
        char gone[SHOWN_BYTES];
        out_ids->count = 0;
        QN_TRY(chat_template_encode(form, tok, talk->messages, talk->n_messages, true, out_ids, err), err,
               "encoding the conversation");
        if (out_ids->count + reserve <= n_ctx) {
            return QN_OK;
        }
        if (!conversation_drop_oldest(talk, gone, sizeof gone)) {
            return out_ids->count < n_ctx ? QN_OK
                                          : FAIL(err, QN_LIMIT,
                                                 "the question alone has %zu tokens, the context %u positions; raise "
                                                 "--ctx or ask something shorter",
                                                 out_ids->count, n_ctx);
        }
        (*out_n_dropped)++;
        log_line(QN_LOG_INFO, "the context of %u positions is full: forgetting the turn \"%s\"", n_ctx, gone);
    }
}
