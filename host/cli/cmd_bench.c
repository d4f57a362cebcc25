/* cmd_bench.c — quoin bench: load, prefill and decode, each beside what the machine could do at most. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/read_ceiling.h"
#include "cli/engine_options.h"
#include "decode/profile.h"

#define MAX_REPEATS 100u
#define CEILING_REPEATS 5u

static struct {
    uint32_t n_prompt, n_decode, depth, repeats;
    bool show_profile;
    engine_options engine;
} settings;

static const option *bench_options(void) {
    static option table[5 + ENGINE_OPTION_ROWS + 1];
    settings.n_prompt = 512;
    settings.n_decode = 128;
    settings.repeats = 3;
    option *row = table;
    *row++ = (option){OPTION_UINT, "prompt-length", 'p', "N", "tokens of the prefill (default 512)", &settings.n_prompt,
                      1, 1u << 20, NULL, NULL};
    *row++ = (option){OPTION_UINT, "decode-length", 'n', "N", "tokens to decode one by one (default 128)",
                      &settings.n_decode, 1, 1u << 20, NULL, NULL};
    *row++ = (option){OPTION_UINT, "depth", 'd', "N", "positions that are filled before decoding (default 0)",
                      &settings.depth, 0, 1u << 20, NULL, NULL};
    *row++ = (option){OPTION_UINT, "repeat", 'r', "N", "runs of each; the median is printed (default 3)",
                      &settings.repeats, 1, MAX_REPEATS, NULL, NULL};
    *row++ = (option){OPTION_FLAG, "profile", 0, NULL, "where the time of a decode step goes, op by op",
                      &settings.show_profile, 0, 0, NULL, NULL};
    engine_options_init(&settings.engine, row);
    row += ENGINE_OPTION_ROWS;
    row->kind = OPTION_END;
    return table;
}

typedef struct measurement {
    double prefill[MAX_REPEATS], decode[MAX_REPEATS]; /* tokens per second */
    double read_ceiling;                              /* bytes per second at the model's size */
    uint64_t bytes_per_token;                         /* of weights */
} measurement;

static int compare_doubles(const void *a, const void *b) {
    const double left = *(const double *)a, right = *(const double *)b;
    return left < right ? -1 : left > right;
}

/* Sorts in place: min, median and max stand at the ends and in the middle. */
static double sort_median(double *values, uint32_t n) {
    qsort(values, n, sizeof *values, compare_doubles);
    return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2.0;
}

/* Ids that are legal and not all equal; what they mean does not matter to the time. */
static void fill_ids(uint32_t *ids, uint32_t n, uint32_t n_vocab) {
    uint32_t state = 1;
    for (uint32_t i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        ids[i] = (state >> 8) % n_vocab;
    }
}

static qn_status time_append(session *s, const uint32_t *ids, uint32_t n, bool one_by_one, double *out_rate,
                             error_context *err) {
    const double begin = clock_seconds();
    for (uint32_t at = 0; at < n; at += one_by_one ? 1 : n) {
        QN_TRY(session_append(s, ids + at, one_by_one ? 1 : n, err), err, "measuring");
    }
    *out_rate = n / (clock_seconds() - begin);
    return QN_OK;
}

static qn_status measure_once(command_context *c, engine *e, const uint32_t *ids, double *out_prefill,
                              double *out_decode) {
    double unused;
    session_truncate(e->s, 0);
    QN_TRY(time_append(e->s, ids, settings.n_prompt, false, out_prefill, &c->err), &c->err, "prefill");
    session_truncate(e->s, 0);
    QN_TRY(time_append(e->s, ids, settings.depth > 0 ? settings.depth : 1, false, &unused, &c->err), &c->err,
           "filling the context");
    return time_append(e->s, ids, settings.n_decode, true, out_decode, &c->err);
}

static uint64_t count_bytes_per_token(const engine *e) {
    /* An embedding that is not the output as well gives a row a token: nothing beside the rest. */
    const model_tensor *table = model_find(e->m, "token_embd.weight");
    const bool is_tied = model_find(e->m, "output.weight") == NULL;
    uint64_t bytes = e->adapters.bytes;
    for (uint32_t i = 0; i < e->p->dec->n_weights; i++) {
        const weight_binding *w = &e->p->dec->weights[i];
        const bool is_only_gathered = w->tensor == table && !is_tied;
        bytes += w->first_element == 0 && !is_only_gathered ? w->tensor->bytes : 0;
    }
    return bytes;
}

