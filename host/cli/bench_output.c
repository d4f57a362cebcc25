/* bench_output.c — rates beside their ceilings. */
#include "cli/bench_output.h"

#include <stdarg.h>
#include <stdio.h>

static json_t *make_rates(spread *s) {
    const double median = spread_median(s);
    return json_pack("{s:f, s:f, s:f}", "median", median, "min", s->n > 0 ? s->values[0] : 0.0, "max", s->n > 0 ? s->values[s->n - 1] : 0.0);
}

static json_t *make_load(const engine *e, const bench_result *r) {
    const double rest = e->load_seconds - e->open_seconds - e->bind_seconds;
    return json_pack("{s:f, s:f, s:f, s:f, s:f, s:f}", "total_s", e->load_seconds, "open_s", e->open_seconds - e->m->check_seconds, "verify_s",
                     e->m->check_seconds, "backend_s", rest > 0.0 ? rest : 0.0, "bind_s", e->bind_seconds, "first_token_s",
                     r->steps.first_token_seconds);
}

static json_t *make_products(const products *p) {
    return json_pack("{s:I, s:I}", "int8", (json_int_t)p->int8, "f32", (json_int_t)p->f32);
}

static json_t *make_peak(const qn_peak_rate *rate) {
    return json_pack("{s:s, s:f}", "instruction", rate->name, "operations_per_s", rate->per_second);
}

static double share_of(double value, double most) {
    return most > 0.0 ? value / most : 0.0;
}

static json_t *make_decode(bench_result *r) {
    json_t *list = json_array();
    for (uint32_t i = 0; i < r->options.n_depths; i++) {
        json_t *rates = make_rates(&r->steps.decode[i]);
        const double reached = spread_median(&r->steps.decode[i]) * (double)r->work.bytes;
        json_array_append_new(list, json_pack("{s:i, s:o, s:f, s:f}", "depth", (int)r->options.depths[i], "tokens_per_s", rates, "bytes_per_s",
                                              reached, "share_of_ceiling", share_of(reached, r->most.read)));
    }
    return list;
}

/* What comes beside the step for each token: choosing greedily, and text. */
static double share_of_step(const bench_result *r, double tokens_per_second) {
    return 1e-6 * (r->choice.greedy_us + r->text.decode_us) * tokens_per_second;
}

static void add_machine(json_t *object, const bench_result *r) {
    json_object_set_new(object, "read_ceiling_bytes_per_s", json_real(r->most.read));
    json_object_set_new(object, "peaks", json_pack("{s:o, s:o}", "int8", make_peak(&r->most.int8), "f32", make_peak(&r->most.f32)));
    json_object_set_new(object, "bytes_per_token", json_integer((json_int_t)r->work.bytes));
    json_object_set_new(object, "products_per_token",
                        json_pack("{s:o, s:o}", "decode", make_products(&r->work.decode), "prefill", make_products(&r->work.prompt)));
}

static void add_text(json_t *object, const bench_result *r, double decode) {
    json_object_set_new(object, "tokenizer", json_pack("{s:I, s:I, s:f}", "bytes", (json_int_t)r->text.bytes, "tokens",
                                                       (json_int_t)r->text.tokens, "bytes_per_s", r->text.encode_bytes_per_s));
    json_object_set_new(object, "detokenize_us_per_token", json_real(r->text.decode_us));
    json_object_set_new(object, "sampling",
                        json_pack("{s:f, s:f, s:f, s:f}", "greedy_us", r->choice.greedy_us, "top_us", r->choice.top_us, "any_us",
                                  r->choice.any_us, "logprobs_us", r->choice.logprobs_us));
    json_object_set_new(object, "share_of_step_beside_it", json_real(share_of_step(r, decode)));
}

json_t *bench_to_json(const command_context *c, const engine *e, bench_result *r) {
    json_t *object = json_object();
    json_t *prefill_rates = make_rates(&r->steps.prompt), *decode_rates = make_rates(&r->steps.decode[0]);
    const double prefill = spread_median(&r->steps.prompt), decode = spread_median(&r->steps.decode[0]);
    json_object_set_new(object, "model", json_string(e->m->file.path));
    json_object_set_new(object, "backend", engine_describe_json(c, e));
    json_object_set_new(object, "load_s", json_real(e->load_seconds));
    json_object_set_new(object, "weight_check_s", json_real(e->m->check_seconds));
    json_object_set_new(object, "load", make_load(e, r));
    json_object_set_new(object, "prompt_length", json_integer(r->options.n_prompt));
    json_object_set_new(object, "prefill_tokens_per_s", prefill_rates);
    json_object_set_new(object, "prefill_operations_per_s", json_real(prefill * products_operations(&r->work.prompt)));
    json_object_set_new(object, "prefill_share_of_peak",
                        json_real(products_share(&r->work.prompt, prefill, r->most.int8.per_second, r->most.f32.per_second)));
    json_object_set_new(object, "decode_length", json_integer(r->options.n_decode));
    json_object_set_new(object, "depth", json_integer(r->options.depths[0]));
    json_object_set_new(object, "decode_tokens_per_s", decode_rates);
    json_object_set_new(object, "decode_bytes_per_s", json_real(decode * (double)r->work.bytes));
    json_object_set_new(object, "decode", make_decode(r));
    add_machine(object, r);
    add_text(object, r, decode);
    json_object_set_new(object, "profile", profile_to_json(&r->ops));
    return object;
}

