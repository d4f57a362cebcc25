/* size_text.c — digits and one letter. */
#include "cli/size_text.h"

#include <stdbool.h>
#include <string.h>

#include "common/checked.h"

/* Where the digits end; false when there are none or too many. */
static bool read_digits(const char **at, uint64_t *out_value) {
    uint64_t value = 0;
    const char *begin = *at;
    for (; **at >= '0' && **at <= '9'; ++*at) {
        if (!checked_mul(value, 10, &value) || !checked_add(value, (uint64_t)(**at - '0'), &value)) {
            return false;
        }
    }
    *out_value = value;
    return *at != begin;
}

static bool read_unit(const char *at, uint64_t *out_unit) {
    static const char letters[] = "kKmMgGtT";
    const char *letter = *at != 0 ? strchr(letters, *at) : NULL;
    *out_unit = 1;
    if (letter != NULL) {
        *out_unit = UINT64_C(1) << (10 * ((letter - letters) / 2 + 1));
        at++;
    }
    return strcmp(at, "") == 0 || strcmp(at, "B") == 0 || (letter != NULL && strcmp(at, "iB") == 0);
}

qn_status size_text_read(const char *option, const char *text, uint64_t *out_bytes, error_context *err) {
    const char *at = text;
    uint64_t value, unit;
    if (!read_digits(&at, &value) || !read_unit(at, &unit) || !checked_mul(value, unit, &value)) {
        return FAIL(err, QN_BAD_INPUT, "%s %s: is no size; write 4096, 512K, 256M or 2G", option, text);
    }
    *out_bytes = value;
    return QN_OK;
}
