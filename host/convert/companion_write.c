/* companion_write.c — the statements of a companion volume. */
#include "convert/companion_write.h"

#include <stdio.h>
#include <string.h>

#include <quoin/ops.h>

#include "common/diag.h"
#include "common/utf8.h"
#include "convert/small_volume.h"
#include "model/arch/arch.h"
#include "model/companion_map.h"
#include "model/container_facts.h"

#define DEFAULT_PAGE_LOG2 14
#define FOREIGN_TEXT_SIZE 4096
#define MAX_TIMESTAMP ((UINT64_C(1) << 60) - 1)

static const fmt_rule rule_time = {"companion-time", "18", "a companion keeps its time as a number below 2^60"};

typedef struct companion_maker {
    const companion_request *request;
    small_volume volume;
    uint64_t subject, context;
    fmt_str last_key; /* of the last statement, with its predicate: most keys are said many times */
    companion_family last_family;
    uint64_t last_predicate;
    fmt_diag *diag;
    fmt_status status; /* the first failure sticks */
} companion_maker;

static fmt_str text_of(const char *text) {
    return (fmt_str){text, strlen(text)};
}

/* ------------------------------------------------------------------------------------------------------- statements */

static uint64_t add_term(companion_maker *m, fmt_str text) {
    uint64_t hash = 0;
    if (m->status == FMT_OK) {
        m->status = small_volume_add_term(&m->volume, text, &hash, m->diag);
    }
    return hash;
}

static void add_quin(companion_maker *m, uint64_t predicate, uint64_t object, uint64_t metadata) {
    const q42_quin quin = q42_quin_make(m->subject, predicate, object, m->context, metadata);
    if (m->status == FMT_OK) {
        m->status = small_volume_add_quin(&m->volume, &quin, m->diag);
    }
}

static void say_text(companion_maker *m, const char *predicate, uint64_t metadata, fmt_str text) {
    const uint64_t hash = add_term(m, text_of(predicate));
    add_quin(m, hash, add_term(m, text), metadata);
}

static void say_word(companion_maker *m, const char *predicate, const char *word) {
    say_text(m, predicate, 0, text_of(word));
}

/* A text from outside: a term must be UTF-8, a file's name or a token may be anything. */
static void say_foreign_text(companion_maker *m, const char *predicate, uint64_t metadata, fmt_str text) {
    char room[FOREIGN_TEXT_SIZE];
    uint64_t size = text.size < sizeof room ? text.size : sizeof room;
    memcpy(room, text.data, size);
    for (uint64_t bad; (bad = utf8_first_invalid(room, size)) != UTF8_ALL_VALID;) {
        room[bad] = '?';
    }
    say_text(m, predicate, metadata, (fmt_str){room, size});
}

static void say_integer(companion_maker *m, const char *predicate, uint64_t metadata, uint64_t value) {
    add_quin(m, add_term(m, text_of(predicate)), companion_integer(value), metadata);
}

/* ------------------------------------------------------------------------------------------------------- vocabulary */

typedef struct token_walk {
    gguf_array tokens;
    gguf_iter iter;
    fmt_str last;
} token_walk;

static fmt_str get_token(void *ctx, uint32_t id) {
    token_walk *w = ctx;
    if (id < w->iter.index) {
        w->iter = gguf_iterate(&w->tokens);
    }
    while (w->iter.index <= id && gguf_next_string(&w->iter, &w->last)) {
    }
    return w->last;
}

static bool is_one_of(fmt_str token, const char *a, const char *b) {
    return (token.size == strlen(a) && memcmp(token.data, a, token.size) == 0) ||
           (b != NULL && token.size == strlen(b) && memcmp(token.data, b, token.size) == 0);
}

/* The first family in this order whose marker the vocabulary has. */
static const char *find_chat_family(token_walk *w) {
    static const struct {
        const char *family, *marker, *second;
    } table[] = {{"ChatMl", "<|im_start|>", NULL},
                 {"Llama3", "<|start_header_id|>", NULL},
                 {"Gemma4", "<|turn>", "<turn|>"},
                 {"Gemma", "<start_of_turn>", NULL},
                 {"None", NULL, NULL}};
    size_t best = sizeof table / sizeof table[0] - 1;
    for (uint32_t id = 0; id < w->tokens.count; id++) {
        const fmt_str token = get_token(w, id);
        for (size_t i = 0; i < best; i++) {
            best = is_one_of(token, table[i].marker, table[i].second) ? i : best;
        }
    }
    return table[best].family;
}

