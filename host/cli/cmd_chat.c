/* cmd_chat.c — quoin chat: a conversation, line by line. */
#include <ctype.h>
#include <editline/readline.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <quoin/glue.h>

#include "base/log.h"
#include "base/scrub.h"
#include "base/text_buffer.h"
#include "cli/conversation.h"
#include "cli/engine_options.h"
#include "decode/generate.h"

#define DEFAULT_BUDGET 512u
#define MAX_CONTEXT_TOKENS (1u << 24)
#define INPUT_BUFFER_BYTES 4096u

static struct {
    const char *system, *family;
    uint32_t budget;
    engine_options engine;
    sampling_options sampling;
} settings;

static const option *chat_options(void) {
    static option table[3 + ENGINE_OPTION_ROWS + SAMPLING_OPTION_ROWS + 1];
    settings.budget = DEFAULT_BUDGET;
    option *row = table;
    *row++ = (option){OPTION_STRING, "system", 's', "TEXT", "what the assistant is told before the conversation",
                      &settings.system, 0, 0, NULL, NULL};
    *row++ = (option){OPTION_STRING, "template", 0, "NAME",
                      "chat template family, when the model's own is not recognised", &settings.family, 0, 0, NULL,
                      NULL};
    *row++ = (option){OPTION_UINT, "max-tokens", 'n', "N", "tokens of one answer at most (default 512)",
                      &settings.budget, 1, MAX_CONTEXT_TOKENS, NULL, NULL};
    engine_options_init(&settings.engine, row);
    row += ENGINE_OPTION_ROWS;
    sampling_options_init(&settings.sampling, row);
    row += SAMPLING_OPTION_ROWS;
    row->kind = OPTION_END;
    return table;
}

typedef struct chat {
    command_context *c;
    engine e;
    chat_template form;
    sampler chooser;
    conversation talk;
    token_list ids;
    generate_options options;
    text_buffer answer; /* text of the answer at hand */
    text_buffer line;   /* what was read last, with its final zero */
    char input_buffer[INPUT_BUFFER_BYTES]; /* of standard input, to be overwritten */
    bool is_closed, is_terminal;
    json_t *turns;
} chat;

static bool on_token(void *ctx, const generate_event *event) {
    chat *ch = ctx;
    if (!text_buffer_append(&ch->answer, event->text, event->text_bytes)) {
        return false;
    }
    if (!ch->c->json) {
        ch->is_closed = !command_write(event->text, event->text_bytes);
    }
    return !ch->is_closed;
}

/* How many of the ids are already in the session, so that only the rest has to be read. The last id is always read
 * again: its logits are what the answer starts from. */
static uint32_t count_known(const session *s, const token_list *ids) {
    uint32_t n = 0;
    while (n < session_length(s) && n + 1 < ids->count && (uint32_t)s->history[n] == ids->ids[n]) {
        n++;
    }
    return n;
}

static void record_turn(chat *ch, const char *role, const char *text, size_t size, const char *reason) {
    if (ch->c->json) {
        json_t *turn = json_pack("{s:s, s:o}", "role", role, "text", command_json_text(size > 0 ? text : "", size));
        if (reason != NULL) {
            json_object_set_new(turn, "stop_reason", json_string(reason));
        }
        json_array_append_new(ch->turns, turn);
    }
}

