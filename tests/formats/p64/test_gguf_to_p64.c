/* test_gguf_to_p64.c — the writer makes every GGUF-sourced vector byte for byte, refuses what does not fit before it
 * writes, and leaves nothing behind when it fails.
 */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include <quoin/blocks.h>

#include "convert/convert.h"
#include "corpus.h"
#include "p64_fixture.h"

/* ------------------------------------------------------------------------------------------------- a GGUF in memory */

typedef struct model {
    uint8_t *bytes;
    size_t size;
    void *scratch;
    gguf_file gguf;
} model;

static void open_model(model *m) {
    fmt_diag diag;
    uint64_t need;
    const fmt_span span = {m->bytes, m->size};
    if (gguf_scratch_size(span, &need, &diag) != FMT_OK) {
        fail_msg("%s", diag.text);
    }
    m->scratch = malloc(need + 8);
    assert_non_null(m->scratch);
    if (gguf_open(span, m->scratch, need, &m->gguf, &diag) != FMT_OK) {
        fail_msg("%s", diag.text);
    }
}

static void load_model(model *m, const char *name) {
    char relative[256], path[CORPUS_PATH_SIZE];
    snprintf(relative, sizeof relative, "tests/vectors/p64/%s", name);
    source_require(relative, path);
    *m = (model){0};
    m->bytes = test_read_file(path, &m->size);
    open_model(m);
}

static void free_model(model *m) {
    free(m->bytes);
    free(m->scratch);
    *m = (model){0};
}

/* Bytes of a GGUF that is being written. */
typedef struct byte_buffer {
    uint8_t *bytes;
    size_t size, room;
} byte_buffer;

static bool append(void *ctx, const void *bytes, uint64_t size) {
    byte_buffer *b = ctx;
    if (b->size + size > b->room) {
        b->room = 2 * (b->size + size);
        b->bytes = realloc(b->bytes, b->room);
        assert_non_null(b->bytes);
    }
    memcpy(b->bytes + b->size, bytes, size);
    b->size += size;
    return true;
}

/* ----------------------------------------------------------------------------------------------------------- a sink */

typedef struct memory_sink {
    uint8_t *bytes; /* zeros to begin with */
    uint64_t size;
    uint64_t written;
    uint64_t fails_after; /* bytes; 0 never */
} memory_sink;

static fmt_status write_memory(void *ctx, uint64_t offset, const void *data, uint64_t size) {
    memory_sink *s = ctx;
    assert_true(size <= s->size && offset <= s->size - size);
    memcpy(s->bytes + offset, data, size);
    s->written += size;
    return s->fails_after != 0 && s->written >= s->fails_after ? FMT_IO : FMT_OK;
}

typedef struct outcome {
    fmt_status status;
    fmt_diag diag;
    uint8_t *bytes;
    uint64_t size, written;
    p64_plan plan;
    void *memory;
    uint32_t n_notes;
    fmt_diag note; /* the last one */
    gguf_source source;
} outcome;

static void keep_note(void *ctx, const fmt_diag *note) {
    outcome *o = ctx;
    o->note = *note;
    o->n_notes++;
}

static void convert_model(const model *m, const p64_write_options *options, uint64_t fails_after, outcome *o) {
    uint64_t need = 0;
    *o = (outcome){0};
    o->status = gguf_source_init(&o->source, &m->gguf, &o->diag);
    if (o->status == FMT_OK) {
        o->status = p64_plan_memory(&o->source.source, options, &need, &o->diag);
    }
    if (o->status != FMT_OK) {
        return;
    }
    o->memory = malloc(need);
    assert_non_null(o->memory);
    memset(o->memory, 0xA5, need);
    o->status =
        p64_plan_make(&o->source.source, options, o->memory, need, &o->plan, keep_note, o, NULL, NULL, &o->diag);
    if (o->status != FMT_OK) {
        return;
    }
    memory_sink sink = {calloc(1, o->plan.size), o->plan.size, 0, fails_after};
    const p64_sink out = {&sink, write_memory};
    assert_non_null(sink.bytes);
    o->status = p64_write(&o->plan, &out, NULL, NULL, &o->diag);
    o->bytes = sink.bytes;
    o->size = sink.size;
    o->written = sink.written;
}

static void free_outcome(outcome *o) {
    free(o->bytes);
    free(o->memory);
}

