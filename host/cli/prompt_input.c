/* prompt_input.c — reading prompts. */
#include "cli/prompt_input.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/text_buffer.h"
#include "text/chat_template.h"

#define MAX_PROMPT_BYTES (UINT64_C(1) << 30)

void prompt_options_init(prompt_options *p, option rows[PROMPT_OPTION_ROWS]) {
    memset(p, 0, sizeof *p);
    const option filled[PROMPT_OPTION_ROWS] = {
        {OPTION_STRING, "prompt", 'p', "TEXT", "the prompt", &p->text, 0, 0, NULL, NULL},
        {OPTION_STRING, "prompt-file", 'f', "FILE",
         "the prompt is the content of FILE, every byte of it; - is standard input", &p->file, 0, 0, NULL, NULL},
        {OPTION_STRING, "prompt-tokens", 0, "IDS", "the prompt as token ids: 1,403,407; nothing is added", &p->tokens,
         0, 0, NULL, NULL},
        {OPTION_FLAG, "special", 0, NULL, "the prompt may spell control tokens such as <|im_end|>", &p->is_special, 0,
         0, NULL, NULL},
        {OPTION_FLAG, "no-bos", 0, NULL, "do not put the BOS token first", &p->no_bos, 0, 0, NULL, NULL},
        {OPTION_FLAG, "chat", 0, NULL, "wrap the prompt as one user turn of the model's chat template", &p->is_chat, 0,
         0, NULL, NULL},
        {OPTION_STRING, "template", 0, "NAME",
         "with --chat: the template family, when the model's own is not recognised", &p->family, 0, 0, NULL, NULL},
        {OPTION_STRING, "system", 0, "TEXT", "with --chat: what the assistant is told first", &p->system, 0, 0, NULL,
         NULL}};
    memcpy(rows, filled, sizeof filled);
}

qn_status prompt_check_options(const prompt_options *p, error_context *err) {
    const int n_sources = (p->text != NULL) + (p->file != NULL) + (p->tokens != NULL);
    if (n_sources != 1) {
        return FAIL(err, QN_BAD_INPUT,
                    "give exactly one of --prompt TEXT, --prompt-file FILE and --prompt-tokens IDS; %d were given",
                    n_sources);
    }
    if (p->is_chat && (p->tokens != NULL || p->is_special || p->no_bos)) {
        return FAIL(err, QN_BAD_INPUT,
                    "--chat takes text as a user's words: it does not go with --prompt-tokens, --special or --no-bos");
    }
    if (!p->is_chat && (p->family != NULL || p->system != NULL)) {
        return FAIL(err, QN_BAD_INPUT, "--template and --system need --chat");
    }
    return QN_OK;
}

static qn_status read_stream(FILE *stream, const char *path, char **out_text, size_t *out_size, error_context *err) {
    size_t capacity = 65536, size = 0;
    char *text = malloc(capacity);
    setvbuf(stream, NULL, _IONBF, 0); /* a prompt stands nowhere but where it is wanted */
    errno = 0;
    while (text != NULL) {
        size += fread(text + size, 1, capacity - size - 1, stream);
        if (size + 1 < capacity) {
            break;
        }
        char *grown = capacity < MAX_PROMPT_BYTES ? scrub_grow(text, size, capacity * 2) : NULL;
        if (grown == NULL) {
            scrub_free(text, capacity);
        }
        text = grown;
        capacity *= 2;
    }
    if (text == NULL) {
        return FAIL(err, QN_LIMIT, "%s: does not fit in memory, or is longer than 1 GiB", path);
    }
    if (ferror(stream)) {
        const int number = errno;
        scrub_free(text, capacity);
        return number == EINTR ? FAIL(err, QN_CANCELLED, "%s: interrupted while reading", path)
                               : error_from_errno(err, number, path, "cannot read it");
    }
    text[size] = '\0';
    *out_text = text;
    *out_size = size;
    return QN_OK;
}

qn_status prompt_read_file(const char *path, char **out_text, size_t *out_size, error_context *err) {
    if (strcmp(path, "-") == 0) {
        return read_stream(stdin, "standard input", out_text, out_size, err);
    }
    FILE *stream = fopen(path, "rbe");
    if (stream == NULL) {
        return error_from_errno(err, errno, path, "cannot open it");
    }
    const qn_status status = read_stream(stream, path, out_text, out_size, err);
    fclose(stream);
    return status;
}

