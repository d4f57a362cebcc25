/* test_q42_canonical.c — the frozen volumes of make_canonical.py: each is read and passes every check, and the writer makes the same
 * bytes of what was read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <quoin/q42_files.h>

#include "common/sha.h"
#include "q42_fixture.h"
#include "q42_write_fixture.h"

static fmt_diag diag;

/* What each file must hold, known from how it was made. */
typedef struct frozen {
    const char *name;
    uint64_t n_blocks, n_quins, n_entries; /* the mark is an entry */
    uint16_t flags;
} frozen;

static const frozen volumes[] = {
    {"canonical-single.q42", 1, 3, 7, 0x001b},   {"canonical-blocks.q42", 2, 900, 1353, 0x001b},
    {"canonical-commons.q42", 1, 3, 7, 0x003b},  {"canonical-sanctuary.q42", 1, 3, 7, 0x005b},
    {"surface-terms.q42", 1, 30, 23, 0x001b},    {"surface-blocks.q42", 2, 900, 1354, 0x001b},
    {"surface-graphs.q42", 1, 44, 47, 0x003b},   {"surface-sanctuary.q42", 1, 3, 8, 0x005b},
    {"surface-empty.q42", 0, 0, 1, 0x001b},
};
enum { N_VOLUMES = sizeof volumes / sizeof volumes[0] };

static uint8_t *open_volume(const char *name, size_t *size, q42_volume *volume) {
    uint8_t *bytes = read_vector(name, size);
    if (q42_open((fmt_span){bytes, *size}, FMT_MODE_STRICT, volume, NULL, NULL, &diag) != FMT_OK) {
        fail_msg("%s: %s", name, diag.text);
    }
    return bytes;
}

static void every_frozen_volume_passes_every_check(void **state) {
    (void)state;
    for (size_t i = 0; i < N_VOLUMES; i++) {
        size_t size;
        uint8_t *bytes = read_vector(volumes[i].name, &size);
        note_log notes;
        if (check_all((fmt_span){bytes, size}, FMT_MODE_STRICT, &notes, &diag) != FMT_OK) {
            fail_msg("%s: %s", volumes[i].name, diag.text);
        }
        assert_int_equal(notes.n, 0);
        free(bytes);
    }
}

static uint64_t count_quins(const q42_volume *volume) {
    static uint8_t room[Q42_BLOCK_BYTES];
    uint64_t n = 0;
    for (uint64_t i = 0; i < volume->header.block_count; i++) {
        q42_block block;
        assert_int_equal(q42_read_block(volume, i, Q42_CHECK_READ | Q42_CHECK_TAIL, room, &block, &diag), FMT_OK);
        n += block.n_quins;
    }
    return n;
}

static void each_holds_what_it_was_made_of(void **state) {
    (void)state;
    for (size_t i = 0; i < N_VOLUMES; i++) {
        size_t size;
        q42_volume volume;
        q42_term mark;
        uint8_t *bytes = open_volume(volumes[i].name, &size, &volume);
        assert_int_equal(volume.header.version, 3);
        assert_int_equal(volume.header.flags, volumes[i].flags);
        assert_int_equal(volume.header.block_count, volumes[i].n_blocks);
        assert_int_equal(count_quins(&volume), volumes[i].n_quins);
        assert_int_equal(volume.lexicon.n_entries, volumes[i].n_entries);
        assert_int_equal(volume.lexicon.form, Q42_LEXICON_PAGED);
        const uint64_t key = q42_hash(Q42_SURFACE_MARK, strlen(Q42_SURFACE_MARK));
        const bool is_surface = strncmp(volumes[i].name, "surface", 7) == 0;
        assert_int_equal(q42_lexicon_find(&volume.lexicon, key, &mark, &diag), is_surface ? FMT_OK : FMT_NOT_FOUND);
        free(bytes);
    }
}

