/* cmd_perplexity.c — quoin perplexity: how surprised a model is by a text. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/scrub.h"
#include "base/text_buffer.h"
#include "cli/engine_options.h"
#include "cli/prompt_input.h"
#include "decode/perplexity.h"

#define DEFAULT_WINDOW 512u
#define ROWS_AT_ONCE 64u /* of logits: 12 MB for 49,152 tokens */

static struct {
    option_list files;
    uint32_t max_windows;
    engine_options engine;
} settings;

static const option *perplexity_options_table(void) {
    static option table[2 + ENGINE_OPTION_ROWS + 1];
    option *row = table;
    *row++ = (option){OPTION_LIST, "file", 'f', "FILE", "the text; - is standard input; several are read as one text, in this order",
                      &settings.files, 0, 0, NULL, NULL};
    *row++ = (option){OPTION_UINT, "windows", 0, "N", "score only the first N windows (default: all)", &settings.max_windows, 1, UINT32_MAX,
                      NULL, NULL};
    engine_options_init(&settings.engine, row);
    row += ENGINE_OPTION_ROWS;
    row->kind = OPTION_END;
    return table;
}

static qn_status read_files(text_buffer *out, error_context *err) {
    for (uint32_t i = 0; i < settings.files.n_items; i++) {
        char *text = NULL;
        size_t size = 0;
        QN_TRY(prompt_read_file(settings.files.items[i], &text, &size, err), err, "reading the text");
        const bool has_room = text_buffer_append(out, text, size);
        scrub_free(text, size);
        if (!has_room) {
            return FAIL(err, QN_NO_HOST_MEM, "out of memory for the text");
        }
    }
    return QN_OK;
}

static void show_window(void *ctx, const perplexity *so_far, uint32_t n_all) {
    const command_context *c = ctx;
    if (c->verbose) {
        log_line(QN_LOG_INFO, "window %u of %u: perplexity so far %.4f", so_far->n_windows, n_all, so_far->value);
    }
}

static int print_result(command_context *c, const engine *e, const perplexity *p, uint64_t n_tokens, double seconds) {
    char text[256];
    if (c->json) {
        json_t *object = json_pack("{s:s, s:f, s:f, s:f, s:i, s:i, s:I, s:I, s:f}", "model", e->m->file.path, "perplexity", p->value,
                                   "error", p->error, "nats_per_token", p->mean_nll, "window", (int)settings.engine.n_ctx, "windows",
                                   (int)p->n_windows, "scored", (json_int_t)p->n_scored, "tokens", (json_int_t)n_tokens, "seconds", seconds);
        json_object_set_new(object, "backend", engine_describe_json(c, e));
        return command_print_json(c, object);
    }
    const int n = snprintf(text, sizeof text, "perplexity %.4f +/- %.4f (%llu tokens scored in %u windows of %u; %.1f s)\n", p->value, p->error,
                           (unsigned long long)p->n_scored, p->n_windows, settings.engine.n_ctx, seconds);
    return command_write(text, (size_t)n) ? EXIT_DONE : EXIT_IO;
}

static int score(command_context *c, engine *e, const token_list *ids) {
    perplexity result;
    const tokenizer_facts *facts = tokenizer_get_facts(e->m->tok);
    const double begin = clock_seconds();
    const perplexity_options options = {.window = settings.engine.n_ctx,
                                        .max_windows = settings.max_windows,
                                        .bos = facts->add_bos ? facts->bos : TOKEN_NONE,
                                        .workers = c->workers,
                                        .cancel = &c->services.cancel,
                                        .on_window = show_window,
                                        .ctx = c};
    if (perplexity_run(e->s, ids->ids, ids->count, &options, &result, &c->err) < 0) {
        return command_fail(c);
    }
    return print_result(c, e, &result, ids->count, clock_seconds() - begin);
}

static int run(command_context *c) {
    engine e;
    text_buffer text = {0};
    token_list ids = {0};
    if (c->args.n_items != 1 || settings.files.n_items == 0) {
        FAIL(&c->err, QN_BAD_INPUT, "perplexity needs one MODEL file and at least one --file FILE");
        command_fail(c);
        return EXIT_USAGE;
    }
    command_catch_signals(c);
    settings.engine.n_ctx = settings.engine.n_ctx > 0 ? settings.engine.n_ctx : DEFAULT_WINDOW;
    settings.engine.max_outputs = ROWS_AT_ONCE;
    int status;
    if (read_files(&text, &c->err) < 0 || engine_open(c, c->args.items[0], &settings.engine, &e) < 0) {
        text_buffer_free(&text);
        return command_fail(c);
    }
    status = tokenizer_encode(e.m->tok, text.size > 0 ? text.text : "", text.size, ENCODE_ADD_BOS, &ids, &c->err) < 0 ? command_fail(c)
                                                                                                                   : score(c, &e, &ids);
    token_list_free(&ids);
    text_buffer_free(&text);
    engine_close(&e);
    return status;
}

const command command_perplexity = {.name = "perplexity",
                                    .summary = "Measure how well a model foresees a text",
                                    .synopsis = "MODEL --file FILE... [options]",
                                    .example = "  quoin perplexity smollm2.gguf -f book.txt\n  quoin perplexity smollm2.gguf -f book.txt "
                                               "--numeric f32acc --windows 20 --json\n",
                                    .options = perplexity_options_table,
                                    .run = run};
