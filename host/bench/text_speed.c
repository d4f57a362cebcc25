/* text_speed.c — encoding and decoding by the clock. */
#include "bench/text_speed.h"

#include <stdlib.h>

#include "base/clock.h"

#define LEAST_SECONDS 0.1
#define LEAST_RUNS 3u

static qn_status time_encode(const tokenizer *tok, const char *text, size_t size, token_list *ids, double *out_best,
                             error_context *err) {
    const double first = clock_seconds();
    *out_best = 0.0;
    for (uint32_t run = 0; run < LEAST_RUNS || clock_seconds() - first < LEAST_SECONDS; run++) {
        ids->count = 0;
        const double begin = clock_seconds();
        QN_TRY(tokenizer_encode(tok, text, size, 0, ids, err), err, "encoding the text");
        const double seconds = clock_seconds() - begin;
        *out_best = *out_best == 0.0 || seconds < *out_best ? seconds : *out_best;
    }
    return QN_OK;
}

static double time_decode(const tokenizer *tok, const token_list *ids, char *room, size_t room_size) {
    const double first = clock_seconds();
    double best = 0.0;
    for (uint32_t run = 0; run < LEAST_RUNS || clock_seconds() - first < LEAST_SECONDS; run++) {
        detokenizer d;
        detokenizer_init(&d, tok, false, true);
        const double begin = clock_seconds();
        for (size_t i = 0; i < ids->count; i++) {
            detokenizer_push(&d, ids->ids[i], room, room_size);
        }
        const double seconds = clock_seconds() - begin;
        best = best == 0.0 || seconds < best ? seconds : best;
    }
    return best;
}

static qn_status measure_both(const tokenizer *tok, const char *text, size_t size, token_list *ids, char *room, text_speed *out,
                              error_context *err) {
    double seconds;
    QN_TRY(time_encode(tok, text, size, ids, &seconds, err), err, "measuring the tokenizer");
    out->bytes = size;
    out->tokens = ids->count;
    out->encode_bytes_per_s = seconds > 0.0 ? (double)size / seconds : 0.0;
    out->decode_us = ids->count > 0 ? 1e6 * time_decode(tok, ids, room, detokenizer_room(tok)) / (double)ids->count : 0.0;
    return QN_OK;
}

qn_status text_speed_measure(const tokenizer *tok, const char *text, size_t size, text_speed *out, error_context *err) {
    token_list ids = {0};
    char *room = malloc(detokenizer_room(tok));
    *out = (text_speed){.bytes = 0};
    const qn_status status = room == NULL ? FAIL(err, QN_NO_HOST_MEM, "out of memory for a token's text")
                                          : measure_both(tok, text, size, &ids, room, out, err);
    token_list_free(&ids);
    free(room);
    return status;
}
