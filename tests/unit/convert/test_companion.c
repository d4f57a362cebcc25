/* test_companion.c — companions of converted models: what they say, byte by byte, what binds them, and what is
 * refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/log.h"
#include "companion_edit.h"
#include "convert/convert.h"
#include "convert/pair.h"
#include "corpus.h"
#include "model/model.h"
#include "model/verify.h"
#include "tiny_model.h"

#define PATH_ROOM (CORPUS_PATH_SIZE + 32)

static char folder[CORPUS_PATH_SIZE], gguf_path[PATH_ROOM], p64_path[PATH_ROOM], q42_path[PATH_ROOM],
    edited_path[PATH_ROOM];

static void convert_tiny(const char *arch, bool is_extended) {
    model *m = NULL;
    const model_options container = {.container_only = true};
    convert_report report;
    fmt_diag diag;
    tiny_model_write(gguf_path, arch, NULL);
    assert_int_equal(model_open(gguf_path, &container, NULL, &m, NULL), QN_OK);
    const convert_request request = {.gguf = &m->gguf,
                                     .mapping = &m->file,
                                     .input_path = gguf_path,
                                     .output_path = p64_path,
                                     .companion_path = q42_path,
                                     .timestamp_ms = 1700000000000,
                                     .is_forced = true,
                                     .is_checked = true,
                                     .options = {.is_extended = is_extended, .page_log2 = 12}};
    if (convert_gguf(&request, &report, &diag) != FMT_OK) {
        fail_msg("%s: %s", diag.rule, diag.text);
    }
    assert_true(report.companion_bytes > 0 && report.companion_statements > 0);
    model_close(m);
}

static int make_folder(void **state) {
    (void)state;
    log_set_level(QN_LOG_ERROR);
    test_make_folder(folder);
    snprintf(gguf_path, sizeof gguf_path, "%s/tiny.gguf", folder);
    snprintf(p64_path, sizeof p64_path, "%s/tiny.p64", folder);
    snprintf(q42_path, sizeof q42_path, "%s/tiny.q42", folder);
    snprintf(edited_path, sizeof edited_path, "%s/edited.q42", folder);
    convert_tiny("qwen3", false);
    return 0;
}

static int remove_folder(void **state) {
    (void)state;
    test_remove_tree(folder);
    return 0;
}

/* ---------------------------------------------------------------------------------------------- what it is made of */

static bool has_bytes(const small_volume *v, const char *hex) {
    uint8_t wanted[Q42_QUIN_BYTES], stored[Q42_QUIN_BYTES];
    for (size_t i = 0; i < sizeof wanted; i++) {
        unsigned byte;
        assert_int_equal(sscanf(hex + 2 * i, "%2x", &byte), 1);
        wanted[i] = (uint8_t)byte;
    }
    for (uint64_t i = 0; i < v->n_quins; i++) {
        q42_quin_store(stored, &v->quins[i]);
        if (memcmp(stored, wanted, sizeof wanted) == 0) {
            return true;
        }
    }
    return false;
}

static fmt_status write_to_file(void *ctx, const void *data, uint64_t size, fmt_diag *diag) {
    (void)diag;
    return fwrite(data, 1, (size_t)size, ctx) == size ? FMT_OK : FMT_IO;
}

