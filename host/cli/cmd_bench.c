/* cmd_bench.c — quoin bench: load, prefill, decode and text, each beside what the machine could do at most. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "bench/comparison.h"
#include "cli/bench_output.h"
#include "cli/prompt_input.h"

#define MOST_POSITIONS (1u << 20)

static struct {
    step_speed_options steps;
    const char *depths, *text_path, *compare_path;
    bool show_profile;
    engine_options engine;
} settings;

static const option *bench_options(void) {
    static option table[7 + ENGINE_OPTION_ROWS + 1];
    settings.steps = (step_speed_options){.n_prompt = 512, .n_decode = 128, .repeats = 3};
    settings.depths = "0";
    option *row = table;
    *row++ = (option){OPTION_UINT, "prompt-length", 'p', "N", "tokens of the prefill (default 512)", &settings.steps.n_prompt,
                      1, MOST_POSITIONS, NULL, NULL};
    *row++ = (option){OPTION_UINT, "decode-length", 'n', "N", "tokens to decode one by one (default 128)",
                      &settings.steps.n_decode, 1, MOST_POSITIONS, NULL, NULL};
    *row++ = (option){OPTION_STRING, "depth", 'd', "N,...", "positions that are filled before decoding (default 0)",
                      &settings.depths, 0, 0, NULL, NULL};
    *row++ = (option){OPTION_UINT, "repeat", 'r', "N", "runs of each; the median is printed (default 3)",
                      &settings.steps.repeats, 1, SPREAD_MOST, NULL, NULL};
    *row++ = (option){OPTION_STRING, "text", 0, "FILE", "text for the tokenizer; - is standard input (default: a page of English)",
                      &settings.text_path, 0, 0, NULL, NULL};
    *row++ = (option){OPTION_STRING, "compare", 0, "FILE", "compare with what an earlier run wrote with --json",
                      &settings.compare_path, 0, 0, NULL, NULL};
    *row++ = (option){OPTION_FLAG, "profile", 0, NULL, "where the time of a decode step goes, op by op",
                      &settings.show_profile, 0, 0, NULL, NULL};
    engine_options_init(&settings.engine, row);
    row += ENGINE_OPTION_ROWS;
    row->kind = OPTION_END;
    return table;
}

/* "0,2048,8192" */
static qn_status read_depths(const char *text, step_speed_options *out, error_context *err) {
    out->n_depths = 0;
    for (const char *at = text;; at++) {
        uint32_t value = 0, n_digits = 0;
        for (; *at >= '0' && *at <= '9' && value <= MOST_POSITIONS; at++) {
            value = value * 10 + (uint32_t)(*at - '0');
            n_digits++;
        }
        if (n_digits == 0 || value > MOST_POSITIONS || (*at != '\0' && *at != ',')) {
            return FAIL(err, QN_BAD_INPUT, "--depth %s: must be numbers up to %u with commas between them, such as 0,2048", text, MOST_POSITIONS);
        }
        if (out->n_depths == STEP_SPEED_MOST_DEPTHS) {
            return FAIL(err, QN_BAD_INPUT, "--depth %s: %u depths are the most", text, STEP_SPEED_MOST_DEPTHS);
        }
        out->depths[out->n_depths++] = value;
        if (*at == '\0') {
            return QN_OK;
        }
    }
}

static qn_status measure_text(const engine *e, text_speed *out, error_context *err) {
    char *text = NULL;
    size_t size = 0;
    if (settings.text_path == NULL) {
        return text_speed_measure(e->m->tok, sample_text, strlen(sample_text), out, err);
    }
    QN_TRY(prompt_read_file(settings.text_path, &text, &size, err), err, "reading the text");
    const qn_status status = text_speed_measure(e->m->tok, text, size, out, err);
    free(text);
    return status;
}

static qn_status measure(command_context *c, engine *e, bench_result *out) {
    out->options = settings.steps;
    QN_TRY(step_speed_measure(e->s, &settings.steps, &out->steps, &c->err), &c->err, "measuring the model");
    QN_TRY(choice_speed_measure(e->s->logits, e->m->hparams.n_vocab, tokenizer_size(e->m->tok), &out->choice, &c->err), &c->err,
           "measuring the sampler");
    QN_TRY(measure_text(e, &out->text, &c->err), &c->err, "measuring the tokenizer");
    QN_TRY(profile_decode(e->s, &out->ops, &c->err), &c->err, "measuring ops");
    out->work = token_work_count(e->p, e->adapters.bytes);
    ceilings_measure(&c->on, e->m->file.span, c->workers, &out->most);
    return QN_OK;
}

/* The rows of the comparison, and a warning when it is hardly one; null without --compare. */
static json_t *compare(const json_t *earlier, const json_t *now) {
    char caution[256];
    if (earlier == NULL) {
        return NULL;
    }
    comparison_caution(earlier, now, caution, sizeof caution);
    if (caution[0] != '\0') {
        log_line(QN_LOG_WARN, "--compare %s: was measured with %s", settings.compare_path, caution);
    }
    return comparison_make(earlier, now);
}

static int print(command_context *c, engine *e, bench_result *r, const json_t *earlier) {
    json_t *object = bench_to_json(c, e, r), *rows = compare(earlier, object);
    if (c->json) {
        if (rows != NULL) {
            json_object_set_new(object, "compared", rows);
        }
        return command_print_json(c, object);
    }
    const bool is_written = bench_print(object, r, settings.show_profile) && (rows == NULL || bench_print_comparison(rows));
    json_decref(rows);
    json_decref(object);
    return is_written ? EXIT_DONE : EXIT_IO;
}

static int measure_and_print(command_context *c, const json_t *earlier) {
    engine e;
    bench_result *r = calloc(1, sizeof *r);
    if (r == NULL) {
        FAIL(&c->err, QN_NO_HOST_MEM, "out of memory for the measurements");
        return command_fail(c);
    }
    if (engine_open(c, c->args.items[0], &settings.engine, &e) < 0) {
        free(r);
        return command_fail(c);
    }
    const int status = measure(c, &e, r) < 0 ? command_fail(c) : print(c, &e, r, earlier);
    profile_free(&r->ops);
    free(r);
    engine_close(&e);
    return status;
}

static int run(command_context *c) {
    json_t *earlier = NULL;
    if (c->args.n_items != 1) {
        FAIL(&c->err, QN_BAD_INPUT, "bench needs one MODEL file; %u arguments were given", c->args.n_items);
        command_fail(c);
        return EXIT_USAGE;
    }
    if (read_depths(settings.depths, &settings.steps, &c->err) < 0) {
        command_fail(c);
        return EXIT_USAGE;
    }
    if (settings.compare_path != NULL && comparison_read(settings.compare_path, &earlier, &c->err) < 0) {
        return command_fail(c);
    }
    command_catch_signals(c);
    if (settings.engine.n_ctx == 0) {
        settings.engine.n_ctx = (uint32_t)step_speed_context(&settings.steps) + 1;
    }
    if (settings.engine.assume == NULL) {
        settings.engine.assume = "llama"; /* a measurement needs no exact answer */
    }
    const int status = measure_and_print(c, earlier);
    json_decref(earlier);
    return status;
}

const command command_bench = {
    .name = "bench",
    .summary = "Measure load, prefill, decode and text beside the machine's ceilings",
    .synopsis = "MODEL [options]",
    .example = "  quoin bench smollm2.gguf -p 512 -n 128\n  quoin bench smollm2.gguf -d 0,2048 --json > before.json\n"
               "  quoin bench smollm2.gguf -d 0,2048 --compare before.json\n",
    .options = bench_options,
    .run = run};