static void assert_converted(const outcome *o) {
    if (o->status != FMT_OK) {
        fail_msg("%s: %s", o->diag.rule, o->diag.text);
    }
}

/* ---------------------------------------------------------------------------------------------------------- vectors */

static p64_write_options options_of(const json_t *item) {
    static const struct {
        const char *name;
        p64_form form;
    } forms[] = {{"verbatim", P64_FORM_KEEP},
                 {"q4k-soa", P64_FORM_Q4_K_SOA},
                 {"f16", P64_FORM_F16},
                 {"ffn-q4_0", P64_FORM_FFN_Q4_0},
                 {"ffn-ternary", P64_FORM_FFN_TERNARY}};
    const char *form = json_string_value(json_object_get(item, "form"));
    const json_int_t page = json_integer_value(json_object_get(item, "page_size"));
    p64_write_options options = {
        .layout = strcmp(json_string_value(json_object_get(item, "layout")), "plain") == 0 ? P64_LAYOUT_PLAIN
                                                                                          : P64_LAYOUT_PACKED,
        .is_extended = strcmp(json_string_value(json_object_get(item, "profile")), "extended") == 0,
    };
    while ((json_int_t)1 << options.page_log2 < page) {
        options.page_log2++;
    }
    options.form = UINT32_MAX;
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        options.form = strcmp(forms[i].name, form) == 0 ? forms[i].form : options.form;
    }
    return options;
}

static void assert_same_bytes(const uint8_t *got, uint64_t got_size, const uint8_t *wanted, uint64_t size) {
    assert_int_equal(got_size, size);
    for (uint64_t i = 0; i < size; i++) {
        if (got[i] != wanted[i]) {
            fail_msg("byte %llu is %02x instead of %02x", (unsigned long long)i, got[i], wanted[i]);
        }
    }
}

static void check_vector(const json_t *item) {
    const p64_write_options options = options_of(item);
    model m;
    fixture wanted = {0};
    outcome o;
    print_message("  %s\n", json_string_value(json_object_get(item, "file")));
    load_model(&m, json_string_value(json_object_get(item, "source")));
    fixture_load(&wanted, json_string_value(json_object_get(item, "file")));
    convert_model(&m, &options, 0, &o);
    assert_converted(&o);
    assert_same_bytes(o.bytes, o.size, wanted.bytes, wanted.size);
    assert_int_equal(o.plan.metadata_crc,
                     strtoul(json_string_value(json_object_get(item, "metadata_crc32c")), NULL, 16));
    free_outcome(&o);
    fixture_free(&wanted);
    free_model(&m);
}

static void every_gguf_sourced_vector_is_made_byte_for_byte(void **state) {
    char path[CORPUS_PATH_SIZE];
    json_error_t error;
    size_t i, made = 0;
    json_t *item;
    (void)state;
    source_require("tests/vectors/p64/manifest.json", path);
    json_t *manifest = json_load_file(path, 0, &error);
    assert_non_null(manifest);
    json_array_foreach(json_object_get(manifest, "files"), i, item) {
        const char *source = json_string_value(json_object_get(item, "source"));
        if (strstr(source, ".gguf") != NULL &&
            strcmp(json_string_value(json_object_get(item, "profile")), "read only") != 0) {
            check_vector(item);
            made++;
        }
    }
    assert_int_equal(made, 17);
    json_decref(manifest);
}

static void one_tensor_that_cannot_be_converted_is_kept_with_a_note(void **state) {
    const p64_write_options options = {.page_log2 = 12, .form = P64_FORM_FFN_Q4_0};
    model m;
    outcome o;
    (void)state;
    load_model(&m, "two_layer.gguf");
    convert_model(&m, &options, 0, &o);
    assert_converted(&o);
    assert_int_equal(o.plan.n_converted, 2);
    assert_int_equal(o.plan.n_kept, 4);
    assert_int_equal(o.n_notes, 4);
    assert_non_null(strstr(o.note.text, "rows that are no multiple of the block"));
    free_outcome(&o);
    free_model(&m);
}

/* -------------------------------------------------------------------------------------------------- what is refused */

