/* chat_template.c — recognising a family from a template's text. */
#include "text/chat_template.h"

#include <string.h>

typedef struct family_entry {
    const char *name;
    const char *end_of_turn;
    bool has_bos, trims; /* when the family is chosen by name */
} family_entry;

static const family_entry families[CHAT_N_FAMILIES] = {
    [CHAT_CHATML] = {"chatml", "<|im_end|>", false, false},
    [CHAT_LLAMA2] = {"llama2", "", true, true},
    [CHAT_LLAMA3] = {"llama3", "<|eot_id|>", true, true},
    [CHAT_GEMMA] = {"gemma", "<end_of_turn>", true, true},
    [CHAT_MISTRAL_V1] = {"mistral-v1", "", true, false},
    [CHAT_MISTRAL_V3] = {"mistral-v3", "", true, false},
    [CHAT_MISTRAL_TEKKEN] = {"mistral-tekken", "", true, false},
    [CHAT_MISTRAL_V7] = {"mistral-v7", "", true, false},
    [CHAT_MISTRAL_V7_TEKKEN] = {"mistral-v7-tekken", "", true, false},
    [CHAT_PHI3] = {"phi3", "<|end|>", false, false},
    [CHAT_PHI4] = {"phi4", "<|im_end|>", false, false},
    [CHAT_PHI4_MINI] = {"phi4-mini", "<|end|>", false, false},
    [CHAT_ZEPHYR] = {"zephyr", "", false, false},
};

const char *chat_template_names(void) {
    return "chatml, llama2, llama3, gemma, mistral-v1, mistral-v3, mistral-tekken, mistral-v7, mistral-v7-tekken, phi3, phi4, "
           "phi4-mini, zephyr";
}

const char *chat_template_name(const chat_template *t) {
    return families[t->family].name;
}

const char *chat_template_end_of_turn(const chat_template *t) {
    return families[t->family].end_of_turn;
}

void chat_template_stop_ids(const chat_template *t, const tokenizer *tok, stop_set *set) {
    const char *marker = families[t->family].end_of_turn;
    if (marker[0] != '\0') {
        stop_set_add(set, tokenizer_find_special(tok, marker));
    }
    if (t->family == CHAT_LLAMA3) {
        stop_set_add(set, tokenizer_find_special(tok, "<|eom_id|>"));
    }
    stop_set_add(set, tokenizer_get_facts(tok)->eos);
}

static void start_template(chat_template *t, chat_family family) {
    memset(t, 0, sizeof *t);
    t->family = family;
    t->has_bos = families[family].has_bos;
    t->trims = families[family].trims;
    t->has_bos_each_turn = family == CHAT_LLAMA2;
    t->has_bare_answer = family == CHAT_MISTRAL_TEKKEN || family == CHAT_MISTRAL_V7_TEKKEN;
    t->folds_system_last = family == CHAT_MISTRAL_V3 || family == CHAT_MISTRAL_TEKKEN;
}

qn_status chat_template_by_name(const char *name, chat_template *out_template, error_context *err) {
    for (int family = 0; family < CHAT_N_FAMILIES; family++) {
        if (strcmp(families[family].name, name) == 0) {
            start_template(out_template, (chat_family)family);
            return QN_OK;
        }
    }
    return FAIL(err, QN_BAD_INPUT, "--template %s: no chat template has this name; there are %s", name, chat_template_names());
}

/* Position of `word` in the text from `from` on, or the size of the text. */
static size_t find_from(fmt_str text, size_t from, const char *word) {
    const size_t size = strlen(word);
    for (size_t at = from; size <= text.size && at <= text.size - size; at++) {
        const char *next = memchr(text.data + at, word[0], (size_t)text.size - size - at + 1);
        if (next == NULL) {
            break;
        }
        at = (size_t)(next - text.data);
        if (memcmp(next, word, size) == 0) {
            return at;
        }
    }
    return (size_t)text.size;
}

static bool has(fmt_str text, const char *word) {
    return find_from(text, 0, word) < text.size;
}

static bool has_bos_before_inst(fmt_str source) {
    return has(source, "bos_token + '[INST]") || has(source, "bos_token + \"[INST]");
}