static qn_status measure(command_context *c, engine *e, measurement *out) {
    const uint32_t longest = settings.n_prompt > settings.depth ? settings.n_prompt : settings.depth;
    const uint32_t n_ids = longest > settings.n_decode ? longest : settings.n_decode;
    uint32_t *ids = calloc(n_ids, sizeof *ids);
    if (ids == NULL) {
        return FAIL(&c->err, QN_NO_HOST_MEM, "out of memory for %u ids", n_ids);
    }
    double warm_prefill, warm_decode;
    fill_ids(ids, n_ids, tokenizer_size(e->m->tok));
    qn_status status = measure_once(c, e, ids, &warm_prefill, &warm_decode);
    for (uint32_t i = 0; i < settings.repeats && status == QN_OK; i++) {
        status = measure_once(c, e, ids, &out->prefill[i], &out->decode[i]);
    }
    free(ids);
    out->bytes_per_token = count_bytes_per_token(e);
    out->read_ceiling = read_ceiling_measure(e->m->file.span, CEILING_REPEATS, c->workers);
    return status;
}

static json_t *make_rates(const double *values, uint32_t n, double median) {
    return json_pack("{s:f, s:f, s:f}", "median", median, "min", values[0], "max", values[n - 1]);
}

static int print_measurement(command_context *c, engine *e, measurement *m, const profile_table *ops) {
    const double prefill = sort_median(m->prefill, settings.repeats), decode = sort_median(m->decode, settings.repeats);
    const double reached = decode * (double)m->bytes_per_token;
    if (c->json) {
        json_t *object = json_object();
        json_object_set_new(object, "model", json_string(e->m->file.path));
        json_object_set_new(object, "backend", engine_describe_json(c, e));
        json_object_set_new(object, "load_s", json_real(e->load_seconds));
        json_object_set_new(object, "weight_check_s", json_real(e->m->check_seconds));
        json_object_set_new(object, "prompt_length", json_integer(settings.n_prompt));
        json_object_set_new(object, "prefill_tokens_per_s", make_rates(m->prefill, settings.repeats, prefill));
        json_object_set_new(object, "decode_length", json_integer(settings.n_decode));
        json_object_set_new(object, "depth", json_integer(settings.depth));
        json_object_set_new(object, "decode_tokens_per_s", make_rates(m->decode, settings.repeats, decode));
        json_object_set_new(object, "bytes_per_token", json_integer((json_int_t)m->bytes_per_token));
        json_object_set_new(object, "decode_bytes_per_s", json_real(reached));
        json_object_set_new(object, "read_ceiling_bytes_per_s", json_real(m->read_ceiling));
        json_object_set_new(object, "profile", profile_to_json(ops));
        return command_print_json(c, object);
    }
    char text[1024];
    int n = snprintf(
        text, sizeof text,
        "load     %8.3f s   (of it %.3f s checking weights)\nprefill  %8.1f tok/s (%u tokens; %.1f to %.1f)\n"
        "decode   %8.1f tok/s (%u tokens at depth %u; %.1f to %.1f)\n"
        "reading  %8.2f GB/s of weights while decoding; ceiling %.2f GB/s (%.0f %%)\n",
        e->load_seconds, e->m->check_seconds, prefill, settings.n_prompt, m->prefill[0],
        m->prefill[settings.repeats - 1], decode, settings.n_decode, settings.depth, m->decode[0],
        m->decode[settings.repeats - 1], reached * 1e-9, m->read_ceiling * 1e-9,
        m->read_ceiling > 0 ? 100.0 * reached / m->read_ceiling : 0.0);
    return command_write(text, (size_t)n) && profile_print(ops, settings.show_profile, command_write) ? EXIT_DONE
                                                                                                      : EXIT_IO;
}

static int run(command_context *c) {
    engine e;
    measurement m = {0};
    profile_table ops = {0};
    if (c->args.n_items != 1) {
        FAIL(&c->err, QN_BAD_INPUT, "bench needs one MODEL file; %u arguments were given", c->args.n_items);
        command_fail(c);
        return EXIT_USAGE;
    }
    command_catch_signals(c);
    const uint32_t filled = settings.depth + settings.n_decode + 1;
    settings.engine.n_ctx = settings.engine.n_ctx > 0    ? settings.engine.n_ctx
                            : filled > settings.n_prompt ? filled
                                                         : settings.n_prompt;
    if (settings.engine.assume == NULL) {
        settings.engine.assume = "llama"; /* a measurement needs no exact answer */
    }
    if (engine_open(c, c->args.items[0], &settings.engine, &e) < 0) {
        return command_fail(c);
    }
    int status = measure(c, &e, &m) < 0 || profile_decode(e.s, &ops, &c->err) < 0 ? command_fail(c)
                                                                                  : print_measurement(c, &e, &m, &ops);
    profile_free(&ops);
    engine_close(&e);
    return status;
}

const command command_bench = {
    .name = "bench",
    .summary = "Measure load, prefill and decode beside the machine's ceilings",
    .synopsis = "MODEL [options]",
    .example = "  quoin bench smollm2.gguf -p 512 -n 128\n  quoin bench smollm2.gguf -t 1 --json\n",
    .options = bench_options,
    .run = run};
