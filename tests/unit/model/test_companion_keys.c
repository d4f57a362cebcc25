/* test_companion_keys.c — keys become statements and come back byte for byte; statements that make no key are refused.
 * */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "corpus.h"
#include "statement_store.h"

#define MEMORY_BYTES (1u << 20)

/* A GGUF file without tensors, as a test writes it. */
typedef struct keys_file {
    uint8_t *bytes; /* [MEMORY_BYTES] */
    uint64_t size;
    gguf_writer writer;
    gguf_file file;
    void *scratch;
} keys_file;

static bool take_bytes(void *ctx, const void *bytes, uint64_t size) {
    keys_file *f = ctx;
    assert_true(size <= MEMORY_BYTES - f->size);
    memcpy(f->bytes + f->size, bytes, size);
    f->size += size;
    return true;
}

static void begin_keys(keys_file *f, uint64_t n_keys) {
    *f = (keys_file){.bytes = malloc(MEMORY_BYTES)};
    assert_non_null(f->bytes);
    assert_int_equal(gguf_write_begin(&f->writer, take_bytes, f, 32, n_keys, NULL, 0), FMT_OK);
}

static void end_keys(keys_file *f) {
    uint64_t bytes = 0;
    fmt_diag diag;
    assert_int_equal(gguf_write_end(&f->writer), FMT_OK);
    assert_int_equal(gguf_scratch_size((fmt_span){f->bytes, f->size}, &bytes, &diag), FMT_OK);
    f->scratch = malloc(bytes + 1);
    assert_int_equal(gguf_open((fmt_span){f->bytes, f->size}, f->scratch, bytes, &f->file, &diag), FMT_OK);
}

static void free_keys(keys_file *f) {
    free(f->bytes);
    free(f->scratch);
}

static statement_store *say_all(const gguf_file *file) {
    statement_store *store = calloc(1, sizeof *store);
    fmt_diag diag;
    assert_non_null(store);
    for (uint64_t i = 0; i < file->n_kv; i++) {
        assert_int_equal(companion_say_key(&file->kvs[i], (uint32_t)i, false, statement_put, store, &diag), FMT_OK);
    }
    return store;
}

static fmt_status build(statement_store *store, companion_image *out_image, fmt_diag *diag) {
    static const p64_file empty = {0};
    const companion_texts texts = statement_texts(store);
    companion_sort_items(store->items, &store->n_items);
    return companion_image_build(store->items, store->n_items, &texts, &empty, out_image, diag);
}

/* Every key back, in its place and with its bytes. */
static void check_round_trip(const keys_file *f) {
    statement_store *store = say_all(&f->file);
    companion_image image = {0};
    fmt_diag diag;
    if (build(store, &image, &diag) != FMT_OK) {
        fail_msg("%s: %s", diag.rule, diag.text);
    }
    assert_int_equal(image.file.n_tensors, 0);
    assert_int_equal(image.file.n_kv, f->file.n_kv);
    for (uint64_t i = 0; i < f->file.n_kv; i++) {
        const gguf_kv *was = &f->file.kvs[i], *is = &image.file.kvs[i];
        assert_int_equal(is->key.size, was->key.size);
        assert_memory_equal(is->key.data, was->key.data, was->key.size);
        assert_int_equal(is->type, was->type);
        assert_int_equal(is->value.size, was->value.size);
        assert_memory_equal(is->value.data, was->value.data, was->value.size);
    }
    companion_image_free(&image);
    statement_free(store);
}

/* ------------------------------------------------------------------------------------------------------------ tests */