/* A source of four tokens, as the document's vector V9 supposes one. */
static void write_small_companion(const char *path) {
    static const char *const tokens[] = {"x", "<s>", "e", "<|eot_id|>"};
    static const uint8_t digest[SHA256_BYTES] = {0};
    gguf_writer writer;
    gguf_file file;
    key_image keys;
    q42_write_report report;
    fmt_diag diag;
    uint64_t bytes;
    char source[PATH_ROOM];
    snprintf(source, sizeof source, "%s/v9.gguf", folder);
    FILE *stream = fopen(source, "wb");
    assert_int_equal(gguf_write_begin(&writer, gguf_write_to_file, stream, 32, 4, NULL, 0), FMT_OK);
    gguf_write_uint(&writer, "tokenizer.ggml.bos_token_id", GGUF_U32, 1);
    gguf_write_uint(&writer, "tokenizer.ggml.eos_token_id", GGUF_U32, 2);
    gguf_write_bool(&writer, "tokenizer.ggml.add_bos_token", true);
    gguf_write_array_begin(&writer, COMPANION_TOKENS_KEY, GGUF_STRING, 4);
    for (size_t i = 0; i < 4; i++) {
        gguf_write_element_string(&writer, (fmt_str){tokens[i], strlen(tokens[i])});
    }
    assert_int_equal(gguf_write_end(&writer), FMT_OK);
    fclose(stream);
    mapped_file mapped = {.fd = -1};
    assert_int_equal(mapped_file_open(source, &mapped, NULL), QN_OK);
    assert_int_equal(gguf_scratch_size(mapped.span, &bytes, &diag), FMT_OK);
    void *scratch = malloc(bytes + 1);
    assert_int_equal(gguf_open(mapped.span, scratch, bytes, &file, &diag), FMT_OK);
    key_image_of_gguf(&file, source, &keys);
    memset(keys.source_sha256, 0, sizeof keys.source_sha256);
    const companion_request request = {.keys = &keys, .p64_name = "x.p64", .metadata_crc = 1, .p64_sha256 = digest};
    stream = fopen(path, "wb");
    const q42_sink sink = {stream, write_to_file};
    assert_int_equal(companion_write(&request, &sink, &report, &diag), FMT_OK);
    fclose(stream);
    free(scratch);
    mapped_file_close(&mapped);
}

static void the_statements_of_the_documents_vector_are_written_byte_for_byte(void **state) {
    small_volume v;
    (void)state;
    write_small_companion(edited_path);
    load_companion(edited_path, &v);
    assert_true(has_bytes(
        &v, "132f11ed40faed09b4344d21fcfca50e0100000000000010ad313dff6fd6970000000000000000000b2a6133d3d0df17"));
    assert_true(has_bytes(
        &v, "132f11ed40faed093e1af26abe805c020100000000000030ad313dff6fd6970000000000000000008104de7891ac263b"));
    assert_true(has_bytes(
        &v, "132f11ed40faed097cab86ff4d7815048b8aec255d410a0cad313dff6fd697000100000000000000483f46c83f156501"));
    small_volume_free(&v);
}

static void every_architecture_gives_its_keys_back(void **state) {
    static const char *const names[] = {"llama", "qwen2", "qwen3", "gemma3", "phi3"};
    (void)state;
    for (size_t i = 0; i < 2 * sizeof names / sizeof names[0]; i++) {
        model *a = NULL, *b = NULL;
        error_context err = {0};
        convert_tiny(names[i / 2], i % 2 != 0);
        assert_int_equal(model_open(gguf_path, NULL, NULL, &a, NULL), QN_OK);
        if (model_open(p64_path, NULL, NULL, &b, &err) != QN_OK) {
            fail_msg("%s: %s", names[i / 2], error_text(&err));
        }
        assert_int_equal(b->companion.state, COMPANION_BOUND);
        assert_ptr_equal(a->arch, b->arch);
        assert_memory_equal(&a->hparams, &b->hparams, sizeof a->hparams);
        assert_int_equal(model_keys(b)->n_kv, model_keys(a)->n_kv);
        uint32_t stops[2][16];
        const uint32_t n = model_stop_ids(a, stops[0], 16);
        assert_int_equal(model_stop_ids(b, stops[1], 16), n);
        assert_memory_equal(stops[0], stops[1], n * sizeof stops[0][0]);
        model_close(a);
        model_close(b);
    }
    convert_tiny("qwen3", false);
}

/* ---------------------------------------------------------------------------------------------------------- binding */

static qn_status open_with(const char *companion, companion_state *out_state, error_context *err) {
    model *m = NULL;
    const model_options options = {.companion = companion, .vocabulary_only = true, .assume = "llama"};
    const qn_status status = model_open(p64_path, &options, NULL, &m, err);
    if (status == QN_OK) {
        *out_state = m->companion.state;
    }
    model_close(m);
    return status;
}

typedef struct refusal {
    companion_change change;
    const char *rule, *words;
} refusal;