/* A GGUF with one FFN matrix of 32 x 2, given as F32 values. */
static void make_ffn_model(model *m, float value, const char *merge) {
    const gguf_tensor_spec spec = {"blk.0.ffn_up.weight", BLK_F32, 2, {32, 2}};
    byte_buffer b = {0};
    gguf_writer w;
    float values[64];
    for (int i = 0; i < 64; i++) {
        values[i] = (float)i / 64.0f;
    }
    values[37] = value;
    gguf_write_begin(&w, append, &b, 32, merge != NULL ? 4 : 2, &spec, 1);
    gguf_write_string(&w, "general.architecture", "llama");
    gguf_write_uint(&w, "llama.block_count", GGUF_U32, 1);
    if (merge != NULL) {
        gguf_write_array_begin(&w, "tokenizer.ggml.tokens", GGUF_STRING, 2);
        gguf_write_element_string(&w, (fmt_str){"a", 1});
        gguf_write_element_string(&w, (fmt_str){"ab", 2});
        gguf_write_array_begin(&w, "tokenizer.ggml.merges", GGUF_STRING, 1);
        gguf_write_element_string(&w, (fmt_str){merge, strlen(merge)});
    }
    gguf_write_data(&w, values, sizeof values);
    assert_int_equal(gguf_write_end(&w), FMT_OK);
    *m = (model){.bytes = b.bytes, .size = b.size};
    open_model(m);
}

static void nan_is_refused_for_ternary_and_keeps_the_tensor_for_q4_0(void **state) {
    p64_write_options options = {.page_log2 = 12, .form = P64_FORM_FFN_TERNARY};
    model m;
    outcome o;
    (void)state;
    make_ffn_model(&m, strtof("nan", NULL), NULL);
    convert_model(&m, &options, 0, &o);
    assert_int_equal(o.status, FMT_BAD_FILE);
    assert_string_equal(o.diag.rule, "write-finite");
    assert_non_null(strstr(o.diag.text, "element 37 of tensor \"blk.0.ffn_up.weight\""));
    free_outcome(&o);
    options.form = P64_FORM_FFN_Q4_0;
    convert_model(&m, &options, 0, &o);
    assert_converted(&o);
    assert_int_equal(o.plan.n_kept, 1);
    free_outcome(&o);
    free_model(&m);
}

static void a_scale_beyond_f16_keeps_the_tensor(void **state) {
    static const struct {
        float value;
        uint32_t n_kept;
    } rows[] = {{1e9f, 1}, {524160.0f, 1}, {-524160.0f, 1}, {524159.0f, 0}, {-524159.0f, 0}, {0.5f, 0}};
    const p64_write_options options = {.page_log2 = 12, .form = P64_FORM_FFN_Q4_0};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        model m;
        outcome o;
        make_ffn_model(&m, rows[i].value, NULL);
        convert_model(&m, &options, 0, &o);
        assert_converted(&o);
        assert_int_equal(o.plan.n_kept, rows[i].n_kept);
        assert_int_equal(o.plan.n_converted, 1 - rows[i].n_kept);
        assert_int_equal(rows[i].n_kept == 0 ? 32 : o.note.got, 32); /* the first element of its block */
        free_outcome(&o);
        free_model(&m);
    }
}

static void a_merge_without_two_sides_is_refused_by_its_number(void **state) {
    static const char *const merges[] = {"ab", " b", "a ", ""};
    const p64_write_options options = {.page_log2 = 12};
    (void)state;
    for (size_t i = 0; i < sizeof merges / sizeof merges[0]; i++) {
        model m;
        outcome o;
        make_ffn_model(&m, 0.0f, merges[i]);
        convert_model(&m, &options, 0, &o);
        assert_int_equal(o.status, FMT_BAD_FILE);
        assert_string_equal(o.diag.rule, "convert-merge");
        free_outcome(&o);
        free_model(&m);
    }
}

static void a_page_size_out_of_range_is_refused(void **state) {
    static const uint32_t bad[] = {1, 7, 31, 64};
    model m;
    (void)state;
    load_model(&m, "one_matrix.gguf");
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        outcome o;
        convert_model(&m, &(p64_write_options){.page_log2 = bad[i]}, 0, &o);
        assert_int_equal(o.status, FMT_BAD_ARG);
        free_outcome(&o);
    }
    free_model(&m);
}

