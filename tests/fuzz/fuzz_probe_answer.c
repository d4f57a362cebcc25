/* fuzz_probe_answer.c — answers of probes and the cache of them, on any bytes. What is taken can be written and taken again. */
#include <stdlib.h>
#include <string.h>

#include "backends/probe_cache.h"

#define REQUIRE(condition) \
    do { \
        if (!(condition)) { \
            abort(); \
        } \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static probe_answer answer, again; /* large */

static void write_and_read(void) {
    text_buffer text = {0};
    REQUIRE(probe_answer_write_begin(&text) && probe_answer_write_facts(&text, &answer) && probe_answer_write_end(&text));
    REQUIRE(probe_answer_read(text.text, text.size, &again));
    REQUIRE(again.n_devices == answer.n_devices && again.end.status == answer.end.status);
    text_buffer_free(&text);
}

static void look_into_cache(const uint8_t *data, size_t size) {
    probe_cache cache = {.boot = "boot"};
    uint64_t age;
    if (text_buffer_append(&cache.text, (const char *)data, size)) {
        (void)probe_cache_find(&cache, "0123456789abcdef", 1000, false, &answer, &age);
    }
    probe_cache_close(&cache);
}

/* The first line names this very build: it is put before the bytes, so that seeds do not age. */
static void read_answer(const uint8_t *data, size_t size) {
    text_buffer text = {0};
    if (probe_answer_write_begin(&text) && text_buffer_append(&text, (const char *)data, size) &&
        probe_answer_read(text.text, text.size, &answer)) {
        write_and_read();
    }
    text_buffer_free(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char stage[PROBE_STAGE_SIZE];
    read_answer(data, size);
    probe_answer_last_stage((const char *)data, size, stage);
    REQUIRE(strlen(stage) < sizeof stage);
    look_into_cache(data, size);
    return 0;
}
