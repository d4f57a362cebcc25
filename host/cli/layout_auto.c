/* layout_auto.c — each class of matrices is timed in each element type that a layout would give it. */
#include "cli/layout_auto.h"

#include <inttypes.h>
#include <stdio.h>

#include <quoin/panels.h>

#include "base/atomic_file.h"
#include "base/log.h"
#include "bench/layout_speed.h"
#include "common/diag.h"

static const fmt_rule rule_cancelled = {"convert-cancelled", "", "nothing is left behind"};

qn_status layout_auto_begin(layout_auto *a) {
    command_context *c = a->c;
    const qn_status status = command_choose_backend(c, NULL, NULL, NULL, NULL);
    if (status >= 0 || c->backend_was_named || status == QN_CANCELLED || status == QN_BAD_INPUT) {
        return status;
    }
    log_line(QN_LOG_WARN, "--layout auto: nothing can be measured without a backend: %s", error_text(&c->err));
    error_clear(&c->err);
    c->is_with_backend = false;
    return QN_OK;
}

void layout_auto_end(layout_auto *a) {
    if (a->is_chosen) {
        layout_choice_free(&a->choice);
    }
    a->is_chosen = false;
}

/* --------------------------------------------------------------------------------------------------------- measuring */

static layout_way way_of(uint32_t type) {
    const bool is_in_panels = blk_panel_of_dtype(type) != BLK_NO_PANELS;
    return (layout_way){.format = is_in_panels ? type - BLK_PANEL_DTYPE : type, .is_in_panels = is_in_panels};
}

/* The types of a class, each once; where[i] is that of option i. */
static uint32_t list_ways(const layout_choice *choice, const layout_class *class, layout_way ways[LAYOUT_MOST],
                          uint32_t where[LAYOUT_MOST]) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < choice->n_options; i++) {
        uint32_t k = 0;
        while (k < i && (class->types[k] != class->types[i] || !choice->options[k].is_possible)) {
            k++;
        }
        where[i] = k < i ? where[k] : n;
        if (k == i && choice->options[i].is_possible) {
            ways[n++] = way_of(class->types[i]);
        }
    }
    return n;
}

static qn_status measure_class(const layout_auto *a, layout_class *class, error_context *err) {
    layout_way ways[LAYOUT_MOST];
    layout_speed speeds[LAYOUT_MOST];
    uint32_t where[LAYOUT_MOST];
    const uint32_t n = list_ways(&a->choice, class, ways, where);
    QN_TRY(layout_speed_measure(&a->c->on, ways, n, class->width, a->output, speeds, err), err, "measuring layouts");
    for (uint32_t i = 0; i < a->choice.n_options; i++) {
        const layout_speed *s = &speeds[where[i]];
        if (a->choice.options[i].is_possible && s->is_run) {
            const double n_rows = (double)s->n_rows;
            class->rates[i] = (layout_rate){.is_run = true, .step_s = s->step_s / n_rows, .start_s = s->start_s / n_rows,
                                            .copy_bytes = (double)s->copy_bytes / n_rows};
        }
    }
    return QN_OK;
}

static qn_status measure(layout_auto *a, error_context *err) {
    for (uint32_t i = 0; i < a->choice.n_classes; i++) {
        QN_TRY(measure_class(a, &a->choice.classes[i], err), err, "measuring layouts");
    }
    return QN_OK;
}

/* Before seconds are spent on it. */
static fmt_status try_output(const layout_auto *a, fmt_diag *diag) {
    atomic_file file;
    const fmt_status status = atomic_file_create(&file, a->output, a->is_forced, 0, diag);
    atomic_file_abort(&file);
    return status;
}

fmt_status layout_auto_choose(layout_auto *a, const p64_source *source, p64_write_options *options, fmt_diag *diag) {
    error_context err = {0};
    options->layout = P64_LAYOUT_PACKED;
    if (a->c->on.plugin == NULL) {
        return FMT_OK;
    }
    fmt_status status = try_output(a, diag);
    status = status == FMT_OK ? layout_choice_init(&a->choice, source, options, a->may_convert, diag) : status;
    if (status != FMT_OK) {
        return status;
    }
    a->is_chosen = true;
    const qn_status measured = measure(a, &err);
    if (measured == QN_CANCELLED || a->c->services.cancel != 0) {
        return diag_refuse(diag, FMT_CANCELLED, &rule_cancelled, (diag_place){0, FMT_NO_INDEX, 0, 0}, "stopped on request");
    }
    if (measured < 0) {
        log_line(QN_LOG_WARN, "--layout auto: %s; nothing is chosen by it", error_text(&err));
        layout_auto_end(a);
        return FMT_OK;
    }
    layout_choice_settle(&a->choice);
    options->layout = a->choice.options[a->choice.chosen].layout;
    options->form = a->choice.options[a->choice.chosen].form;
    return FMT_OK;
}

/* ---------------------------------------------------------------------------------------------------------------- JSON */

static const char *weights_of(const layout_option *o) {
    return o->form == P64_FORM_Q4_K_SOA ? "q4_k_soa" : o->form == P64_FORM_KEEP ? "keep" : "as asked";
}

