/* fuzz_key_list.c — lists of keys of any bytes. What is demanded: a refusal tells the line; every key that is accepted is found by its id, has a
 * name without blanks, and stands there once. */
#include <stdlib.h>
#include <string.h>

#include "keys/trusted_keys.h"

#define REQUIRE(condition) \
    do { \
        if (!(condition)) { \
            abort(); \
        } \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    trusted_keys keys = {0};
    error_context err = {0};
    char text[KEY_TEXT_SIZE];
    if (trusted_keys_parse((fmt_span){data, size}, "list", &keys, &err) < 0) {
        REQUIRE(strstr(error_text(&err), "list: line ") != NULL);
        return 0;
    }
    for (size_t i = 0; i < keys.n_items; i++) {
        public_key again;
        const trusted_key *one = &keys.items[i];
        REQUIRE(trusted_keys_find(&keys, one->key.id) == one);
        REQUIRE(strlen(one->name) > 0 && strpbrk(one->name, " \t\n") == NULL);
        REQUIRE(public_key_parse(public_key_text(&one->key, text), KEY_TEXT_SIZE - 1, &again, NULL) == QN_OK);
        REQUIRE(memcmp(&again, &one->key, sizeof again) == 0);
    }
    trusted_keys_free(&keys);
    return 0;
}
