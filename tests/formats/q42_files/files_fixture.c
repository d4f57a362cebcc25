/* files_fixture.c — hexadecimal text, refusals and notes for tests. */
#include "files_fixture.h"

#include <ctype.h>

size_t fixture_bytes(const char *hex, uint8_t *out, size_t room) {
    size_t size = 0;
    int high = -1;
    for (; *hex != '\0'; hex++) {
        if (isspace((unsigned char)*hex)) {
            continue;
        }
        const char *digit = strchr("0123456789abcdef", *hex);
        assert_non_null(digit);
        const int value = (int)(digit - "0123456789abcdef");
        if (high < 0) {
            high = value;
            continue;
        }
        assert_true(size < room);
        out[size++] = (uint8_t)(high << 4 | value);
        high = -1;
    }
    return size;
}

void assert_bytes(const void *data, uint64_t size, const char *hex) {
    static uint8_t wanted[8192];
    const size_t n_wanted = fixture_bytes(hex, wanted, sizeof wanted);
    assert_int_equal(size, n_wanted);
    assert_memory_equal(data, wanted, n_wanted);
}

void assert_refused(fmt_status status, const fmt_diag *diag, const char *rule, const char *words) {
    assert_int_equal(status, FMT_BAD_FILE);
    assert_string_equal(diag->rule, rule);
    if (strstr(diag->text, words) == NULL) {
        print_error("\"%s\" lacks \"%s\"\n", diag->text, words);
    }
    assert_non_null(strstr(diag->text, words));
}

void count_note(void *ctx, const fmt_diag *note) {
    note_count *count = ctx;
    count->n++;
    snprintf(count->last, sizeof count->last, "%s", note->rule);
}
