/* test_fnv.c — FNV-1a-64 and q_hash against the vectors of P64 section 20, V2. */
#include "common/fnv.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const struct {
    const char *text;
    uint64_t fnv;
} vectors[] = {
    {"", UINT64_C(0xcbf29ce484222325)},
    {"token_embd.weight", UINT64_C(0x2d85b88e70e67727)},
    {"output.weight", UINT64_C(0x6d1cf81ef83b28c6)},
    {"output_norm.weight", UINT64_C(0x6671513829038503)},
    {"blk.0.attn_q.weight", UINT64_C(0xb2d88a5454e26c3b)},
    {"blk.3.attn_q.weight", UINT64_C(0x738532e9dc2b547a)},
    {"blk.3.ffn_down.weight", UINT64_C(0x4951c05db048118a)},
    {"blk.0.attn_q_norm.weight", UINT64_C(0xa50e9c312247d384)},
    {"blk.0.attn_q.bias", UINT64_C(0xadab131b9e5be9e6)},
    {"rope_freqs.weight", UINT64_C(0x0fbc2aa2ac6d1ee1)},
    {"model.embed_tokens.weight", UINT64_C(0xa88fd795d5c6d156)},
    {"lm_head.weight", UINT64_C(0xab67eb515e1b6f0d)},
    {"model.layers.0.self_attn.q_proj.weight", UINT64_C(0x3a296639dc11febb)},
    {"q42:bosTokenId", UINT64_C(0xfea5fcfc214d34b4)},
    {"https://webizen.org/ns/qualia/model-helper/v1", UINT64_C(0x3097d66fff3d31ad)},
};

static void names_hash_as_the_vectors_say(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        assert_true(fnv1a64(vectors[i].text, strlen(vectors[i].text)) == vectors[i].fnv);
        assert_true(fnv_q_hash(vectors[i].text, strlen(vectors[i].text)) == (vectors[i].fnv & FNV_Q_MASK));
    }
}

static void empty_input_may_be_null(void **state) {
    (void)state;
    assert_true(fnv1a64(NULL, 0) == vectors[0].fnv);
}

static void bytes_above_127_and_zeros_count(void **state) {
    (void)state;
    /* By hand: (basis ^ 0xFF) * prime, then ^ 0 and * prime again. */
    const uint64_t prime = UINT64_C(0x100000001B3);
    assert_true(fnv1a64("\xFF\0", 2) == (vectors[0].fnv ^ 0xFF) * prime * prime);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_hash_as_the_vectors_say),
        cmocka_unit_test(empty_input_may_be_null),
        cmocka_unit_test(bytes_above_127_and_zeros_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
