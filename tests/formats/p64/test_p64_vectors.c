/* test_p64_vectors.c — every file of tests/vectors/p64 is read as manifest.json says: accepted ones with their fields
 * and notes, broken ones refused by the named rule at the named byte, in both modes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "corpus.h"
#include "p64_fixture.h"

static json_t *manifest;

static int load_manifest(void **state) {
    char path[CORPUS_PATH_SIZE];
    json_error_t error;
    (void)state;
    source_require("tests/vectors/p64/manifest.json", path);
    manifest = json_load_file(path, 0, &error);
    return manifest == NULL;
}

static int free_manifest(void **state) {
    (void)state;
    json_decref(manifest);
    return 0;
}

static const char *text_of(const json_t *object, const char *key) {
    const char *text = json_string_value(json_object_get(object, key));
    assert_non_null(text);
    return text;
}

static uint64_t number_of(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    assert_true(json_is_integer(value));
    return (uint64_t)json_integer_value(value);
}

/* The first broken rule of a file that opened: a whole check of its blobs. */
static void check_blobs(fixture *f) {
    if (f->status == FMT_OK) {
        f->status = p64_check_blobs(&f->file, P64_CHECK_CRC, &f->diag);
    }
}

static void assert_notes(const fixture *f, const json_t *notes) {
    assert_int_equal(f->n_notes, json_array_size(notes));
    for (uint32_t i = 0; i < f->n_notes; i++) {
        assert_string_equal(f->notes[i].rule, json_string_value(json_array_get(notes, i)));
    }
}

static void assert_sections(const p64_file *file, const json_t *sections) {
    assert_int_equal(file->header.hparams_at, number_of(sections, "hparams"));
    assert_int_equal(file->header.role_table_at, number_of(sections, "schedule"));
    assert_int_equal(file->header.tensor_table_at, number_of(sections, "tensor_table"));
    assert_int_equal(file->header.string_table_at, number_of(sections, "string_table"));
    assert_int_equal(file->header.manifold_at, number_of(sections, "manifold"));
    assert_int_equal(file->header.tokenizer_at, number_of(sections, "tokenizer"));
    assert_int_equal(file->header.checksum_at, number_of(sections, "checksum"));
    assert_int_equal(file->blob_floor, number_of(sections, "blob_floor"));
}

static void assert_hparams(const p64_file *file, const json_t *hp) {
    assert_int_equal(file->hparams.n_layer, number_of(hp, "n_layer"));
    assert_int_equal(file->hparams.n_embd, number_of(hp, "n_embd"));
    assert_int_equal(file->hparams.n_head, number_of(hp, "n_head"));
    assert_int_equal(file->hparams.n_kv_head, number_of(hp, "n_kv_head"));
    assert_int_equal(file->hparams.vocab_size, number_of(hp, "vocab_size"));
    assert_true((double)file->hparams.rope_freq_base == json_number_value(json_object_get(hp, "rope_freq_base")));
    assert_true((double)file->hparams.rope_scale == json_number_value(json_object_get(hp, "rope_scale")));
}

static void assert_tokenizer(const p64_file *file, const json_t *t) {
    if (json_is_null(t)) {
        assert_false(file->tokenizer.is_present);
        return;
    }
    assert_true(file->tokenizer.is_present);
    assert_int_equal(file->tokenizer.version, number_of(t, "version"));
    assert_int_equal(file->tokenizer.bos, number_of(t, "bos"));
    assert_int_equal(file->tokenizer.eos, number_of(t, "eos"));
    assert_int_equal(file->tokenizer.add_bos, json_is_true(json_object_get(t, "add_bos")));
    assert_int_equal(file->tokenizer.n_tokens, number_of(t, "tokens"));
    assert_int_equal(file->tokenizer.n_merges, number_of(t, "merges"));
    assert_int_equal(file->tokenizer.bytes, number_of(t, "payload_bytes"));
    assert_int_equal(file->tokenizer.pre.size, strlen(text_of(t, "pre")));
    assert_memory_equal(file->tokenizer.pre.data, text_of(t, "pre"), file->tokenizer.pre.size);
    const json_t *stops = json_object_get(t, "stop_ids");
    assert_int_equal(file->tokenizer.n_stops, json_array_size(stops));
    for (uint32_t i = 0; i < file->tokenizer.n_stops; i++) {
        assert_int_equal(file->tokenizer.stops[i], json_integer_value(json_array_get(stops, i)));
    }
}

static void assert_tensor(const p64_file *file, uint32_t index, const json_t *wanted) {
    const p64_tensor t = p64_get_tensor(file, index);
    const char *name = text_of(wanted, "name");
    p64_tensor found;
    assert_int_equal(t.name.size, strlen(name));
    assert_memory_equal(t.name.data, name, t.name.size);
    assert_int_equal(t.role, number_of(wanted, "role"));
    assert_int_equal(t.dtype, number_of(wanted, "dtype"));
    assert_int_equal(t.manifold_index, number_of(wanted, "manifold_idx"));
    assert_int_equal(t.blob_offset, number_of(wanted, "offset"));
    assert_int_equal(t.blob.size, number_of(wanted, "size"));
    assert_int_equal(t.crc, strtoul(text_of(wanted, "crc32c"), NULL, 16));
    const json_t *dims = json_object_get(wanted, "dims");
    assert_int_equal(t.rank, json_array_size(dims));
    for (uint32_t k = 0; k < 4; k++) {
        assert_int_equal(t.file_dims[k], k < t.rank ? json_integer_value(json_array_get(dims, k)) : 1);
    }
    assert_true(p64_find_name(file, name, strlen(name), &found));
    assert_int_equal(found.index, index);
    assert_true(p64_find_source_hash(file, t.source_name_hash, &found));
    assert_int_equal(found.index, index);
}