/* [INST] is shared by Llama 2 and all of Mistral; the spaces around it tell them apart. */
static chat_family recognise_inst(fmt_str source) {
    if (has(source, "<<SYS>>") || has_bos_before_inst(source)) {
        return CHAT_LLAMA2;
    }
    if (has(source, "[SYSTEM_PROMPT]")) {
        return has(source, "[SYSTEM_PROMPT] ") ? CHAT_MISTRAL_V7 : CHAT_MISTRAL_V7_TEKKEN;
    }
    if (has(source, " [/INST]")) {
        return CHAT_MISTRAL_V1;
    }
    return has(source, "[INST] ") ? CHAT_MISTRAL_V3 : CHAT_MISTRAL_TEKKEN;
}

/* CHAT_N_FAMILIES: none of them. */
static chat_family recognise_family(fmt_str source) {
    if (has(source, "<|im_start|>")) {
        return has(source, "<|im_sep|>") ? CHAT_PHI4 : CHAT_CHATML;
    }
    if (has(source, "<|start_header_id|>")) {
        return CHAT_LLAMA3;
    }
    if (has(source, "<start_of_turn>")) {
        return CHAT_GEMMA;
    }
    if (has(source, "[INST]") && has(source, "[/INST]")) {
        return recognise_inst(source);
    }
    if (has(source, "<|assistant|>") && has(source, "<|end|>")) {
        const bool has_lines = has(source, "<|end|>\\n") || has(source, "<|end|>\n") || has(source, "<|end|>' + '") ||
                               has(source, "<|end|>\" + \"");
        return has_lines ? CHAT_PHI3 : CHAT_PHI4_MINI;
    }
    if (has(source, "<|user|>") && has(source, "<|assistant|>") && has(source, "eos_token")) {
        return CHAT_ZEPHYR;
    }
    return CHAT_N_FAMILIES;
}

/* Copies a string of the template language from `at` up to `stop`, escapes undone. False: it is no literal up to there,
 * because the closing `quote` comes first (or, without quotes, an expression). *out_size counts what does not fit too. */
static bool copy_literal(fmt_str source, size_t at, size_t stop, char quote, char *out, size_t room, size_t *out_size) {
    size_t n = 0;
    for (; at < stop; at++) {
        char byte = source.data[at];
        if (byte == quote || (quote == '\0' && byte == '{')) {
            return false;
        }
        if (byte == '\\' && at + 1 < stop) {
            byte = source.data[++at];
            byte = byte == 'n' ? '\n' : byte == 't' ? '\t' : byte;
        }
        if (n < room) {
            out[n] = byte;
        }
        n++;
    }
    *out_size = n;
    return true;
}

/* Behind "\n", spelled with a backslash or as it is; `at` when there is none. */
static size_t skip_line_break(fmt_str source, size_t at) {
    if (at + 1 < source.size && source.data[at] == '\\' && source.data[at + 1] == 'n') {
        return at + 2;
    }
    return at < source.size && source.data[at] == '\n' ? at + 1 : at;
}

/* Size of the system message that a ChatML template has built in, copied to `out`; 0 when it has none. */
static size_t find_default_system(fmt_str source, char *out, size_t room) {
    static const char head[] = "<|im_start|>system", end[] = "<|im_end|>", set[] = "set system_message = ";
    size_t size;
    for (size_t at = find_from(source, 0, head); at < source.size; at = find_from(source, at + 1, head)) {
        const char before = at > 0 ? source.data[at - 1] : '\0';
        const char quote = before == '\'' || before == '"' ? before : '\0';
        const size_t text = skip_line_break(source, at + sizeof head - 1);
        const size_t stop = find_from(source, text, end);
        if (text > at + sizeof head - 1 && stop < source.size && copy_literal(source, text, stop, quote, out, room, &size)) {
            return size;
        }
    }
    for (size_t at = find_from(source, 0, set); at < source.size; at = find_from(source, at + 1, set)) {
        const size_t text = at + sizeof set;
        const char quote = text <= source.size ? source.data[text - 1] : '\0';
        const char close[2] = {quote, '\0'};
        if ((quote == '\'' || quote == '"') && text < source.size) {
            size_t stop = find_from(source, text, close);
            while (stop < source.size && source.data[stop - 1] == '\\') {
                stop = find_from(source, stop + 1, close);
            }
            return stop < source.size && copy_literal(source, text, stop, quote, out, room, &size) ? size : 0;
        }
    }
    return 0;
}