static void a_failing_sink_is_told_with_the_byte(void **state) {
    model m;
    outcome o;
    (void)state;
    load_model(&m, "two_layer.gguf");
    for (uint64_t after = 1; after < 12000; after += 500) {
        convert_model(&m, &(p64_write_options){.page_log2 = 12}, after, &o);
        if (o.status == FMT_OK) { /* it failed on no byte: there were fewer */
            assert_true(o.written < after);
        } else {
            assert_int_equal(o.status, FMT_IO);
        }
        free_outcome(&o);
    }
    free_model(&m);
}

/* A source that says that it has a tensor of 5 GiB; nobody may read it. */
static void get_huge(void *ctx, uint32_t index, p64_source_tensor *out) {
    (void)ctx;
    (void)index;
    *out = (p64_source_tensor){.name = {"token_embd.weight", 17},
                               .role = P64_ROLE_TOKEN_EMBD,
                               .layer = P64_NO_LAYER,
                               .dtype = BLK_F32,
                               .rank = 2,
                               .dims = {1u << 15, 40960},
                               .bytes = UINT64_C(5) << 30};
}

static const uint8_t *get_nothing(void *ctx, uint32_t index, uint64_t offset, uint64_t size, void *room) {
    (void)ctx;
    (void)index;
    (void)offset;
    (void)size;
    (void)room;
    fail_msg("a tensor was read although the container cannot be written");
    return NULL;
}

static void a_model_beyond_4_gib_is_refused_with_the_size_before_anything_is_read(void **state) {
    const p64_source source = {.n_tensors = 1, .get_tensor = get_huge, .get_bytes = get_nothing};
    const p64_write_options options = {0};
    uint64_t need;
    fmt_diag diag;
    p64_plan plan;
    (void)state;
    assert_int_equal(p64_plan_memory(&source, &options, &need, &diag), FMT_OK);
    void *memory = malloc(need);
    assert_non_null(memory);
    assert_int_equal(p64_plan_make(&source, &options, memory, need, &plan, NULL, NULL, NULL, NULL, &diag), FMT_LIMIT);
    assert_string_equal(diag.rule, "write-size");
    assert_int_equal(diag.got, (UINT64_C(5) << 30) + 16384);
    assert_non_null(strstr(diag.text, "5368725504 bytes"));
    free(memory);
}

static void get_large_ffn(void *ctx, uint32_t index, p64_source_tensor *out) {
    (void)ctx;
    (void)index;
    *out = (p64_source_tensor){.name = {"blk.0.ffn_up.weight", 19},
                               .role = P64_ROLE_FFN_UP,
                               .dtype = BLK_Q8_0,
                               .rank = 2,
                               .dims = {4096, 14336},
                               .bytes = UINT64_C(4096) / 32 * 34 * 14336};
}

static void work_memory_does_not_grow_with_the_model(void **state) {
    enum { MIB = 1024 * 1024 };
    static const struct {
        p64_form form;
        uint64_t limit;
    } rows[] = {{P64_FORM_KEEP, 3 * MIB}, {P64_FORM_F16, 5 * MIB}, {P64_FORM_FFN_Q4_0, 5 * MIB},
                {P64_FORM_FFN_TERNARY, 3 * MIB + 8 * UINT64_C(4096) * 14336}};
    const p64_source source = {.hparams = {.n_layer = 1}, .n_tensors = 200, .get_tensor = get_large_ffn};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const p64_write_options options = {.form = rows[i].form};
        uint64_t need = 0;
        fmt_diag diag;
        assert_int_equal(p64_plan_memory(&source, &options, &need, &diag), FMT_OK);
        assert_true(need <= rows[i].limit);
    }
}

/* ---------------------------------------------------------------------------------------------------------- on disk */

static uint32_t count_files(const char *folder) {
    uint32_t count = 0;
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (const struct dirent *e = readdir(dir); e != NULL; e = readdir(dir)) {
        count += e->d_name[0] != '.';
    }
    closedir(dir);
    return count;
}

static bool stop_at_once(void *ctx, uint64_t done, uint64_t total) {
    (void)ctx;
    (void)done;
    (void)total;
    return false;
}