qn_status prompt_parse_tokens(const char *text, token_list *out, error_context *err) {
    const char *at = text;
    do {
        uint64_t id = 0;
        const char *begin = at;
        while (*at >= '0' && *at <= '9' && id < UINT32_MAX) {
            id = id * 10 + (uint64_t)(*at++ - '0');
        }
        if (at == begin || id >= UINT32_MAX || (*at != ',' && *at != '\0')) {
            return FAIL(err, QN_BAD_INPUT,
                        "--prompt-tokens: column %zu: ids are whole numbers with commas between, such as 1,403,407",
                        (size_t)(at - text) + 1);
        }
        QN_TRY(token_list_push(out, (uint32_t)id, err), err, "reading --prompt-tokens");
    } while (*at++ == ',');
    return QN_OK;
}

/* The preface and the user's words as one message. A preface is guarded like any message. */
static qn_status join_preface(const prompt_input *input, const char *text, text_buffer *out, error_context *err) {
    const bool is_done = text_buffer_append(out, input->preface.data, (size_t)input->preface.size) &&
                         text_buffer_append(out, text, input->text_bytes);
    return is_done ? QN_OK : FAIL(err, QN_NO_HOST_MEM, "out of memory");
}

static qn_status encode_chat(const prompt_options *p, const model *m, const char *text, prompt_input *out,
                             error_context *err) {
    chat_template form;
    chat_message messages[2];
    size_t n = 0;
    QN_TRY(p->family != NULL ? chat_template_by_name(p->family, &form, err)
                             : chat_template_recognise(m->chat_template, &form, err),
           err, "choosing the chat template");
    if (p->system != NULL) {
        messages[n++] = (chat_message){CHAT_SYSTEM, p->system, strlen(p->system)};
    }
    text_buffer words = {.text = NULL};
    qn_status status = join_preface(out, text, &words, err);
    if (status == QN_OK) {
        messages[n++] = (chat_message){CHAT_USER, words.text, words.size};
        out->starts_text = true;
        chat_template_stop_ids(&form, m->tok, &out->stops);
        status = chat_template_encode(&form, m->tok, messages, n, true, &out->ids, err);
    }
    text_buffer_free(&words);
    return status;
}

qn_status prompt_load(const prompt_options *p, prompt_input *out, error_context *err) {
    memset(out, 0, sizeof *out);
    if (p->tokens != NULL) {
        return prompt_parse_tokens(p->tokens, &out->ids, err);
    }
    if (p->file != NULL) {
        return prompt_read_file(p->file, &out->text, &out->text_bytes, err);
    }
    out->text_bytes = strlen(p->text);
    return QN_OK;
}

qn_status prompt_encode(const prompt_options *p, const model *m, prompt_input *input, error_context *err) {
    const char *text = input->text != NULL ? input->text : p->text;
    if (p->tokens != NULL) {
        return QN_OK;
    }
    if (p->is_chat) {
        return encode_chat(p, m, text, input, err);
    }
    if (m->chat_template.size > 0) {
        log_line(QN_LOG_INFO, "this model has a chat template; the prompt is taken as given (--chat wraps it)");
    }
    const uint32_t flags = p->no_bos ? 0 : ENCODE_ADD_BOS;
    const encode_part parts[] = {{input->preface.data, (size_t)input->preface.size, false, true, TOKEN_NONE},
                                 {text, input->text_bytes, p->is_special, false, TOKEN_NONE}};
    const uint32_t first = input->preface.size > 0 ? 0 : 1;
    QN_TRY(tokenizer_encode_parts(m->tok, parts + first, 2 - first, flags, &input->ids, err), err, "encoding the prompt");
    input->starts_text = input->text_bytes + input->preface.size == 0;
    return QN_OK;
}

void prompt_free(prompt_input *input) {
    scrub_free(input->text, input->text != NULL ? input->text_bytes + 1 : 0);
    token_list_free(&input->ids);
    memset(input, 0, sizeof *input);
}

void prompt_forget(prompt_options *p, scrub_report *report) {
    const char *const words[] = {p->text, p->tokens, p->system};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (words[i] != NULL) { /* arguments belong to the program, which may change them */
            scrub_memory(report, SCRUB_TEXT, (char *)(uintptr_t)words[i], strlen(words[i]));
        }
    }
}