/* What stands behind the assistant's head in the generation prompt of a ChatML template: "<think>\n", say. */
static void find_answer_head(fmt_str source, char *out, size_t room) {
    static const char asks[] = "add_generation_prompt", head[] = "<|im_start|>assistant";
    size_t from = 0, size;
    for (size_t at = find_from(source, 0, asks); at < source.size; at = find_from(source, at + 1, asks)) {
        from = at;
    }
    const size_t at = find_from(source, from, head);
    if (from == 0 || at == source.size || at == 0) {
        return;
    }
    const char quote = source.data[at - 1];
    const char close[2] = {quote, '\0'};
    const size_t text = skip_line_break(source, at + sizeof head - 1);
    const size_t stop = quote == '\'' || quote == '"' ? find_from(source, text, close) : (size_t)source.size;
    if (stop < source.size && copy_literal(source, text, stop, quote, out, room, &size) && size <= room) {
        out[size] = '\0';
    } else {
        out[0] = '\0';
    }
}

static bool has_any(fmt_str source, const char *const *words) {
    for (; *words != NULL; words++) {
        if (has(source, *words)) {
            return true;
        }
    }
    return false;
}

/* Does the template strip a message's white space? (That of tool descriptions and the like is another matter.) */
static bool trims_messages(fmt_str source, chat_family family) {
    static const char *const any[] = {"message['content'] | trim", "message['content']|trim",     "message['content'].strip()",
                                      "message[\"content\"] | trim", "message[\"content\"]|trim", "message[\"content\"].strip()",
                                      NULL};
    static const char *const llama2[] = {"content.strip()", "content | trim", "content|trim", NULL};
    switch (family) {
    case CHAT_LLAMA3:
    case CHAT_GEMMA: return true;
    case CHAT_LLAMA2: return has_any(source, llama2) || has_any(source, any);
    case CHAT_CHATML:
    case CHAT_PHI3:
    case CHAT_PHI4:
    case CHAT_PHI4_MINI: return has_any(source, any);
    default: return false; /* Mistral's trim only answers: see the renderer */
    }
}

static bool leads_answer_by_space(fmt_str source) {
    static const char *const forms[] = {"' ' + message['content']", "\" \" + message[\"content\"]", "' ' + message.content",
                                        "\" \" + message.content", "\" \" + content", "' ' + content", "' ' + message[\"content\"]",
                                        NULL};
    return has_any(source, forms);
}

static qn_status read_details(fmt_str source, chat_template *t, error_context *err) {
    t->has_bos = has(source, "bos_token") || has(source, "<|begin_of_text|>");
    t->trims = trims_messages(source, t->family);
    t->drops_thoughts = has(source, "</think>");
    t->has_date_preamble = t->family == CHAT_LLAMA3 && has(source, "Cutting Knowledge Date");
    t->has_bos_each_turn = t->family == CHAT_LLAMA2 && has_bos_before_inst(source);
    if (t->family >= CHAT_MISTRAL_V1 && t->family <= CHAT_MISTRAL_V7_TEKKEN) {
        t->has_bare_inst = !has(source, "\" [INST]") && !has(source, "' [INST]");
        t->has_bare_answer = !leads_answer_by_space(source);
        t->folds_system_last = has(source, "loop.last and system_message");
    }
    if (t->family == CHAT_CHATML) {
        find_answer_head(source, t->answer_head, sizeof t->answer_head - 1);
        const size_t size = find_default_system(source, t->default_system, sizeof t->default_system - 1);
        if (size >= sizeof t->default_system) {
            return FAIL(err, QN_LIMIT, "the model's chat template has a built-in system message of %zu bytes; the limit is %zu", size,
                        sizeof t->default_system - 1);
        }
        t->default_system[size] = '\0';
    }
    return QN_OK;
}

qn_status chat_template_recognise(fmt_str source, chat_template *out_template, error_context *err) {
    chat_template t;
    if (source.size == 0) {
        return FAIL(err, QN_BAD_INPUT, "the model has no chat template; name one with --template: %s", chat_template_names());
    }
    const chat_family family = recognise_family(source);
    if (family == CHAT_N_FAMILIES) {
        return FAIL(err, QN_UNSUPPORTED, "the model's chat template is of no family that is known here; name one with --template: %s",
                    chat_template_names());
    }
    start_template(&t, family);
    const qn_status status = read_details(source, &t, err);
    if (status >= 0) {
        *out_template = t;
    }
    return status;
}