static void a_root_is_the_digest_of_the_last_nodes_digest(void **state) {
    (void)state;
    for (size_t i = 0; i < N_VOLUMES; i++) {
        size_t size;
        q42_volume volume;
        uint64_t n_nodes = 0;
        uint8_t root[SHA256_BYTES] = {0};
        uint8_t *bytes = open_volume(volumes[i].name, &size, &volume);
        assert_int_equal(q42_dag_count(&volume, &n_nodes, &diag), FMT_OK);
        assert_int_equal(n_nodes, volumes[i].n_blocks);
        if (n_nodes > 0) {
            const uint64_t last = volume.header.dag.offset + 8 + (n_nodes - 1) * Q42_DAG_NODE_BYTES;
            assert_true(sha256_digest(bytes + last, Q42_DAG_NODE_BYTES, root));
            assert_true(sha256_digest(root, sizeof root, root));
        }
        assert_memory_equal(volume.header.merkle_root, root, sizeof root);
        free(bytes);
    }
}

static void add_all(written *w, const q42_volume *volume) {
    static uint8_t room[Q42_BLOCK_BYTES];
    static q42_quin quins[Q42_BLOCK_QUINS];
    q42_lexicon_walk walk = {0};
    q42_term term;
    while (q42_lexicon_next(&volume->lexicon, &walk, &term, &diag) == FMT_OK) {
        assert_int_equal(q42_writer_add_term(w->writer, &term, &w->diag), FMT_OK);
    }
    for (uint64_t i = 0; i < volume->header.block_count; i++) {
        q42_block block;
        assert_int_equal(q42_read_block(volume, i, Q42_CHECK_READ, room, &block, &diag), FMT_OK);
        for (uint32_t slot = 0; slot < block.n_quins; slot++) {
            quins[slot] = q42_block_quin(&block, slot);
        }
        written_add_block(w, quins, block.n_quins, i);
        assert_int_equal(w->status, FMT_OK);
    }
}

static void the_writer_makes_the_same_bytes(void **state) {
    (void)state;
    for (size_t i = 0; i < N_VOLUMES; i++) {
        size_t size;
        q42_volume volume;
        written w;
        uint8_t *bytes = open_volume(volumes[i].name, &size, &volume);
        /* Sanctuary is not asked for: the quins ask for it. */
        written_begin(&w, &(q42_write_options){.timestamp_ms = UINT64_C(1717286400000), .has_dag = true,
                                               .is_commons = (volumes[i].flags & Q42_FLAG_COMMONS) != 0});
        add_all(&w, &volume);
        written_finish(&w);
        assert_int_equal(w.status, FMT_OK);
        assert_int_equal(w.file.size, size);
        assert_memory_equal(w.file.bytes, bytes, size);
        written_free(&w);
        free(bytes);
    }
}

static void the_envelope_is_read_and_written_with_the_same_bytes(void **state) {
    size_t size;
    q42_envelope envelope;
    uint8_t head[Q42_ENVELOPE_HEADER_BYTES];
    (void)state;
    uint8_t *bytes = read_vector("canonical-health.qchk", &size);
    assert_int_equal(q42_envelope_open((fmt_span){bytes, size}, FMT_MODE_STRICT, &envelope, NULL, NULL, &diag), FMT_OK);
    assert_string_equal(envelope.profile_name, "health");
    assert_int_equal(envelope.payload.size, size - sizeof head);
    q42_envelope_encode_header(q42_envelope_profile("health", 6), (uint32_t)envelope.payload.size, head);
    assert_memory_equal(head, bytes, sizeof head);
    free(bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_frozen_volume_passes_every_check),
        cmocka_unit_test(each_holds_what_it_was_made_of),
        cmocka_unit_test(a_root_is_the_digest_of_the_last_nodes_digest),
        cmocka_unit_test(the_writer_makes_the_same_bytes),
        cmocka_unit_test(the_envelope_is_read_and_written_with_the_same_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