static void check_accepted(fixture *f, const json_t *item) {
    const char *strict = text_of(item, "strict");
    fixture_load(f, text_of(item, "file"));
    fixture_open(f, FMT_MODE_DEFAULT);
    check_blobs(f);
    fixture_assert_open(f);
    assert_notes(f, json_object_get(item, "notes"));
    assert_int_equal(f->file.header.version, number_of(item, "version"));
    assert_int_equal(f->file.header.flags, strtoul(text_of(item, "flags"), NULL, 16));
    assert_int_equal(f->file.header.page_size, number_of(item, "page_size"));
    assert_int_equal(f->file.metadata_crc, strtoul(text_of(item, "metadata_crc32c"), NULL, 16));
    assert_sections(&f->file, json_object_get(item, "sections"));
    assert_hparams(&f->file, json_object_get(item, "hparams"));
    assert_tokenizer(&f->file, json_object_get(item, "tokenizer"));
    const json_t *tensors = json_object_get(item, "tensors");
    assert_int_equal(f->file.header.tensor_count, json_array_size(tensors));
    for (uint32_t i = 0; i < f->file.header.tensor_count; i++) {
        assert_tensor(&f->file, i, json_array_get(tensors, i));
    }
    fixture_open(f, FMT_MODE_STRICT);
    check_blobs(f);
    if (strcmp(strict, "accept") == 0) {
        fixture_assert_open(f);
        assert_int_equal(f->n_notes, 0);
    } else {
        assert_int_equal(f->status, FMT_BAD_FILE);
        assert_string_equal(f->diag.rule, strict);
    }
}

static void every_whole_file_is_read_with_its_fields_and_notes(void **state) {
    fixture f = {0};
    size_t i;
    json_t *item;
    (void)state;
    json_array_foreach(json_object_get(manifest, "files"), i, item) {
        print_message("  %s\n", text_of(item, "file"));
        check_accepted(&f, item);
    }
    assert_int_equal(i, 23);
    fixture_free(&f);
}

static bool is_refused_in(const json_t *item, const char *mode) {
    size_t i;
    json_t *value;
    json_array_foreach(json_object_get(item, "refused_by"), i, value) {
        if (strcmp(json_string_value(value), mode) == 0) {
            return true;
        }
    }
    return false;
}

static void check_broken(fixture *f, const json_t *item, fmt_mode mode) {
    const char *rule = text_of(item, "rule");
    uint64_t offset = number_of(item, "offset");
    if (mode == FMT_MODE_STRICT && json_object_get(item, "strict_rule") != NULL) {
        rule = text_of(item, "strict_rule");
        offset = number_of(item, "strict_offset");
    }
    fixture_load(f, text_of(item, "file"));
    fixture_open(f, mode);
    check_blobs(f);
    if (is_refused_in(item, mode == FMT_MODE_STRICT ? "strict" : "default")) {
        fixture_assert_refused(f, rule, offset);
        return;
    }
    fixture_assert_open(f);
    assert_int_equal(f->n_notes, 1);
    assert_string_equal(f->notes[0].rule, rule);
    assert_int_equal(f->notes[0].offset, offset);
}

static void every_broken_file_is_refused_by_its_rule_at_its_byte_in_both_modes(void **state) {
    fixture f = {0};
    size_t i;
    json_t *item;
    (void)state;
    json_array_foreach(json_object_get(manifest, "broken"), i, item) {
        print_message("  %s\n", text_of(item, "file"));
        check_broken(&f, item, FMT_MODE_DEFAULT);
        check_broken(&f, item, FMT_MODE_STRICT);
    }
    assert_int_equal(i, 74);
    fixture_free(&f);
}

static void every_rule_that_refuses_a_container_has_a_broken_file(void **state) {
    uint32_t count;
    const p64_rule_info *rules = p64_rules(&count);
    (void)state;
    for (uint32_t k = 0; k < count; k++) {
        const char *id = rules[k].id;
        bool is_shown = rules[k].mode == P64_RULE_NOTE || rules[k].mode == P64_RULE_WEIGHTS;
        size_t i;
        json_t *item;
        json_array_foreach(json_object_get(manifest, "broken"), i, item) {
            is_shown = is_shown || strcmp(text_of(item, "rule"), id) == 0;
            if (strcmp(text_of(item, "rule"), id) == 0) {
                assert_string_equal(text_of(item, "seed_14"), rules[k].standard);
                assert_int_equal(rules[k].mode == P64_RULE_STRICT, !is_refused_in(item, "default"));
            }
        }
        /* These are decisions of this project; test_p64_reader breaks them, and test_p64_panels those of panels. */
        is_shown = is_shown || strcmp(id, "panel-shape") == 0 || strcmp(id, "panel-bits") == 0 || strcmp(id, "name-duplicate") == 0 || strcmp(id, "tokenizer-merge") == 0 ||
                   strcmp(id, "name-limit") == 0;
        if (!is_shown) {
            fail_msg("no vector breaks rule %s", id);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_whole_file_is_read_with_its_fields_and_notes),
        cmocka_unit_test(every_broken_file_is_refused_by_its_rule_at_its_byte_in_both_modes),
        cmocka_unit_test(every_rule_that_refuses_a_container_has_a_broken_file),
    };
    return cmocka_run_group_tests_name("p64 vectors", tests, load_manifest, free_manifest);
}