static void check_refusals(const refusal *rows, size_t n_rows) {
    for (size_t i = 0; i < n_rows; i++) {
        companion_state state;
        error_context err = {0};
        edit_companion(q42_path, edited_path, &rows[i].change);
        const qn_status status = open_with(edited_path, &state, &err);
        if (status != QN_BAD_FILE || err.rule == NULL || strcmp(err.rule, rows[i].rule) != 0 ||
            strstr(error_text(&err), rows[i].words) == NULL || strstr(error_text(&err), "edited.q42") == NULL) {
            fail_msg("row %zu: %d, rule %s, \"%s\" instead of %s, \"%s\"", i, status,
                     err.rule != NULL ? err.rule : "none", error_text(&err), rows[i].rule, rows[i].words);
        }
    }
}

static void a_companion_that_is_written_again_is_bound(void **state) {
    companion_state found = COMPANION_ABSENT;
    (void)state;
    edit_companion(q42_path, edited_path, &(companion_change){0});
    assert_int_equal(open_with(edited_path, &found, NULL), QN_OK);
    assert_int_equal(found, COMPANION_BOUND);
    edit_companion(q42_path, edited_path,
                   &(companion_change){.add = "q42:somethingNew", .text = "unknown words are passed over"});
    assert_int_equal(open_with(edited_path, &found, NULL), QN_OK);
    assert_int_equal(found, COMPANION_BOUND);
}

static void what_does_not_belong_to_the_container_is_refused(void **state) {
    const refusal rows[] = {
        {{.drop = "lm:p64MetadataCrc", .add = "lm:p64MetadataCrc", .object = companion_integer(0x12345678)},
         "companion-binding",
         "lm:p64MetadataCrc is 12345678"},
        {{.drop = "lm:p64MetadataCrc", .add = "lm:p64MetadataCrc", .text = "12345678"},
         "companion-words",
         "lm:p64MetadataCrc"},
        {{.add = "lm:p64MetadataCrc", .object = companion_integer(1)}, "companion-words", "more than once"},
        {{.twice = "rdf:type"}, "companion-subject", "two model helpers"},
        {{.drop = "lm:dimsOrder", .add = "lm:dimsOrder", .text = "rowmajor"},
         "companion-disagrees",
         "lm:dimsOrder is rowmajor"},
        {{.drop = "lm:ropeType", .add = "lm:ropeType", .text = "sideways"}, "companion-words", "lm:ropeType"},
        {{.drop_term = "gguf:qwen3.block_count"}, "companion-text", "no text has the hash"},
        {{.drop_term = "qwen3"}, "companion-text", "no text has the hash"},
        {{.drop = "gguf:qwen3.block_count"}, "companion-value", "\"qwen3.block_count\" has no value"},
    };
    (void)state;
    check_refusals(rows, sizeof rows / sizeof rows[0]);
}

static void each_statement_of_the_profile_must_be_there(void **state) {
    static const char *const predicates[] = {
        "q42:format",          "q42:sourceGguf", "q42:p64Asset",   "q42:layout",   "q42:chatFamily", "q42:pageLog2",
        "q42:convertedUnixMs", "q42:bosTokenId", "q42:eosTokenId", "q42:vocabLen", "q42:addBosToken"};
    (void)state;
    for (size_t i = 0; i < sizeof predicates / sizeof predicates[0]; i++) {
        const refusal rows[] = {
            {{.drop = predicates[i]}, "companion-words", predicates[i]},
            {{.drop = predicates[i], .add = predicates[i], .object = UINT64_C(5) << 60},
             "companion-words",
             predicates[i]},
            {{.add = predicates[i], .object = companion_integer(77), .metadata = 1}, "companion-words", predicates[i]},
        };
        check_refusals(rows, sizeof rows / sizeof rows[0]);
    }
    check_refusals(&(refusal){{.drop = "q42:format", .add = "q42:format", .text = "something else"},
                              "companion-words",
                              "q42:format"},
                   1);
}

