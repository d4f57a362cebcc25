/* fuzz_chat_template.c — templates and messages of any bytes. The data is flags, then the template up to a zero byte (or the
 * template of a GGUF file), then the messages, split by zero bytes.
 *
 * What is demanded: a refusal has words; and whatever the messages say, the conversation has as many control tokens as with
 * empty messages: nobody can forge a turn. */
#include <stdlib.h>
#include <string.h>

#include "text/chat_template.h"

#define REQUIRE(condition) \
    do { \
        if (!(condition)) { \
            abort(); \
        } \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_MESSAGES = 6, N_SPECIAL = 16 };

/* A byte-level vocabulary with the separators of all families, half of them as added tokens. */
static tokenizer *make_tokenizer(void) {
    static const char *const special[N_SPECIAL] = {
        "<s>", "</s>", "<|im_start|>", "<|im_end|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>", "<start_of_turn>",
        "<end_of_turn>", "[INST]", "[/INST]", "<|user|>", "<|assistant|>", "<|end|>", "<|system|>", "<|im_sep|>"};
    static char single[256][8];
    static fmt_str tokens[256 + N_SPECIAL];
    static int32_t kinds[256 + N_SPECIAL];
    static const tokenizer_merge merge = {{"a", 1}, {"b", 1}};
    unsigned n_hidden = 0;
    for (unsigned byte = 0; byte < 256; byte++) {
        const bool prints = (byte > ' ' && byte < 0x7f) || (byte >= 0xa1 && byte != 0xad);
        const unsigned code = prints ? byte : 0x100 + n_hidden++;
        single[byte][0] = (char)(code < 0x80 ? code : 0xc0 | code >> 6);
        single[byte][1] = (char)(0x80 | (code & 0x3f));
        tokens[byte] = (fmt_str){single[byte], code < 0x80 ? 1 : 2};
        kinds[byte] = TOKEN_KIND_NORMAL;
    }
    for (unsigned i = 0; i < N_SPECIAL; i++) {
        tokens[256 + i] = (fmt_str){special[i], strlen(special[i])};
        kinds[256 + i] = i < 2 || i % 2 == 0 ? TOKEN_KIND_CONTROL : TOKEN_KIND_USER_DEFINED;
    }
    const tokenizer_facts facts = {.model = {"gpt2", 4}, .pre = {"gpt-2", 5}, .n_tokens = 256 + N_SPECIAL, .tokens = tokens,
                                   .kinds = kinds, .n_merges = 1, .merges = &merge, .bos = 256, .eos = 257, .unk = TOKEN_NONE,
                                   .eot = TOKEN_NONE, .eom = TOKEN_NONE, .pad = TOKEN_NONE};
    tokenizer *tok = NULL;
    REQUIRE(tokenizer_create(&facts, &tok, NULL) == QN_OK);
    return tok;
}

static size_t count_special(const token_list *ids) {
    size_t n = 0;
    for (size_t i = 0; i < ids->count; i++) {
        n += ids->ids[i] >= 256;
    }
    return n;
}

static void compare_with_empty(const chat_template *t, const tokenizer *tok, const chat_message *messages, size_t n, bool asks) {
    chat_message empty[MAX_MESSAGES];
    token_list ids = {0}, bare = {0};
    error_context err = {0};
    char *text = NULL;
    size_t text_size = 0;
    for (size_t i = 0; i < n; i++) {
        empty[i] = (chat_message){messages[i].role, NULL, 0};
    }
    const qn_status status = chat_template_encode(t, tok, messages, n, asks, &ids, &err);
    if (status == QN_OK) {
        REQUIRE(chat_template_encode(t, tok, empty, n, asks, &bare, NULL) == QN_OK);
        REQUIRE(count_special(&ids) == count_special(&bare));
        REQUIRE(chat_template_render(t, tok, messages, n, asks, &text, &text_size, NULL) == QN_OK);
        REQUIRE(text[text_size] == '\0');
        free(text);
    } else {
        REQUIRE(ids.count == 0 && error_text(&err)[0] != '\0');
    }
    token_list_free(&ids);
    token_list_free(&bare);
}

static size_t split_messages(const uint8_t *data, size_t size, unsigned flags, chat_message *messages) {
    size_t n = 0, at = 0;
    while (n < MAX_MESSAGES && at <= size) {
        const uint8_t *end = size > at ? memchr(data + at, 0, size - at) : NULL;
        const size_t stop = end != NULL ? (size_t)(end - data) : size;
        const chat_role role = n == 0 && (flags & 1) != 0 ? CHAT_SYSTEM : n % 2 == (flags & 1) ? CHAT_USER : CHAT_ASSISTANT;
        messages[n++] = (chat_message){role, (const char *)data + at, stop - at};
        at = stop + 1;
    }
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static tokenizer *tok;
    chat_message messages[MAX_MESSAGES];
    chat_template t;
    error_context err = {0};
    if (size < 2 || size > 65536) {
        return 0;
    }
    if (tok == NULL) {
        tok = make_tokenizer();
    }
    const uint8_t *end = memchr(data + 1, 0, size - 1);
    const size_t source_size = end != NULL ? (size_t)(end - data) - 1 : size - 1;
    const fmt_str source = {(const char *)data + 1, source_size};
    const size_t at = source_size + 2 < size ? source_size + 2 : size;
    const size_t n = split_messages(data + at, size - at, data[0], messages);
    qn_status status = chat_template_recognise(source, &t, &err);
    if (status != QN_OK) {
        REQUIRE(error_text(&err)[0] != '\0');
        static const char *const names[] = {"chatml", "llama2", "llama3", "gemma", "mistral-v1", "mistral-tekken", "phi3", "zephyr"};
        status = chat_template_by_name(names[data[0] >> 5], &t, &err);
    }
    REQUIRE(status == QN_OK && strlen(t.default_system) < sizeof t.default_system);
    compare_with_empty(&t, tok, messages, n, (data[0] & 2) != 0);
    return 0;
}