static void every_type_of_value_comes_back_with_its_bytes(void **state) {
    keys_file f;
    (void)state;
    begin_keys(&f, 19);
    gguf_write_string(&f.writer, "general.architecture", "llama");
    gguf_write_uint(&f.writer, "u8", GGUF_U8, 255);
    gguf_write_uint(&f.writer, "u16", GGUF_U16, 65535);
    gguf_write_uint(&f.writer, "u32", GGUF_U32, UINT32_MAX);
    gguf_write_uint(&f.writer, "u64.small", GGUF_U64, 1);
    gguf_write_uint(&f.writer, "u64.inline", GGUF_U64, (UINT64_C(1) << 60) - 1);
    gguf_write_uint(&f.writer, "u64.text", GGUF_U64, UINT64_C(1) << 60);
    gguf_write_uint(&f.writer, "u64.most", GGUF_U64, UINT64_MAX);
    gguf_write_int(&f.writer, "i8", GGUF_I8, -128);
    gguf_write_int(&f.writer, "i16", GGUF_I16, -1);
    gguf_write_int(&f.writer, "i32", GGUF_I32, 7);
    gguf_write_int(&f.writer, "i64", GGUF_I64, INT64_MIN);
    gguf_write_float(&f.writer, "f32", GGUF_F32, 1e-6);
    gguf_write_float(&f.writer, "f32.negative_zero", GGUF_F32, -0.0);
    gguf_write_float(&f.writer, "f64", GGUF_F64, 0.1);
    gguf_write_bool(&f.writer, "yes", true);
    gguf_write_bool(&f.writer, "no", false);
    gguf_write_string(&f.writer, "empty", "");
    gguf_write_string(&f.writer, "text", "na\xc3\xafve \"\\ \n {{ bos }}");
    end_keys(&f);
    check_round_trip(&f);
    free_keys(&f);
}

static void arrays_come_back_element_by_element(void **state) {
    static const uint8_t u16[] = {1, 0, 2, 0, 255, 255}, bools[] = {1, 0, 0, 1};
    static const int32_t i32[] = {1, 1, -5, 1, 6};
    static const float f32[] = {0.0f, -0.0f, 1.5f, -1e30f};
    static const double f64[] = {0.0, -0.0, 0.1, 5e-324, 1e308, -3.5};
    keys_file f;
    (void)state;
    begin_keys(&f, 8);
    gguf_write_array_begin(&f.writer, "u16", GGUF_U16, 3);
    gguf_write_elements(&f.writer, u16, 3);
    gguf_write_array_begin(&f.writer, "flags", GGUF_BOOL, 4);
    gguf_write_elements(&f.writer, bools, 4);
    gguf_write_array_begin(&f.writer, "i32", GGUF_I32, 5);
    gguf_write_elements(&f.writer, i32, 5);
    gguf_write_array_begin(&f.writer, "f32", GGUF_F32, 4);
    gguf_write_elements(&f.writer, f32, 4);
    gguf_write_array_begin(&f.writer, "f64", GGUF_F64, 6);
    gguf_write_elements(&f.writer, f64, 6);
    gguf_write_array_begin(&f.writer, "nothing", GGUF_U32, 0);
    gguf_write_array_begin(&f.writer, "no.words", GGUF_STRING, 0);
    gguf_write_array_begin(&f.writer, "words", GGUF_STRING, 4);
    gguf_write_element_string(&f.writer, (fmt_str){"to", 2});
    gguf_write_element_string(&f.writer, (fmt_str){"", 0});
    gguf_write_element_string(&f.writer, (fmt_str){"\xff\xfe", 2});
    gguf_write_element_string(&f.writer, (fmt_str){"to", 2});
    end_keys(&f);
    check_round_trip(&f);
    free_keys(&f);
}

static void normal_tokens_and_scores_of_zero_are_left_out_and_come_back(void **state) {
    static const int32_t kinds[] = {3, 1, 1, 6, 1, 1};
    static const float scores[] = {0.0f, -0.0f, 0.0f, -7.25f, 0.0f, 0.0f};
    keys_file f;
    (void)state;
    begin_keys(&f, 4);
    gguf_write_array_begin(&f.writer, "tokenizer.ggml.token_type", GGUF_I32, 6);
    gguf_write_elements(&f.writer, kinds, 6);
    gguf_write_array_begin(&f.writer, "tokenizer.ggml.scores", GGUF_F32, 6);
    gguf_write_elements(&f.writer, scores, 6);
    gguf_write_array_begin(&f.writer, "my.scores", GGUF_F32, 6);
    gguf_write_elements(&f.writer, scores, 6);
    gguf_write_uint(&f.writer, "n", GGUF_U32, 1);
    end_keys(&f);
    statement_store *store = say_all(&f.file);
    assert_int_equal(statement_count(store, "gguf:tokenizer.ggml.token_type"), 2);
    assert_int_equal(statement_count(store, "gguf-f32:tokenizer.ggml.scores"), 2); /* -0.0 is not 0.0 */
    assert_int_equal(statement_count(store, "gguf-f32:my.scores"), 6);
    assert_int_equal(statement_object(store, "gguf-len:tokenizer.ggml.scores", 0), companion_integer(6));
    assert_int_equal(statement_object(store, "gguf-type:tokenizer.ggml.token_type", 0), companion_integer(GGUF_I32));
    assert_int_equal(statement_object(store, "gguf-type:n", 3), companion_integer(GGUF_U32)); /* metadata: its place */
    statement_free(store);
    check_round_trip(&f);
    free_keys(&f);
}