static void a_file_is_written_checked_and_renamed_or_nothing_is_left(void **state) {
    char folder[CORPUS_PATH_SIZE], path[CORPUS_PATH_SIZE + 16];
    convert_report report;
    fmt_diag diag;
    fixture wanted = {0};
    model m;
    size_t size;
    (void)state;
    load_model(&m, "two_layer.gguf");
    test_make_folder(folder);
    snprintf(path, sizeof path, "%s/out.p64", folder);
    convert_request request = {.gguf = &m.gguf, .output_path = path, .options = {.page_log2 = 12}, .is_checked = true};
    request.progress = stop_at_once;
    assert_int_equal(convert_gguf(&request, &report, &diag), FMT_CANCELLED);
    assert_int_equal(count_files(folder), 0);
    request.progress = NULL;
    assert_int_equal(convert_gguf(&request, &report, &diag), FMT_OK);
    assert_int_equal(report.parity.n_equal, 22);
    assert_int_equal(report.size, 13376);
    fixture_load(&wanted, "two_layer.seed.p64");
    uint8_t *bytes = test_read_file(path, &size);
    assert_same_bytes(bytes, size, wanted.bytes, wanted.size);
    assert_int_equal(convert_gguf(&request, &report, &diag), FMT_IO); /* it exists, and is not replaced */
    assert_non_null(strstr(diag.text, "--force"));
    request.is_forced = true;
    request.options.form = P64_FORM_F16;
    assert_int_equal(convert_gguf(&request, &report, &diag), FMT_OK);
    assert_int_equal(report.parity.n_converted, 4);
    assert_int_equal(count_files(folder), 1);
    free(bytes);
    fixture_free(&wanted);
    free_model(&m);
    test_remove_tree(folder);
}

static void a_source_is_never_replaced_nor_believed_after_it_was_cut(void **state) {
    char folder[CORPUS_PATH_SIZE], path[CORPUS_PATH_SIZE + 16], out[CORPUS_PATH_SIZE + 16];
    convert_report report;
    mapped_file mapping;
    fmt_diag diag;
    model m;
    (void)state;
    load_model(&m, "two_layer.gguf");
    test_make_folder(folder);
    snprintf(path, sizeof path, "%s/in.gguf", folder);
    snprintf(out, sizeof out, "%s/out.p64", folder);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(m.bytes, 1, m.size, file), m.size);
    fclose(file);
    assert_true(mapped_file_open(path, &mapping, NULL) >= 0);
    convert_request request = {.gguf = &m.gguf, .mapping = &mapping, .output_path = path, .is_forced = true};
    assert_int_equal(convert_gguf(&request, &report, &diag), FMT_IO);
    assert_non_null(strstr(diag.text, "the source itself"));
    request.output_path = out;
    assert_int_equal(convert_gguf(&request, &report, &diag), FMT_OK);
    assert_int_equal(truncate(path, 100), 0);
    assert_int_equal(convert_gguf(&request, &report, &diag), FMT_IO);
    assert_non_null(strstr(diag.text, "cut"));
    assert_int_equal(count_files(folder), 2);
    mapped_file_close(&mapping);
    free_model(&m);
    test_remove_tree(folder);
}

static void tokens_that_are_no_utf8_are_stored_and_told(void **state) {
    char folder[CORPUS_PATH_SIZE], path[CORPUS_PATH_SIZE + 16];
    convert_report report;
    outcome notes = {0};
    fmt_diag diag;
    model m;
    (void)state;
    make_ffn_model(&m, 0.0f, "\xC3 \xA4");
    test_make_folder(folder);
    snprintf(path, sizeof path, "%s/out.p64", folder);
    convert_request request = {
        .gguf = &m.gguf, .output_path = path, .is_checked = true, .note = keep_note, .ctx = &notes};
    assert_int_equal(convert_gguf(&request, &report, &diag), FMT_OK);
    assert_int_equal(notes.n_notes, 1);
    assert_string_equal(notes.note.rule, "tokenizer-utf8");
    free_model(&m);
    test_remove_tree(folder);
}

/* ----------------------------------------------------------------------------------------------------------- parity */

static void parity_names_the_tensor_and_byte_that_differs(void **state) {
    convert_parity_report report;
    fixture f = {0};
    fmt_diag diag;
    model m;
    (void)state;
    load_model(&m, "two_layer.gguf");
    fixture_load(&f, "two_layer.seed.p64");
    fixture_open(&f, FMT_MODE_STRICT);
    fixture_assert_open(&f);
    assert_int_equal(convert_parity(&f.file, &m.gguf, &report, &diag), FMT_OK);
    assert_int_equal(report.n_equal, 22);
    const p64_tensor t = p64_get_tensor(&f.file, 3);
    f.bytes[t.blob_offset + 5] ^= 1;
    assert_int_equal(convert_parity(&f.file, &m.gguf, &report, &diag), FMT_BAD_FILE);
    assert_int_equal(diag.index, 3);
    assert_int_equal(diag.offset, t.blob_offset + 5);
    free_model(&m);
    load_model(&m, "five_tensors.gguf");
    assert_int_equal(convert_parity(&f.file, &m.gguf, &report, &diag), FMT_BAD_FILE);
    free_model(&m);
    fixture_free(&f);
}