static void say_stops(companion_maker *m, token_walk *w, uint32_t eos) {
    uint32_t ids[P64_MAX_STOPS];
    const uint32_t n_tokens = (uint32_t)w->tokens.count;
    const uint32_t count = n_tokens > 0 ? p64_derive_stops(get_token, w, n_tokens, eos, ids) : 0;
    for (uint32_t i = 0, n_strings = 0; i < count; i++) {
        const fmt_str text = ids[i] < n_tokens ? get_token(w, ids[i]) : (fmt_str){"", 0};
        say_integer(m, "q42:stopTokenId", i, ids[i]);
        if (text.size > 0) {
            say_foreign_text(m, "q42:stopTokenString", n_strings++, text);
        }
    }
}

static void say_vocabulary(companion_maker *m) {
    const gguf_file *keys = &m->request->keys->file;
    p64_source_tokenizer specials = {0};
    token_walk w = {.tokens = {.type = GGUF_STRING}};
    gguf_get_array(keys, COMPANION_TOKENS_KEY, GGUF_STRINGS, &w.tokens, NULL);
    w.iter = gguf_iterate(&w.tokens);
    if (m->status == FMT_OK) {
        m->status = container_specials(keys, &specials, m->diag);
    }
    say_integer(m, "q42:bosTokenId", 0, specials.bos);
    say_integer(m, "q42:eosTokenId", 0, specials.eos);
    say_integer(m, "q42:vocabLen", 0, w.tokens.count);
    add_quin(m, add_term(m, text_of("q42:addBosToken")), companion_boolean(specials.add_bos), 0);
    say_word(m, "q42:chatFamily", find_chat_family(&w));
    say_stops(m, &w, specials.eos);
}

/* ---------------------------------------------------------------------------------------------------------- profile */

static const char *describe_weights(p64_form form) {
    switch (form) {
    case P64_FORM_Q4_K_SOA: return "Matrices of type Q4_K were rearranged; their scales lost bits.";
    case P64_FORM_F16: return "Quantised matrices were expanded to 16-bit floats.";
    case P64_FORM_FFN_Q4_0: return "The feed-forward matrices were quantised again, to Q4_0.";
    case P64_FORM_FFN_TERNARY: return "The feed-forward matrices were quantised again, to ternary.";
    default: return "Every weight is stored with the bytes of its source.";
    }
}

/* The profile knows three layouts; what else was done to the weights, a note says. */
static const char *layout_of(p64_form form) {
    return form == P64_FORM_F16 ? "F16Expand" : form == P64_FORM_Q4_K_SOA ? "Q4kSoa" : "Verbatim";
}

static void say_profile(companion_maker *m) {
    const companion_request *r = m->request;
    say_word(m, "rdf:type", COMPANION_TYPE_WORD);
    say_word(m, "q42:format", COMPANION_FORMAT_WORD);
    say_foreign_text(m, "q42:sourceGguf", 0, text_of(r->keys->source_name));
    say_foreign_text(m, "q42:p64Asset", 0, text_of(r->p64_name));
    say_word(m, "q42:layout", layout_of(r->form));
    say_integer(m, "q42:pageLog2", 0, r->page_log2 != 0 ? r->page_log2 : DEFAULT_PAGE_LOG2);
    say_integer(m, "q42:convertedUnixMs", 0, r->timestamp_ms);
    say_text(m, "q42:note", 0, text_of("This volume says what the weight container beside it has no place for."));
    say_text(m, "q42:note", 1,
             text_of("It belongs to the one container whose metadata checksum and SHA-256 it names."));
    say_text(m, "q42:note", 2, text_of(describe_weights(r->form)));
}

static void say_digest(companion_maker *m, const char *predicate, const uint8_t digest[SHA256_BYTES]) {
    char hex[SHA256_HEX_SIZE];
    sha256_to_hex(digest, hex);
    say_word(m, predicate, hex);
}