static qn_status answer_question(chat *ch, generate_result *result) {
    error_context *err = &ch->c->err;
    session *s = ch->e.s;
    uint32_t n_dropped = 0;
    const uint32_t n_ctx = ch->e.p->n_ctx, reserve = settings.budget < n_ctx / 4 ? settings.budget : n_ctx / 4;
    QN_TRY(conversation_encode(&ch->talk, &ch->form, ch->e.m->tok, n_ctx, reserve, &ch->ids, &n_dropped, err), err,
           "preparing the question");
    const uint32_t known = session_truncate(s, count_known(s, &ch->ids));
    ch->answer.size = 0;
    qn_flag_set(&ch->c->services.cancel, false);
    QN_TRY(
        generate_run(s, &ch->chooser, ch->ids.ids + known, (uint32_t)ch->ids.count - known, &ch->options, result, err),
        err, "answering");
    if (!ch->c->json && !ch->is_closed) {
        ch->is_closed = !command_write("\n", 1);
    }
    log_line(result->reason == STOP_TOKEN ? QN_LOG_DEBUG : QN_LOG_INFO, "(%s: %u tokens, %.1f/s)",
             stop_reason_name(result->reason), result->n_generated,
             result->decode_seconds > 0 ? result->n_generated / result->decode_seconds : 0.0);
    record_turn(ch, "assistant", ch->answer.text, ch->answer.size, stop_reason_name(result->reason));
    return conversation_add(&ch->talk, CHAT_ASSISTANT, ch->answer.text, ch->answer.size, err);
}

/* From a pipe, into ch->line. False at the end. What getline(3) grows stays behind unwritten, and these are a user's words. */
static bool read_piped_line(chat *ch) {
    int c;
    ch->line.size = 0;
    while ((c = getc_unlocked(stdin)) != EOF && c != '\n') {
        const char byte = (char)c;
        if (!text_buffer_append(&ch->line, &byte, 1)) {
            return false;
        }
    }
    return (c != EOF || ch->line.size > 0) && text_buffer_append(&ch->line, "", 1);
}

/* A line from the terminal with editing and history, or from a pipe without, in ch->line; false at the end. */
static bool read_line(chat *ch) {
    if (!ch->is_terminal) {
        return read_piped_line(ch);
    }
    char *line = readline("> ");
    if (line == NULL) {
        return false;
    }
    if (line[0] != '\0') {
        add_history(line);
    }
    ch->line.size = 0;
    const bool is_read = text_buffer_append(&ch->line, line, strlen(line) + 1);
    scrub_free(line, strlen(line));
    return is_read;
}

static bool is_blank(const char *line) {
    while (isspace((unsigned char)*line)) {
        line++;
    }
    return *line == '\0';
}

/* Lines that begin with a slash are for the program, not for the model. True when the line was one. */
static bool obey(chat *ch, const char *line, bool *out_is_over) {
    if (strcmp(line, "/quit") == 0 || strcmp(line, "/exit") == 0) {
        *out_is_over = true;
    } else if (strcmp(line, "/clear") == 0) {
        conversation_clear(&ch->talk);
        log_line(QN_LOG_INFO, "the conversation starts again");
    } else if (strcmp(line, "/help") == 0) {
        log_line(QN_LOG_INFO,
                 "/clear forgets the conversation, /quit ends it; Ctrl-C ends an answer, Ctrl-D the program");
    } else {
        return false;
    }
    return true;
}

static int converse(chat *ch) {
    bool is_over = false;
    while (!is_over && !ch->is_closed) {
        generate_result result = {0};
        if (!read_line(ch)) {
            break;
        }
        const char *line = ch->line.text;
        qn_status status = QN_OK;
        if (!is_blank(line) && !obey(ch, line, &is_over)) {
            record_turn(ch, "user", line, strlen(line), NULL);
            status = conversation_add(&ch->talk, CHAT_USER, line, strlen(line), &ch->c->err);
            status = status == QN_OK ? answer_question(ch, &result) : status;
        }
        /* The question's own fault: the conversation goes on without it. */
        if (status == QN_LIMIT || status == QN_BAD_INPUT) {
            log_error(&ch->c->err);
            conversation_pop(&ch->talk);
        } else if (status < 0) {
            return command_fail(ch->c);
        }
        if (!ch->is_terminal && result.reason == STOP_CANCELLED && result.n_prompt > 0) {
            return EXIT_CANCELLED;
        }
    }
    return ch->is_closed ? EXIT_IO : EXIT_DONE;
}