static void an_array_with_one_number_that_is_not_inline_is_text_as_a_whole(void **state) {
    static const int64_t numbers[] = {3, -1, INT64_MAX};
    keys_file f;
    (void)state;
    begin_keys(&f, 1);
    gguf_write_array_begin(&f.writer, "numbers", GGUF_I64, 3);
    gguf_write_elements(&f.writer, numbers, 3);
    end_keys(&f);
    statement_store *store = say_all(&f.file);
    assert_int_equal(statement_count(store, "gguf:numbers"), 0);
    assert_int_equal(statement_object(store, "gguf-txt:numbers", 0), q42_hash("3", 1));
    assert_int_equal(statement_object(store, "gguf-txt:numbers", 1), q42_hash("-1", 2));
    statement_free(store);
    check_round_trip(&f);
    free_keys(&f);
}

static char *make_long_text(size_t size) {
    char *text = malloc(size + 1);
    assert_non_null(text);
    for (size_t i = 0; i < size; i++) {
        text[i] = "\xe2\x82\xac"[i % 3]; /* euro signs: three bytes each */
    }
    text[size] = '\0';
    return text;
}

static void a_long_string_is_cut_where_a_character_ends(void **state) {
    char *text = make_long_text(99999);
    keys_file f;
    (void)state;
    begin_keys(&f, 3);
    gguf_write_string(&f.writer, "template", text);
    text[32766] = '\0'; /* whole characters, just below the limit */
    gguf_write_string(&f.writer, "short", text);
    gguf_write_array_begin(&f.writer, "templates", GGUF_STRING, 2);
    gguf_write_element_string(&f.writer, (fmt_str){text + 32769, 60000});
    gguf_write_element_string(&f.writer, (fmt_str){text, 3});
    end_keys(&f);
    statement_store *store = say_all(&f.file);
    assert_int_equal(statement_count(store, "gguf:template"), 0);
    assert_int_equal(statement_count(store, "gguf:short"), 1);
    assert_int_equal(statement_count(store, "gguf-part:template"), 4);
    const uint64_t first = statement_object(store, "gguf-part:template", 0);
    text[32766] = '\xe2';
    assert_int_equal(first, q42_hash(text, 32766)); /* 32,768 would cut the third byte off */
    statement_object(store, "gguf-part:templates", UINT64_C(1) << 32); /* element 0, part 1 */
    statement_free(store);
    check_round_trip(&f);
    free_keys(&f);
    free(text);
}

static void a_string_that_is_no_utf8_is_hexadecimal(void **state) {
    char *text = make_long_text(50000);
    keys_file f;
    (void)state;
    text[40000] = '\xff';
    begin_keys(&f, 2);
    gguf_write_string(&f.writer, "bytes", "a\xc3");
    gguf_write_string(&f.writer, "more", text);
    end_keys(&f);
    statement_store *store = say_all(&f.file);
    assert_int_equal(statement_object(store, "gguf-hex:bytes", 0), q42_hash("61c3", 4));
    assert_int_equal(statement_count(store, "gguf-hex:more"), 4);
    statement_free(store);
    check_round_trip(&f);
    free_keys(&f);
    free(text);
}