static json_t *make_option(const layout_option *o) {
    return json_pack("{s:s, s:s, s:b, s:b, s:I, s:o, s:o, s:o}", "layout", o->layout == P64_LAYOUT_PANEL ? "panel" : "packed", "weights",
                     weights_of(o), "allowed", o->is_allowed, "measured", o->is_measured, "bytes", (json_int_t)o->file_bytes,
                     "ms_per_token", o->is_measured ? json_real(o->ms_per_token) : json_null(),
                     "start_s", o->is_measured ? json_real(o->start_s) : json_null(),
                     "copy_bytes", o->is_measured ? json_integer((json_int_t)o->copy_bytes) : json_null());
}

/* Bytes of blobs that are multiplied a second. */
static double reached(const layout_class *class, uint32_t option) {
    const double seconds = class->rates[option].step_s * (double)class->n_rows;
    return seconds > 0.0 ? (double)class->bytes[option] / seconds : 0.0;
}

static json_t *make_class(const layout_choice *choice, const layout_class *class) {
    json_t *rates = json_array();
    for (uint32_t i = 0; i < choice->n_options; i++) {
        const layout_rate *rate = &class->rates[i];
        json_array_append_new(rates, rate->is_run
                                         ? json_pack("{s:s, s:I, s:f, s:f, s:f}", "type", p64_dtype_name(class->types[i]), "bytes",
                                                     (json_int_t)class->bytes[i], "bytes_per_s", reached(class, i), "ms_per_token",
                                                     1e3 * rate->step_s * (double)class->n_rows, "start_s",
                                                     rate->start_s * (double)class->n_rows)
                                         : json_null());
    }
    return json_pack("{s:I, s:I, s:I, s:o}", "width", (json_int_t)class->width, "tensors", (json_int_t)class->n_tensors, "rows",
                     (json_int_t)class->n_rows, "options", rates);
}

json_t *layout_auto_json(const layout_auto *a) {
    char reason[256], soa[256];
    if (!a->is_chosen) {
        return json_null();
    }
    json_t *options = json_array(), *classes = json_array();
    for (uint32_t i = 0; i < a->choice.n_options; i++) {
        json_array_append_new(options, make_option(&a->choice.options[i]));
    }
    for (uint32_t i = 0; i < a->choice.n_classes; i++) {
        json_array_append_new(classes, make_class(&a->choice, &a->choice.classes[i]));
    }
    layout_choice_reason(&a->choice, reason, sizeof reason);
    layout_choice_soa(&a->choice, soa, sizeof soa);
    return json_pack("{s:s, s:s, s:i, s:i, s:s, s:s, s:o, s:o}", "backend", a->c->on.spec.name, "device", a->c->on.info.id, "threads",
                     (int)team_size(a->c->workers), "chosen", (int)a->choice.chosen, "reason", reason, "q4_k_soa", soa, "options", options,
                     "classes", classes);
}

/* --------------------------------------------------------------------------------------------------------------- lines */

static bool put(const char *line, int n) {
    return n >= 0 && command_write(line, (size_t)n);
}

static bool print_option(const layout_choice *choice, uint32_t i) {
    const layout_option *o = &choice->options[i];
    char line[200], times[96] = "not taken";
    if (o->is_measured) {
        snprintf(times, sizeof times, "%9.2f %10.1f %9.2f %9.1f", o->ms_per_token, 1e-6 * (double)o->file_bytes, o->start_s,
                 1e-6 * o->copy_bytes);
    }
    return put(line, snprintf(line, sizeof line, "%c %-22s %s%s\n", i == choice->chosen ? '*' : ' ', layout_option_name(o), times,
                              o->is_allowed ? "" : "  (not asked for)"));
}

/* One line a class and type: "  Q4_K panels, rows of 2048: 300.1 MB at 24.3 GB/s". */
static bool print_class(const layout_choice *choice, const layout_class *class) {
    bool is_written = true;
    for (uint32_t i = 0; i < choice->n_options && is_written; i++) {
        char line[200];
        uint32_t k = 0;
        while (k < i && class->types[k] != class->types[i]) {
            k++;
        }
        if (k == i && class->rates[i].is_run) {
            is_written = put(line, snprintf(line, sizeof line, "  %-16s rows of %5" PRIu64 ": %8.1f MB at %6.2f GB/s\n",
                                            p64_dtype_name(class->types[i]), class->width, 1e-6 * (double)class->bytes[i],
                                            1e-9 * reached(class, i)));
        }
    }
    return is_written;
}

bool layout_auto_print(const layout_auto *a) {
    char line[400], reason[256], soa[256];
    if (!a->is_chosen) {
        return true;
    }
    layout_choice_reason(&a->choice, reason, sizeof reason);
    layout_choice_soa(&a->choice, soa, sizeof soa);
    bool is_written = put(line, snprintf(line, sizeof line, "layouts on %s, %u threads   ms/token    file MB   start s   copy MB\n",
                                         a->c->on.spec.name, team_size(a->c->workers)));
    for (uint32_t i = 0; i < a->choice.n_options; i++) {
        is_written = is_written && print_option(&a->choice, i);
    }
    for (uint32_t i = 0; i < a->choice.n_classes; i++) {
        is_written = is_written && print_class(&a->choice, &a->choice.classes[i]);
    }
    is_written = is_written && put(line, snprintf(line, sizeof line, "layout %s\n", reason));
    return is_written && (soa[0] == '\0' || put(line, snprintf(line, sizeof line, "%s\n", soa)));
}
