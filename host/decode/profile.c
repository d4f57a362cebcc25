/* profile.c — asking the plugin's clock, and adding up layers. */
#include "decode/profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <quoin/ext/profile.h>
#include <quoin/glue.h>

#define N_STEPS 16u

/* Name of an op without its layer: equal ops of all layers get equal labels. */
static void make_label(const qn_program *program, const qn_op *op, char *label, size_t room) {
    const uint32_t *operands = qn_program_operands(program, op);
    const qn_buffer *buffer = NULL;
    for (uint32_t i = 0; i < op->n_inputs && buffer == NULL; i++) {
        const qn_buffer *input = qn_program_buffer(program, operands[i]);
        buffer = input->role == QN_ROLE_WEIGHT ? input : NULL;
    }
    if (buffer == NULL) {
        snprintf(label, room, "%s", qn_op_name(op->op));
        return;
    }
    const char *name = qn_program_name(program, buffer);
    if (strncmp(name, "blk.", 4) == 0) {
        name = strchr(name + 4, '.') + 1;
    }
    snprintf(label, room, "%s %.48s %s %llux%llu", qn_op_name(op->op), name, qn_format_name(buffer->format),
             (unsigned long long)buffer->dims[0], (unsigned long long)buffer->dims[1]);
}

static profile_row *find_row(profile_table *table, const char *label) {
    for (uint32_t i = 0; i < table->n_rows; i++) {
        if (strcmp(table->rows[i].label, label) == 0) {
            return &table->rows[i];
        }
    }
    profile_row *row = &table->rows[table->n_rows++];
    snprintf(row->label, sizeof row->label, "%s", label);
    return row;
}

static int compare_rows(const void *a, const void *b) {
    const double left = ((const profile_row *)a)->microseconds, right = ((const profile_row *)b)->microseconds;
    return left < right ? 1 : left > right ? -1 : 0;
}

static void add_up(const plan *p, const uint64_t *nanoseconds, uint32_t n_steps, profile_table *table) {
    const double per_step = n_steps > 0 ? 1e-3 / n_steps : 0.0;
    for (uint32_t i = 0; i < p->dec->program->n_ops; i++) {
        char label[96];
        make_label(p->dec->program, qn_program_op(p->dec->program, i), label, sizeof label);
        profile_row *row = find_row(table, label);
        row->n_ops++;
        row->microseconds += (double)nanoseconds[i] * per_step;
        table->total_microseconds += (double)nanoseconds[i] * per_step;
        if (row->kernel[0] == '\0' && QN_HAS(p->on->plugin, describe)) {
            p->on->plugin->describe(p->prog, i, row->kernel, sizeof row->kernel);
        }
    }
    qsort(table->rows, table->n_rows, sizeof *table->rows, compare_rows);
}

/* Up to N_STEPS steps, fewer when the context is that short; *out_steps tells how many. */
static qn_status run_measured(session *s, const qn_profile *clock, uint64_t *nanoseconds, uint32_t n_ops,
                              uint32_t *out_steps, error_context *err) {
    qn_error plugin_error = {.size = sizeof plugin_error, .op = QN_NO_OP};
    *out_steps = 0;
    qn_status status = clock->enable(s->handle, 1, &plugin_error);
    if (status < 0) {
        return plan_plugin_error(s->p, "profile", status, &plugin_error, err);
    }
    session_truncate(s, s->p->n_ctx > 2 * N_STEPS && session_length(s) + N_STEPS < s->p->n_ctx ? session_length(s) : 0);
    for (uint32_t i = 0; i < N_STEPS && status == QN_OK && session_length(s) < s->p->n_ctx; i++) {
        const uint32_t id = 1 + i % 2;
        status = session_append(s, &id, 1, err);
        *out_steps += status == QN_OK;
    }
    clock->read(s->handle, nanoseconds, n_ops);
    clock->enable(s->handle, 0, &plugin_error);
    return status;
}

qn_status profile_decode(session *s, profile_table *out, error_context *err) {
    const qn_plugin *plugin = s->p->on->plugin;
    const qn_profile *clock = QN_HAS(plugin, get_ext) ? plugin->get_ext(QN_EXT_PROFILE) : NULL;
    const uint32_t n_ops = s->p->dec->program->n_ops;
    memset(out, 0, sizeof *out);
    if (clock == NULL) {
        return QN_OK;
    }
    uint64_t *nanoseconds = calloc(n_ops, sizeof *nanoseconds);
    out->rows = calloc(n_ops, sizeof *out->rows);
    qn_status status = QN_OK;
    if (nanoseconds == NULL || out->rows == NULL) {
        status = FAIL(err, QN_NO_HOST_MEM, "out of memory for the profile of %u ops", n_ops);
    } else {
        uint32_t n_steps = 0;
        status = run_measured(s, clock, nanoseconds, n_ops, &n_steps, err);
        add_up(s->p, nanoseconds, n_steps, out);
    }
    free(nanoseconds);
    return status;
}

void profile_free(profile_table *table) {
    free(table->rows);
    memset(table, 0, sizeof *table);
}

json_t *profile_to_json(const profile_table *table) {
    json_t *list = json_array();
    for (uint32_t i = 0; i < table->n_rows; i++) {
        const profile_row *row = &table->rows[i];
        json_array_append_new(list, json_pack("{s:s, s:s, s:i, s:f}", "op", row->label, "kernel", row->kernel, "count",
                                              (int)row->n_ops, "us_per_token", row->microseconds));
    }
    return list;
}

bool profile_print(const profile_table *table, bool all, bool (*write)(const char *text, size_t size)) {
    char line[320];
    bool is_written = true;
    for (uint32_t i = 0; i < table->n_rows && (all || i == 0) && is_written; i++) {
        const profile_row *row = &table->rows[i];
        const double share = table->total_microseconds > 0 ? 100.0 * row->microseconds / table->total_microseconds
                                                           : 0.0;
        const int n = snprintf(line, sizeof line, "%s %8.1f us a token (%4.1f %%) in %u x %s [%s]\n",
                               all ? "op      " : "slowest ", row->microseconds, share, row->n_ops, row->label,
                               row->kernel);
        is_written = write(line, (size_t)n);
    }
    return is_written;
}