static void a_field_that_both_hold_must_be_the_same(void **state) {
    const refusal rows[] = {
        {{.drop = "gguf:qwen3.block_count", .add = "gguf:qwen3.block_count", .object = companion_integer(3)},
         "companion-disagrees",
         "the number of layers is 2, the keys of its companion give 3"},
        {{.drop = "gguf:qwen3.embedding_length", .add = "gguf:qwen3.embedding_length", .object = companion_integer(32)},
         "companion-disagrees",
         "the embedding's width is 16, the keys of its companion give 32"},
        {{.drop = "gguf:qwen3.attention.head_count",
          .add = "gguf:qwen3.attention.head_count",
          .object = companion_integer(2)},
         "companion-disagrees",
         "the number of heads is 4, the keys of its companion give 2"},
        {{.drop = "gguf:qwen3.attention.head_count_kv",
          .add = "gguf:qwen3.attention.head_count_kv",
          .object = companion_integer(4)},
         "companion-disagrees",
         "the number of KV heads is 2, the keys of its companion give 4"},
        {{.drop = "gguf:tokenizer.ggml.eos_token_id",
          .add = "gguf:tokenizer.ggml.eos_token_id",
          .object = companion_integer(3)},
         "companion-disagrees",
         "the id of EOS is 2, the keys of its companion give 3"},
    };
    (void)state;
    check_refusals(rows, sizeof rows / sizeof rows[0]);
}

static void fields_of_the_extended_profile_are_compared_too(void **state) {
    const refusal rows[] = {
        {{.drop = "gguf:general.architecture", .add = "gguf:general.architecture", .text = "gemma3"},
         "companion-disagrees",
         "the architecture's id is 6, the keys of its companion give 4"},
        {{.drop = "gguf:general.architecture", .add = "gguf:general.architecture", .text = "nobody"},
         "companion-disagrees",
         "the architecture's id is 6, the keys of its companion give 255"},
    };
    (void)state;
    convert_tiny("qwen3", true);
    check_refusals(rows, sizeof rows / sizeof rows[0]);
    convert_tiny("qwen3", false);
}

/* ----------------------------------------------------------------------------------------------------------- states */

typedef struct note_list {
    char rules[4][32];
    size_t n;
} note_list;

static void keep_note(void *ctx, const fmt_diag *note) {
    note_list *list = ctx;
    assert_true(list->n < 4);
    snprintf(list->rules[list->n++], sizeof list->rules[0], "%s", note->rule);
}

static void a_volume_that_is_not_bound_is_passed_over_with_a_note(void **state) {
    static const struct {
        const char *drop;
        companion_state state;
        const char *rule;
    } rows[] = {{"lm:p64MetadataCrc", COMPANION_UNBOUND, "companion-unbound"},
                {"rdf:type", COMPANION_FOREIGN, "companion-foreign"}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        note_list notes = {.n = 0};
        verify_report report;
        error_context err = {0};
        const verify_options_set options = {.note = keep_note, .note_ctx = &notes, .companion = edited_path};
        edit_companion(q42_path, edited_path, &(companion_change){.drop = rows[i].drop});
        if (verify_file(p64_path, &options, NULL, &report, &err) != QN_OK) {
            fail_msg("%s", error_text(&err));
        }
        assert_int_equal(report.companion, rows[i].state);
        assert_int_equal(notes.n, 1);
        assert_string_equal(notes.rules[0], rows[i].rule);
    }
}

static void verify_compares_the_digest_of_the_whole_container(void **state) {
    verify_report report;
    error_context err = {0};
    const verify_options_set options = {.companion = edited_path};
    (void)state;
    edit_companion(q42_path, edited_path,
                   &(companion_change){.drop = "lm:p64Sha256", .add = "lm:p64Sha256", .text = "00ff"});
    assert_int_equal(verify_file(p64_path, &options, NULL, &report, &err), QN_BAD_FILE);
    assert_string_equal(err.rule, "companion-digest");
    assert_non_null(strstr(error_text(&err), "lm:p64Sha256 is \"00ff\""));
    companion_state found = COMPANION_ABSENT;
    assert_int_equal(open_with(edited_path, &found, NULL),
                     QN_OK); /* loading checks the metadata, and each tensor by its CRC */
    assert_int_equal(found, COMPANION_BOUND);
}