static qn_status prepare(chat *ch) {
    command_context *c = ch->c;
    sampler_options sampling;
    stop_set stops = {0};
    const model *m = ch->e.m;
    QN_TRY(settings.family != NULL ? chat_template_by_name(settings.family, &ch->form, &c->err)
                                   : chat_template_recognise(m->chat_template, &ch->form, &c->err),
           &c->err, "choosing the chat template");
    QN_TRY(sampling_collect(&settings.sampling, tokenizer_size(m->tok), &sampling, &c->err), &c->err,
           "reading the options");
    QN_TRY(sampler_create(&sampling, m->hparams.n_vocab, tokenizer_size(m->tok), &ch->chooser, &c->err), &c->err,
           "preparing the choice");
    if (settings.system != NULL) {
        QN_TRY(conversation_add(&ch->talk, CHAT_SYSTEM, settings.system, strlen(settings.system), &c->err), &c->err,
               "adding the system message");
    }
    ch->options = (generate_options){.max_tokens = settings.budget,
                                     .at_start = true,
                                     .cancel = &c->services.cancel,
                                     .on_token = on_token,
                                     .ctx = ch};
    ch->options.n_stops = model_stop_ids(m, ch->options.stops, GENERATE_MAX_STOPS);
    chat_template_stop_ids(&ch->form, m->tok, &stops);
    for (uint32_t i = 0; i < stops.count && ch->options.n_stops < GENERATE_MAX_STOPS; i++) {
        ch->options.stops[ch->options.n_stops++] = stops.ids[i];
    }
    ch->is_terminal = isatty(STDIN_FILENO) && command_output_is_terminal() && !c->json;
    log_line(QN_LOG_INFO, "chat template %s; /help lists commands", chat_template_name(&ch->form));
    return QN_OK;
}

/* Overwrites what the conversation left anywhere, and gives it back. */
static void forget_conversation(chat *ch) {
    for (int i = 0; ch->is_terminal && i < history_length; i++) {
        const HIST_ENTRY *entry = history_get(history_base + i);
        char *line = entry != NULL ? (char *)(uintptr_t)entry->line : NULL;
        scrub_memory(NULL, SCRUB_TEXT, line, line != NULL ? strlen(line) : 0);
    }
    scrub_memory(NULL, SCRUB_TEXT, ch->input_buffer, sizeof ch->input_buffer);
    if (settings.system != NULL) { /* an argument belongs to the program, which may change it */
        scrub_memory(NULL, SCRUB_TEXT, (char *)(uintptr_t)settings.system, strlen(settings.system));
    }
    json_decref(ch->turns);
    conversation_free(&ch->talk);
    token_list_free(&ch->ids);
    sampler_destroy(&ch->chooser);
    text_buffer_free(&ch->answer);
    text_buffer_free(&ch->line);
    engine_close(&ch->e);
}

static int run(command_context *c) {
    static chat ch; /* large, and one a process */
    if (c->args.n_items != 1) {
        FAIL(&c->err, QN_BAD_INPUT, "chat needs one MODEL file; %u arguments were given", c->args.n_items);
        command_fail(c);
        return EXIT_USAGE;
    }
    ch.c = c;
    ch.turns = json_array();
    setvbuf(stdin, ch.input_buffer, _IOFBF, sizeof ch.input_buffer);
    command_catch_signals(c);
    int status;
    if (engine_open(c, c->args.items[0], &settings.engine, &ch.e) < 0) {
        status = command_fail(c);
    } else {
        status = prepare(&ch) < 0 ? command_fail(c) : converse(&ch);
        if (c->json && (status == EXIT_DONE || status == EXIT_CANCELLED)) {
            const int printed = command_print_json(
                c, json_pack("{s:O, s:o}", "turns", ch.turns, "backend", engine_describe_json(c, &ch.e)));
            status = printed != EXIT_DONE ? printed : status;
        }
    }
    forget_conversation(&ch);
    return status;
}

const command command_chat = {.name = "chat", .summary = "Talk with a model", .synopsis = "MODEL [options]",
                              .example = "  quoin chat smollm2.gguf --temp 0.7 --system 'Answer in one sentence.'\n",
                              .options = chat_options, .run = run};