static double number_at(const json_t *object, const char *key) {
    return json_number_value(json_object_get(object, key));
}

static bool print_line(const char *form, ...) __attribute__((format(printf, 1, 2)));
static bool print_line(const char *form, ...) {
    char line[512];
    va_list arguments;
    va_start(arguments, form);
    const int n = vsnprintf(line, sizeof line, form, arguments);
    va_end(arguments);
    return n >= 0 && command_write(line, (size_t)n < sizeof line ? (size_t)n : sizeof line - 1);
}

static bool print_load(const json_t *object) {
    const json_t *load = json_object_get(object, "load");
    return print_line("load     %8.3f s      open %.3f, verify %.3f, backend %.3f, bind %.3f; then %.3f to the first token\n",
                      number_at(load, "total_s"), number_at(load, "open_s"), number_at(load, "verify_s"), number_at(load, "backend_s"),
                      number_at(load, "bind_s"), number_at(load, "first_token_s"));
}

static bool print_prefill(const json_t *object, const bench_result *r) {
    const json_t *rates = json_object_get(object, "prefill_tokens_per_s");
    const double share = number_at(object, "prefill_share_of_peak");
    char of_peak[48] = "";
    if (share > 0.0) {
        snprintf(of_peak, sizeof of_peak, ", %.0f %% of the peak", 100.0 * share);
    }
    return print_line("prefill  %8.1f tok/s  %u tokens, %.1f to %.1f; %.1f Gop/s in matrix products%s\n", number_at(rates, "median"),
                      r->options.n_prompt, number_at(rates, "min"), number_at(rates, "max"),
                      1e-9 * number_at(object, "prefill_operations_per_s"), of_peak);
}

static bool print_decode(const json_t *object, const bench_result *r) {
    const json_t *list = json_object_get(object, "decode"), *row;
    size_t i;
    bool is_written = true;
    json_array_foreach(list, i, row) {
        const json_t *rates = json_object_get(row, "tokens_per_s");
        is_written = is_written && print_line("decode   %8.1f tok/s  %u tokens at depth %.0f, %.1f to %.1f; weights at %.2f GB/s, %.0f %% of the "
                                              "read ceiling\n",
                                              number_at(rates, "median"), r->options.n_decode, number_at(row, "depth"),
                                              number_at(rates, "min"), number_at(rates, "max"), 1e-9 * number_at(row, "bytes_per_s"),
                                              100.0 * number_at(row, "share_of_ceiling"));
    }
    return is_written;
}

static bool print_peak(const qn_peak_rate *peak) {
    return peak->per_second <= 0.0 || print_line("; %s %.0f Gop/s", peak->name, 1e-9 * peak->per_second);
}

static bool print_machine(const bench_result *r) {
    return print_line("ceiling  reading %.2f GB/s", 1e-9 * r->most.read) && print_peak(&r->most.int8) && print_peak(&r->most.f32) &&
           print_line("\na token  reads %.1f MB of weights and makes %.1f million products; %.1f million in a prompt\n",
                      1e-6 * (double)r->work.bytes, 0.5e-6 * products_operations(&r->work.decode),
                      0.5e-6 * products_operations(&r->work.prompt));
}

static bool print_text(const json_t *object, const bench_result *r) {
    return print_line("text     tokenizer %.1f MB/s (%llu bytes, %llu tokens); detokenizing %.2f us a token\n",
                      1e-6 * r->text.encode_bytes_per_s, (unsigned long long)r->text.bytes, (unsigned long long)r->text.tokens,
                      r->text.decode_us) &&
           print_line("choice   greedy %.1f us a token, top-k 40 and top-p %.1f, among all %.1f, log-probabilities %.1f; greedy and text "
                      "%.2f %% of a step\n",
                      r->choice.greedy_us, r->choice.top_us, r->choice.any_us, r->choice.logprobs_us,
                      100.0 * number_at(object, "share_of_step_beside_it"));
}

bool bench_print(const json_t *object, const bench_result *r, bool all_ops) {
    return print_load(object) && print_prefill(object, r) && print_decode(object, r) && print_machine(r) && print_text(object, r) &&
           profile_print(&r->ops, all_ops, command_write);
}

bool bench_print_comparison(const json_t *rows) {
    const json_t *row;
    size_t i;
    bool is_written = print_line("\n%-28s %12s %12s %8s\n", "compared with before", "before", "now", "speed");
    json_array_foreach(rows, i, row) {
        is_written = is_written && print_line("%-28s %12.5g %12.5g %8.2f\n", json_string_value(json_object_get(row, "name")),
                                              number_at(row, "before"), number_at(row, "now"), number_at(row, "speed"));
    }
    return is_written;
}