static void what_stands_at_a_place_is_told_before_writing(void **state) {
    companion_state found;
    char path[PATH_ROOM];
    (void)state;
    assert_int_equal(companion_probe(q42_path, &found, NULL), QN_OK);
    assert_int_equal(found, COMPANION_UNBOUND); /* a model helper; of which container, nobody asked */
    assert_int_equal(companion_probe(p64_path, &found, NULL), QN_OK);
    assert_int_equal(found, COMPANION_FOREIGN);
    edit_companion(q42_path, edited_path, &(companion_change){.drop = "rdf:type"});
    assert_int_equal(companion_probe(edited_path, &found, NULL), QN_OK);
    assert_int_equal(found, COMPANION_FOREIGN);
    edit_companion(q42_path, edited_path, &(companion_change){.twice = "rdf:type"});
    assert_int_equal(companion_probe(edited_path, &found, NULL), QN_OK);
    assert_int_equal(found, COMPANION_FOREIGN); /* two models in one volume: none of ours, so it stays */
    snprintf(path, sizeof path, "%s/nothing.q42", folder);
    assert_int_equal(companion_probe(path, &found, NULL), QN_OK);
    assert_int_equal(found, COMPANION_ABSENT);
}

/* Puts a container in place with its companion where, a moment before, somebody else has made the container's file. */
static fmt_status commit_too_late(const char *companion_path, bool is_forced) {
    char taken[PATH_ROOM];
    atomic_file container;
    model *m = NULL;
    key_image keys;
    q42_write_report report;
    fmt_diag diag;
    const model_options plain = {.container_only = true};
    snprintf(taken, sizeof taken, "%s/taken.p64", folder);
    size_t size;
    uint8_t *bytes = test_read_file(p64_path, &size);
    assert_int_equal(atomic_file_create(&container, taken, false, 0, &diag), FMT_OK);
    assert_int_equal(atomic_file_write(&container, 0, bytes, size, &diag), FMT_OK);
    free(bytes);
    fclose(fopen(taken, "wb"));
    assert_int_equal(model_open(gguf_path, &plain, NULL, &m, NULL), QN_OK);
    key_image_of_gguf(&m->gguf, gguf_path, &keys);
    const pair_request request = {
        .keys = &keys, .p64_path = taken, .companion_path = companion_path, .metadata_crc = 1, .is_forced = is_forced};
    const fmt_status status = pair_commit(&request, &container, &report, &diag);
    atomic_file_abort(&container);
    model_close(m);
    remove(taken);
    return status;
}

static void a_companion_does_not_stay_when_its_container_cannot_be_put_in_place(void **state) {
    char path[PATH_ROOM];
    companion_state found;
    (void)state;
    snprintf(path, sizeof path, "%s/taken.q42", folder);
    assert_int_equal(commit_too_late(path, false), FMT_IO);
    assert_int_equal(companion_probe(path, &found, NULL), QN_OK);
    assert_int_equal(found, COMPANION_ABSENT);
}

static void the_name_of_a_companion_follows_from_the_containers(void **state) {
    static const char *const rows[][2] = {{"a.p64", "a.q42"}, {"b/c.f16.P64", "b/c.f16.q42"}, {"model", "model.q42"},
                                          {"model.bin", "model.bin.q42"}, {".p64", ".p64.q42"}};
    char path[COMPANION_PATH_SIZE], name[COMPANION_PATH_SIZE + 16];
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_true(companion_path_of(rows[i][0], path));
        assert_string_equal(path, rows[i][1]);
    }
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    assert_false(companion_path_of(name, path));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_statements_of_the_documents_vector_are_written_byte_for_byte),
        cmocka_unit_test(every_architecture_gives_its_keys_back),
        cmocka_unit_test(a_companion_that_is_written_again_is_bound),
        cmocka_unit_test(what_does_not_belong_to_the_container_is_refused),
        cmocka_unit_test(each_statement_of_the_profile_must_be_there),
        cmocka_unit_test(a_field_that_both_hold_must_be_the_same),
        cmocka_unit_test(fields_of_the_extended_profile_are_compared_too),
        cmocka_unit_test(a_volume_that_is_not_bound_is_passed_over_with_a_note),
        cmocka_unit_test(verify_compares_the_digest_of_the_whole_container),
        cmocka_unit_test(what_stands_at_a_place_is_told_before_writing),
        cmocka_unit_test(a_companion_does_not_stay_when_its_container_cannot_be_put_in_place),
        cmocka_unit_test(the_name_of_a_companion_follows_from_the_containers),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