static void an_array_of_arrays_is_refused_by_its_key(void **state) {
    static const uint8_t nested[] = {9, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    const gguf_kv kv = {.key = {"deep", 4}, .type = GGUF_ARRAY, .value = {nested, sizeof nested}};
    statement_store *store = calloc(1, sizeof *store);
    fmt_diag diag;
    (void)state;
    assert_int_equal(companion_say_key(&kv, 0, false, statement_put, store, &diag), FMT_UNSUPPORTED);
    assert_non_null(strstr(diag.text, "\"deep\""));
    assert_int_equal(store->n_items, 0);
    statement_free(store);
}

static void a_name_that_no_predicate_can_hold_is_refused(void **state) {
    char *name = malloc(GGUF_MAX_NAME);
    const uint8_t value[4] = {1};
    statement_store *store = calloc(1, sizeof *store);
    fmt_diag diag;
    (void)state;
    memset(name, 'k', GGUF_MAX_NAME);
    gguf_kv kv = {.key = {name, Q42_MAX_TERM - 10}, .type = GGUF_U32, .value = {value, 4}};
    assert_int_equal(companion_say_key(&kv, 0, false, statement_put, store, &diag), FMT_OK);
    kv.key.size++;
    assert_int_equal(companion_say_key(&kv, 0, false, statement_put, store, &diag), FMT_LIMIT);
    statement_free(store);
    free(name);
}

static void doubles_are_spelled_as_c99_spells_them_and_read_back(void **state) {
    static const struct {
        double value;
        const char *text;
    } rows[] = {{0.0, "0x0p+0"},         {-0.0, "-0x0p+0"},
                {1.0, "0x1p+0"},         {-1.5, "-0x1.8p+0"},
                {0.1, "0x1.999999999999ap-4"}, {5e-324, "0x0.0000000000001p-1022"},
                {1.7976931348623157e308, "0x1.fffffffffffffp+1023"}, {(double)INFINITY, "inf"},
                {-(double)INFINITY, "-inf"}};
    static const char *const wrong[] = {"",
                                        "0x",
                                        "0x1",
                                        "0x1p",
                                        "0x1p+00",
                                        "0x1.80p+0",
                                        "0x2p+0",
                                        "1.5",
                                        "0x1p+1024",
                                        "nan(0x0)",
                                        "0x1p+0 ",
                                        "nan",
                                        "infinity",
                                        "0x1.P+0",
                                        "-",
                                        "0x1.8",
                                        "0x1p+99999999999999"};
    char text[COMPANION_NUMBER_SIZE], libc[64];
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint64_t bits, back = 0;
        memcpy(&bits, &rows[i].value, sizeof bits);
        assert_string_equal(companion_print_f64(bits, text), rows[i].text);
        snprintf(libc, sizeof libc, "%a", rows[i].value);
        assert_string_equal(text, libc);
        assert_true(companion_parse_f64((fmt_str){text, strlen(text)}, &back));
        assert_int_equal(back, bits);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        uint64_t bits;
        if (companion_parse_f64((fmt_str){wrong[i], strlen(wrong[i])}, &bits)) {
            fail_msg("\"%s\" was read as %llx", wrong[i], (unsigned long long)bits);
        }
    }
    uint64_t nan = UINT64_C(0xFFF8000000000123), back = 0;
    companion_print_f64(nan, text);
    assert_true(companion_parse_f64((fmt_str){text, strlen(text)}, &back));
    assert_int_equal(back, nan);
}

static void whole_numbers_are_read_only_as_they_are_printed(void **state) {
    static const char *const wrong[] = {"", "-", "-0", "+1", "01", "1 ", "x", "18446744073709551616", "1e3"};
    companion_whole value;
    (void)state;
    assert_true(companion_parse_whole((fmt_str){"18446744073709551615", 20}, &value));
    assert_true(value.magnitude == UINT64_MAX && !value.is_negative);
    assert_true(companion_parse_whole((fmt_str){"-9223372036854775808", 20}, &value));
    assert_true(value.magnitude == UINT64_C(1) << 63 && value.is_negative);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        if (companion_parse_whole((fmt_str){wrong[i], strlen(wrong[i])}, &value)) {
            fail_msg("\"%s\" was read", wrong[i]);
        }
    }
}

/* --------------------------------------------------------------------------------------- statements that are no key */

static statement_store *make_sound(void) {
    statement_store *store = calloc(1, sizeof *store);
    assert_non_null(store);
    statement_add(store, "gguf-type:n", 0, companion_integer(GGUF_U8), NULL);
    statement_add(store, "gguf:n", 0, companion_integer(200), NULL);
    statement_add(store, "gguf-type:list", 1, companion_integer(GGUF_STRING), NULL);
    statement_add(store, "gguf-len:list", 0, companion_integer(2), NULL);
    statement_add(store, "gguf:list", 0, 0, "one");
    statement_add(store, "gguf:list", 1, 0, "two");
    statement_add(store, "gguf-type:x", 2, companion_integer(GGUF_F32), NULL);
    statement_add(store, "gguf-f32:x", 0, companion_integer(0x3F800000), NULL);
    statement_add(store, "gguf-type:flag", 3, companion_integer(GGUF_BOOL), NULL);
    statement_add(store, "gguf:flag", 0, companion_boolean(true), NULL);
    statement_add(store, "gguf-type:d", 4, companion_integer(GGUF_F64), NULL);
    statement_add(store, "gguf-txt:d", 0, 0, "0x1p+0");
    return store;
}

