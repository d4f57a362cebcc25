/* chat_render.c — a conversation as parts: the template's own words, the messages' texts, and tokens between them. */
#include <stdlib.h>
#include <string.h>

#include "text/chat_template.h"

typedef struct renderer {
    const chat_template *t;
    const tokenizer_facts *facts;
    encode_part *parts; /* [capacity] */
    size_t n_parts, capacity;
} renderer;

/* More than any family puts around one message. */
enum { PARTS_PER_MESSAGE = 10, PARTS_AROUND = 10 };

static void put_bytes(renderer *r, const char *text, size_t size, bool is_special) {
    if (size > 0 && r->n_parts < r->capacity) {
        r->parts[r->n_parts++] = (encode_part){text, size, is_special, !is_special, TOKEN_NONE};
    }
}

/* Words of the template: may spell control tokens. */
static void put(renderer *r, const char *words) {
    put_bytes(r, words, strlen(words), true);
}

static void put_token(renderer *r, uint32_t id) {
    if (id != TOKEN_NONE && r->n_parts < r->capacity) {
        r->parts[r->n_parts++] = (encode_part){NULL, 0, false, false, id};
    }
}

static bool is_white(char byte) {
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

static chat_message trim_left(chat_message m) {
    while (m.size > 0 && is_white(m.text[0])) {
        m.text++;
        m.size--;
    }
    return m;
}

static chat_message trim_right(chat_message m) {
    while (m.size > 0 && is_white(m.text[m.size - 1])) {
        m.size--;
    }
    return m;
}

/* An answer without what the model thought before it. */
static chat_message drop_thoughts(chat_message m) {
    static const char end[] = "</think>";
    const size_t end_size = sizeof end - 1;
    for (size_t at = m.size; at >= end_size; at--) {
        if (memcmp(m.text + at - end_size, end, end_size) == 0) {
            m.text += at;
            m.size -= at;
            while (m.size > 0 && m.text[0] == '\n') {
                m.text++;
                m.size--;
            }
            break;
        }
    }
    return m;
}

static void put_message(renderer *r, chat_message m) {
    if (m.role == CHAT_ASSISTANT && r->t->drops_thoughts) {
        m = drop_thoughts(m);
    }
    if (r->t->trims) {
        m = trim_left(trim_right(m));
    }
    put_bytes(r, m.text, m.size, false);
}

/* Families in which every turn has a head, the text, and an end. */
typedef struct turn_style {
    const char *heads[3]; /* by role; null: there is no system turn, its text goes before that of the first user turn */
    bool has_eos;         /* EOS stands between the text and `end` */
    const char *end;
} turn_style;

static const turn_style *find_style(chat_family family) {
    static const turn_style chatml = {
        {"<|im_start|>system\n", "<|im_start|>user\n", "<|im_start|>assistant\n"}, false, "<|im_end|>\n"};
    static const turn_style llama3 = {{"<|start_header_id|>system<|end_header_id|>\n\n",
                                       "<|start_header_id|>user<|end_header_id|>\n\n",
                                       "<|start_header_id|>assistant<|end_header_id|>\n\n"}, false, "<|eot_id|>"};
    static const turn_style gemma = {{NULL, "<start_of_turn>user\n", "<start_of_turn>model\n"}, false, "<end_of_turn>\n"};
    static const turn_style phi3 = {{"<|system|>\n", "<|user|>\n", "<|assistant|>\n"}, false, "<|end|>\n"};
    static const turn_style phi4 = {
        {"<|im_start|>system<|im_sep|>", "<|im_start|>user<|im_sep|>", "<|im_start|>assistant<|im_sep|>"}, false, "<|im_end|>"};
    static const turn_style phi4_mini = {{"<|system|>", "<|user|>", "<|assistant|>"}, false, "<|end|>"};
    static const turn_style zephyr = {{"<|system|>\n", "<|user|>\n", "<|assistant|>\n"}, true, "\n"};
    switch (family) {
    case CHAT_CHATML: return &chatml;
    case CHAT_LLAMA3: return &llama3;
    case CHAT_GEMMA: return &gemma;
    case CHAT_PHI3: return &phi3;
    case CHAT_PHI4: return &phi4;
    case CHAT_PHI4_MINI: return &phi4_mini;
    case CHAT_ZEPHYR: return &zephyr;
    default: return NULL; /* the [INST] families */
    }
}

static void end_turn(renderer *r, const turn_style *style) {
    if (style->has_eos) {
        put_token(r, r->facts->eos);
    }
    put(r, style->end);
}

/* The system turn that a template has of its own accord, when the conversation brings none. */
static void put_own_system(renderer *r, const turn_style *style, const chat_message *system) {
    static const char dates[] = "Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n";
    const chat_template *t = r->t;
    if (style->heads[CHAT_SYSTEM] == NULL || (system == NULL && !t->has_date_preamble && t->default_system[0] == '\0')) {
        return;
    }
    put(r, style->heads[CHAT_SYSTEM]);
    if (t->has_date_preamble) {
        put(r, dates);
    }
    if (system != NULL) {
        put_message(r, *system);
    } else {
        put_bytes(r, t->default_system, strlen(t->default_system), false);
    }
    end_turn(r, style);
}

static void render_turns(renderer *r, const turn_style *style, const chat_message *messages, size_t n_messages, bool asks) {
    const chat_message *system = messages[0].role == CHAT_SYSTEM ? &messages[0] : NULL;
    bool has_folded = system == NULL || style->heads[CHAT_SYSTEM] != NULL;
    put_own_system(r, style, system);
    for (size_t i = system != NULL ? 1 : 0; i < n_messages; i++) {
        put(r, style->heads[messages[i].role]);
        if (!has_folded && messages[i].role == CHAT_USER) {
            put_bytes(r, system->text, system->size, false);
            put(r, "\n\n");
            has_folded = true;
        }
        put_message(r, messages[i]);
        end_turn(r, style);
    }
    if (asks) {
        put(r, style->heads[CHAT_ASSISTANT]);
        put(r, r->t->answer_head);
    }
}

/* Families in which [INST] and [/INST] stand around the user's turn. */
typedef struct inst_style {
    const char *begin, *end;
    const char *system_begin, *system_end; /* "" and "\n\n" where the text is just put in front */
    bool has_system_turn;                  /* the system text stands outside of [INST] */
} inst_style;

static inst_style find_inst_style(const chat_template *t) {
    switch (t->family) {
    case CHAT_LLAMA2: return (inst_style){"[INST] ", " [/INST]", "<<SYS>>\n", "\n<</SYS>>\n\n", false};
    case CHAT_MISTRAL_V3: return (inst_style){"[INST] ", "[/INST]", "", "\n\n", false};
    case CHAT_MISTRAL_TEKKEN: return (inst_style){"[INST]", "[/INST]", "", "\n\n", false};
    case CHAT_MISTRAL_V7: return (inst_style){"[INST] ", "[/INST]", "[SYSTEM_PROMPT] ", "[/SYSTEM_PROMPT]", true};
    case CHAT_MISTRAL_V7_TEKKEN: return (inst_style){"[INST]", "[/INST]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", true};
    default: return (inst_style){t->has_bare_inst ? "[INST] " : " [INST] ", " [/INST]", "", "\n\n", false};
    }
}

static size_t find_turn_for_system(const chat_template *t, const chat_message *messages, size_t n_messages) {
    size_t found = n_messages;
    for (size_t i = 0; i < n_messages; i++) {
        if (messages[i].role == CHAT_USER && (found == n_messages || t->folds_system_last)) {
            found = i;
        }
    }
    return found;
}

static void put_system(renderer *r, const inst_style *style, const chat_message *system) {
    put(r, style->system_begin);
    put_bytes(r, system->text, system->size, false);
    put(r, style->system_end);
}

static void put_answer(renderer *r, chat_message answer) {
    const bool is_llama2 = r->t->family == CHAT_LLAMA2;
    if (r->t->drops_thoughts) {
        answer = drop_thoughts(answer);
    }
    if (!r->t->has_bare_answer) {
        put(r, " ");
        answer = trim_left(trim_right(answer));
    }
    put_bytes(r, answer.text, answer.size, false);
    if (is_llama2) {
        put(r, " ");
    }
    put_token(r, r->facts->eos);
}

static void render_inst(renderer *r, const chat_message *messages, size_t n_messages) {
    const inst_style style = find_inst_style(r->t);
    const chat_message *system = messages[0].role == CHAT_SYSTEM ? &messages[0] : NULL;
    const size_t system_turn = system != NULL && !style.has_system_turn
                                   ? find_turn_for_system(r->t, messages, n_messages) : n_messages;
    bool has_user_before = false;
    if (system != NULL && style.has_system_turn) {
        put_system(r, &style, system);
    }
    for (size_t i = 0; i < n_messages; i++) {
        chat_message m = messages[i];
        if (m.role == CHAT_ASSISTANT) {
            put_answer(r, m);
        } else if (m.role == CHAT_USER) {
            if (r->t->has_bos_each_turn && has_user_before) {
                put_token(r, r->facts->bos);
            }
            has_user_before = true;
            put(r, style.begin);
            if (i == system_turn) {
                put_system(r, &style, system);
            }
            m = r->t->trims ? trim_right(m) : m;
            m = r->t->trims && i != system_turn ? trim_left(m) : m;
            put_bytes(r, m.text, m.size, false);
            put(r, style.end);
        }
    }
}

static qn_status check_messages(const chat_message *messages, size_t n_messages, error_context *err) {
    if (n_messages == 0) {
        return FAIL(err, QN_BAD_INPUT, "a conversation needs at least one message");
    }
    for (size_t i = 1; i < n_messages; i++) {
        if (messages[i].role == CHAT_SYSTEM) {
            return FAIL(err, QN_BAD_INPUT, "message %zu of the conversation is a system message; only the first one may be", i + 1);
        }
    }
    return QN_OK;
}

/* Fills *r with the parts; the caller frees r->parts. */
static qn_status render(const chat_template *t, const tokenizer *tok, const chat_message *messages, size_t n_messages,
                        bool asks, renderer *r, error_context *err) {
    const qn_status status = check_messages(messages, n_messages, err);
    if (status < 0) {
        return status;
    }
    *r = (renderer){.t = t, .facts = tokenizer_get_facts(tok)};
    r->capacity = n_messages < SIZE_MAX / 1024 ? n_messages * PARTS_PER_MESSAGE + PARTS_AROUND : 0;
    r->parts = malloc(r->capacity * sizeof *r->parts + 1);
    if (r->parts == NULL || r->capacity == 0) {
        free(r->parts);
        return FAIL(err, QN_NO_HOST_MEM, "no memory for a conversation of %zu messages", n_messages);
    }
    if (t->has_bos || r->facts->add_bos) {
        put_token(r, r->facts->bos);
    }
    const turn_style *style = find_style(t->family);
    if (style != NULL) {
        render_turns(r, style, messages, n_messages, asks);
    } else {
        render_inst(r, messages, n_messages); /* after [/INST] it is the assistant's turn anyway */
    }
    return QN_OK;
}

qn_status chat_template_encode(const chat_template *t, const tokenizer *tok, const chat_message *messages, size_t n_messages,
                               bool add_generation_prompt, token_list *out, error_context *err) {
    renderer r;
    qn_status status = render(t, tok, messages, n_messages, add_generation_prompt, &r, err);
    if (status >= 0) {
        status = tokenizer_encode_parts(tok, r.parts, r.n_parts, 0, out, err);
        free(r.parts);
    }
    return status;
}

/* Appends a part's token and text at `at`, which may be null: then it only counts. */
static size_t print_part(const tokenizer *tok, const encode_part *part, char *at) {
    fmt_str spelling = {"", 0};
    if (part->token != TOKEN_NONE) {
        spelling = tokenizer_get_facts(tok)->tokens[part->token];
    }
    if (at != NULL) {
        memcpy(at, spelling.data, (size_t)spelling.size);
        if (part->size > 0) {
            memcpy(at + spelling.size, part->text, part->size);
        }
    }
    return (size_t)spelling.size + part->size;
}

qn_status chat_template_render(const chat_template *t, const tokenizer *tok, const chat_message *messages,
                               size_t n_messages, bool add_generation_prompt, char **out_text, size_t *out_size,
                               error_context *err) {
    renderer r;
    const qn_status status = render(t, tok, messages, n_messages, add_generation_prompt, &r, err);
    if (status < 0) {
        return status;
    }
    size_t size = 0, at = 0;
    for (size_t i = 0; i < r.n_parts; i++) {
        size += print_part(tok, &r.parts[i], NULL);
    }
    char *text = malloc(size + 1);
    for (size_t i = 0; text != NULL && i < r.n_parts; i++) {
        at += print_part(tok, &r.parts[i], text + at);
    }
    free(r.parts);
    if (text == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "no memory for a conversation of %zu bytes", size);
    }
    text[size] = '\0';
    *out_text = text;
    *out_size = size;
    return QN_OK;
}