/* ------------------------------------------------------------------------------------------------------------ facts */

typedef struct fact_list {
    char names[64][64];
    bool blocks[64];
    uint32_t count;
} fact_list;

static void keep_fact(void *ctx, const convert_fact *fact) {
    fact_list *list = ctx;
    assert_true(list->count < 64);
    snprintf(list->names[list->count], 64, "%.*s", (int)fact->name.size, fact->name.data);
    list->blocks[list->count++] = fact->blocks;
}

static int find_fact(const fact_list *list, const char *name) {
    for (uint32_t i = 0; i < list->count; i++) {
        if (strcmp(list->names[i], name) == 0) {
            return list->blocks[i] ? 2 : 1;
        }
    }
    return 0;
}

static void facts_that_a_container_loses_are_told_and_those_that_matter_block(void **state) {
    fact_list list = {.count = 0};
    fmt_diag diag;
    gguf_source source;
    model m;
    (void)state;
    load_model(&m, "two_layer.gguf");
    assert_int_equal(gguf_source_init(&source, &m.gguf, &diag), FMT_OK);
    convert_facts_report report = convert_facts(&source, false, keep_fact, &list);
    assert_int_equal(find_fact(&list, "llama.attention.key_length"), 2); /* 16, not 2 / 2 */
    assert_int_equal(find_fact(&list, "rope_freqs.weight"), 0); /* kept, and a llama graph uses it */
    assert_int_equal(find_fact(&list, "general.architecture"), 1);
    assert_int_equal(find_fact(&list, "llama.attention.layer_norm_rms_epsilon"), 1);
    assert_int_equal(find_fact(&list, "tokenizer.ggml.token_type"), 1);
    assert_int_equal(find_fact(&list, "llama.block_count"), 0);
    assert_int_equal(find_fact(&list, "tokenizer.ggml.merges"), 0);
    assert_false(report.runs_alone);
    assert_int_equal(report.n_lost, list.count);
    list.count = 0;
    convert_facts(&source, true, keep_fact, &list);
    assert_int_equal(find_fact(&list, "llama.attention.key_length"), 0);
    free_model(&m);
    load_model(&m, "one_matrix.gguf");
    assert_int_equal(gguf_source_init(&source, &m.gguf, &diag), FMT_OK);
    report = convert_facts(&source, false, NULL, NULL);
    assert_true(report.runs_alone);
    assert_true(report.needs_assumption);
    assert_false(convert_facts(&source, true, NULL, NULL).needs_assumption);
    free_model(&m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_gguf_sourced_vector_is_made_byte_for_byte),
        cmocka_unit_test(one_tensor_that_cannot_be_converted_is_kept_with_a_note),
        cmocka_unit_test(nan_is_refused_for_ternary_and_keeps_the_tensor_for_q4_0),
        cmocka_unit_test(a_scale_beyond_f16_keeps_the_tensor),
        cmocka_unit_test(a_merge_without_two_sides_is_refused_by_its_number),
        cmocka_unit_test(a_page_size_out_of_range_is_refused),
        cmocka_unit_test(a_failing_sink_is_told_with_the_byte),
        cmocka_unit_test(a_model_beyond_4_gib_is_refused_with_the_size_before_anything_is_read),
        cmocka_unit_test(work_memory_does_not_grow_with_the_model),
        cmocka_unit_test(a_file_is_written_checked_and_renamed_or_nothing_is_left),
        cmocka_unit_test(a_source_is_never_replaced_nor_believed_after_it_was_cut),
        cmocka_unit_test(tokens_that_are_no_utf8_are_stored_and_told),
        cmocka_unit_test(parity_names_the_tensor_and_byte_that_differs),
        cmocka_unit_test(facts_that_a_container_loses_are_told_and_those_that_matter_block),
    };
    return cmocka_run_group_tests_name("gguf to p64", tests, NULL, NULL);
}