static void statements_that_are_no_key_are_passed_over(void **state) {
    statement_store *store = make_sound();
    companion_image image = {0};
    fmt_diag diag;
    (void)state;
    statement_add(store, "q42:note", 0, 0, "a note");
    statement_add(store, "q42:note", 0, 0, "another with the same number");
    statement_add(store, "example:n", 0, companion_integer(1), NULL);
    statement_add(store, "gguf:n", 0, companion_integer(200), NULL); /* said twice is said once */
    assert_int_equal(build(store, &image, &diag), FMT_OK);
    assert_int_equal(image.file.n_kv, 5);
    uint64_t n = 0;
    assert_int_equal(gguf_get_u64(&image.file, "n", &n, &diag), FMT_OK);
    assert_int_equal(n, 200);
    companion_image_free(&image);
    statement_free(store);
}

/* One thing is wrong in each row: what is dropped, then what is added. */
typedef struct fault {
    const char *drop;
    const char *add;
    uint64_t metadata, object;
    const char *text;
    const char *rule, *words;
} fault;

static void what_makes_no_key_is_refused_by_its_name(void **state) {
    const uint64_t tag = UINT64_C(1) << 60;
    const fault rows[] = {
        {"gguf-type:n", NULL, 0, 0, NULL, "companion-type", "\"n\" has no type"},
        {"gguf-type:n", "gguf-type:n", 0, tag | 9, NULL, "companion-type", "\"n\" has no such type"},
        {"gguf-type:n", "gguf-type:n", 0, tag | 13, NULL, "companion-type", "\"n\" has no such type"},
        {"gguf-type:n", "gguf-type:n", 0, 0, "uint8", "companion-type", "\"n\" has no such type"},
        {NULL, "gguf-type:n", 9, tag | 4, NULL, "companion-type", "\"n\" has no such type"},
        {NULL, "gguf-type:n", 0, tag | 4, NULL, "companion-value", "gguf-type:\"n\" has two values"},
        {"gguf:n", NULL, 0, 0, NULL, "companion-value", "\"n\" has no value"},
        {"gguf:n", "gguf:n", 0, tag | 256, NULL, "companion-value", "beyond its type"},
        {"gguf:n", "gguf:n", 0, 0, "200", "companion-value", "no integer"},
        {"gguf:n", "gguf-txt:n", 0, 0, "0200", "companion-value", "no integer"},
        {"gguf:n", "gguf-txt:n", 0, 0, "-1", "companion-value", "beyond its type"},
        {"gguf:n", "gguf:n", 1, tag | 5, NULL, "companion-value", "\"n\" has no value"},
        {NULL, "gguf:n", 1, tag | 5, NULL, "companion-value", "\"n\" has more values"},
        {NULL, "gguf:n", 0, tag | 5, NULL, "companion-value", "has two values"},
        {NULL, "gguf-f32:n", 0, tag | 5, NULL, "companion-value", "\"n\" has more values"},
        {"gguf-len:list", NULL, 0, 0, NULL, "companion-value", "\"list\" has more values"},
        {"gguf-len:list", "gguf-len:list", 0, tag | 3, NULL, "companion-length", "fewer elements"},
        {"gguf-len:list", "gguf-len:list", 0, tag | 1, NULL, "companion-value", "\"list\" has more values"},
        {"gguf-len:list", "gguf-len:list", 0, tag | UINT64_C(1) << 40, NULL, "companion-length", "no sound length"},
        {"gguf-len:list", "gguf-len:list", 7, tag | 2, NULL, "companion-length", "no sound length"},
        {NULL, "gguf-len:n", 0, tag | UINT64_C(1) << 31, NULL, "companion-length", "fewer elements"},
        {"gguf:list", "gguf-hex:list", 0, 0, "6", "companion-length", "fewer elements"},
        {"gguf-f32:x", "gguf-f32:x", 0, tag | UINT64_C(1) << 32, NULL, "companion-value", "no 32-bit float"},
        {"gguf-f32:x", NULL, 0, 0, NULL, "companion-value", "\"x\" has no value"},
        {"gguf:flag", "gguf:flag", 0, tag | 1, NULL, "companion-value", "no boolean"},
        {"gguf-txt:d", "gguf-txt:d", 0, 0, "1.0", "companion-value", "no 64-bit float"},
        {"gguf-txt:d", "gguf-txt:d", 0, tag | 1, NULL, "companion-value", "no text"},
        {NULL, "gguf-type:" COMPANION_TOKENS_KEY, 5, tag | GGUF_STRING, NULL, "companion-held",
         "the container has none"},
        {NULL, "gguf-type:general.name", 5, tag | GGUF_STRING, NULL, "companion-value",
         "\"general.name\" has no value"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        statement_store *store = make_sound();
        companion_image image = {0};
        fmt_diag diag = {0};
        if (rows[i].drop != NULL) {
            statement_drop(store, rows[i].drop);
        }
        if (rows[i].add != NULL) {
            statement_add(store, rows[i].add, rows[i].metadata, rows[i].object, rows[i].text);
        }
        assert_int_equal(build(store, &image, &diag), FMT_BAD_FILE);
        if (strcmp(diag.rule, rows[i].rule) != 0 || strstr(diag.text, rows[i].words) == NULL) {
            fail_msg("row %zu: rule %s, \"%s\" instead of %s, \"%s\"", i, diag.rule, diag.text, rows[i].rule,
                     rows[i].words);
        }
        statement_free(store);
    }
}

static void hexadecimal_must_be_whole_lower_case_bytes(void **state) {
    static const char *const wrong[] = {"6", "6G", "AB", "6 "};
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        statement_store *store = make_sound();
        companion_image image = {0};
        fmt_diag diag;
        statement_add(store, "gguf-type:bytes", 5, companion_integer(GGUF_STRING), NULL);
        statement_add(store, "gguf-hex:bytes", 0, 0, wrong[i]);
        assert_int_equal(build(store, &image, &diag), FMT_BAD_FILE);
        assert_string_equal(diag.rule, "companion-value");
        statement_free(store);
    }
}