static void say_binding(companion_maker *m) {
    const companion_request *r = m->request;
    say_integer(m, "lm:p64MetadataCrc", 0, r->metadata_crc);
    say_digest(m, "lm:p64Sha256", r->p64_sha256);
    say_digest(m, "lm:sourceSha256", r->keys->source_sha256);
    say_word(m, "lm:dimsOrder", r->keys->dims_order);
    say_word(m, "lm:sourceFormat", r->keys->source_format);
    if (r->keys->rope_type != NULL) {
        say_word(m, "lm:ropeType", r->keys->rope_type);
    }
}

/* ------------------------------------------------------------------------------------------------------------- keys */

static uint64_t predicate_of(companion_maker *m, const companion_statement *s) {
    char text[Q42_MAX_TERM];
    const char *prefix = companion_prefix(s->family);
    const size_t length = strlen(prefix);
    if (m->last_predicate != 0 && m->last_key.data == s->key.data && m->last_family == s->family) {
        return m->last_predicate;
    }
    memcpy(text, prefix, length);
    memcpy(text + length, s->key.data, s->key.size);
    m->last_predicate = add_term(m, (fmt_str){text, length + s->key.size});
    m->last_key = s->key;
    m->last_family = s->family;
    return m->last_predicate;
}

static fmt_status put_statement(void *ctx, const companion_statement *s, fmt_diag *diag) {
    companion_maker *m = ctx;
    (void)diag; /* the maker's own */
    const uint64_t predicate = predicate_of(m, s);
    add_quin(m, predicate, s->is_text ? add_term(m, s->text) : s->object, s->metadata);
    return m->status;
}

/* Tokens and merges stand in the container, when it has a tokenizer section. */
static fmt_status say_keys(const key_image *image, companion_put_fn *put, void *ctx, fmt_diag *diag) {
    const bool is_in_container =
        !image->holds_tokenizer && gguf_find_kv(&image->file, COMPANION_TOKENS_KEY) != NULL;
    fmt_status status = FMT_OK;
    for (uint64_t i = 0; i < image->file.n_kv && status == FMT_OK; i++) {
        const gguf_kv *kv = &image->file.kvs[i];
        status = companion_say_key(kv, (uint32_t)i, is_in_container && companion_is_held_key(kv->key), put, ctx, diag);
    }
    return status;
}

static fmt_status put_nowhere(void *ctx, const companion_statement *s, fmt_diag *diag) {
    (void)ctx;
    (void)s;
    (void)diag;
    return FMT_OK;
}

fmt_status companion_check_keys(const key_image *keys, fmt_diag *diag) {
    return say_keys(keys, put_nowhere, NULL, diag);
}

fmt_status companion_write(const companion_request *request, const q42_sink *sink, q42_write_report *out_report,
                           fmt_diag *diag) {
    companion_maker m = {.request = request, .subject = q42_hash(request->p64_name, strlen(request->p64_name)),
                         .diag = diag};
    if (request->timestamp_ms > MAX_TIMESTAMP) {
        return diag_refuse(diag, FMT_LIMIT, &rule_time, (diag_place){0, FMT_NO_INDEX, MAX_TIMESTAMP, request->timestamp_ms},
                           "the time is %llu ms", (unsigned long long)request->timestamp_ms);
    }
    m.context = add_term(&m, text_of(COMPANION_CONTEXT));
    say_profile(&m);
    say_vocabulary(&m);
    say_binding(&m);
    if (m.status == FMT_OK) {
        m.status = say_keys(request->keys, put_statement, &m, diag);
    }
    if (m.status == FMT_OK) {
        m.status = small_volume_write(&m.volume, request->timestamp_ms, sink, out_report, diag);
    }
    small_volume_free(&m.volume);
    return m.status;
}

void key_image_of_gguf(const gguf_file *file, const char *path, key_image *out_image) {
    const char *slash = strrchr(path, '/');
    char name[HPARAMS_ARCH_SIZE] = "";
    fmt_str arch = {"", 0};
    gguf_get_string(file, "general.architecture", &arch, NULL);
    snprintf(name, sizeof name, "%.*s", (int)(arch.size < sizeof name ? arch.size : 0), arch.data);
    const arch_traits *traits = arch_find(name);
    *out_image = (key_image){.file = *file,
                             .rope_type = traits == NULL ? NULL
                                          : traits->pairing == QN_ROPE_ADJACENT ? "adjacent" : "half",
                             .dims_order = "ggml",
                             .source_format = "gguf",
                             .source_name = slash != NULL ? slash + 1 : path};
}