static void an_array_that_may_leave_elements_out_is_not_believed_without_bounds(void **state) {
    statement_store *store = make_sound();
    companion_image image = {0};
    fmt_diag diag;
    (void)state;
    statement_add(store, "gguf-type:tokenizer.ggml.scores", 5, companion_integer(GGUF_F32), NULL);
    statement_add(store, "gguf-len:tokenizer.ggml.scores", 0, companion_integer(COMPANION_MAX_OMITTED + 1), NULL);
    assert_int_equal(build(store, &image, &diag), FMT_BAD_FILE);
    assert_string_equal(diag.rule, "companion-length");
    statement_free(store);
}

static void no_statement_about_a_key_is_no_companion(void **state) {
    statement_store *store = calloc(1, sizeof *store);
    companion_image image = {0};
    fmt_diag diag;
    (void)state;
    statement_add(store, "q42:note", 0, 0, "a note");
    assert_int_equal(build(store, &image, &diag), FMT_BAD_FILE);
    assert_string_equal(diag.rule, "companion-key");
    statement_free(store);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_of_value_comes_back_with_its_bytes),
        cmocka_unit_test(arrays_come_back_element_by_element),
        cmocka_unit_test(normal_tokens_and_scores_of_zero_are_left_out_and_come_back),
        cmocka_unit_test(an_array_with_one_number_that_is_not_inline_is_text_as_a_whole),
        cmocka_unit_test(a_long_string_is_cut_where_a_character_ends),
        cmocka_unit_test(a_string_that_is_no_utf8_is_hexadecimal),
        cmocka_unit_test(an_array_of_arrays_is_refused_by_its_key),
        cmocka_unit_test(a_name_that_no_predicate_can_hold_is_refused),
        cmocka_unit_test(doubles_are_spelled_as_c99_spells_them_and_read_back),
        cmocka_unit_test(whole_numbers_are_read_only_as_they_are_printed),
        cmocka_unit_test(statements_that_are_no_key_are_passed_over),
        cmocka_unit_test(what_makes_no_key_is_refused_by_its_name),
        cmocka_unit_test(hexadecimal_must_be_whole_lower_case_bytes),
        cmocka_unit_test(an_array_that_may_leave_elements_out_is_not_believed_without_bounds),
        cmocka_unit_test(no_statement_about_a_key_is_no_companion),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
