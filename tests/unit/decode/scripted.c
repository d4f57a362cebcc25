/* scripted.c — wrapping the reference backend. */
#include "scripted.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/log.h"

static scripted *current; /* verbs have no context of ours: one scripted at a time */

static void sleep_milliseconds(uint32_t n) {
    const struct timespec time = {n / 1000, (long)(n % 1000) * 1000000};
    nanosleep(&time, NULL);
}

static qn_status QN_CALL step_by_script(qn_session *handle, const qn_step *step, qn_error *err) {
    scripted *f = current;
    (void)handle;
    f->n_steps++;
    sleep_milliseconds(f->milliseconds);
    if (f->n_steps == f->fail_at_step) {
        snprintf(err->text, sizeof err->text, "the script says so");
        return f->fail_with;
    }
    if (f->n_steps == f->cancel_at_step) {
        f->services.cancel = 1;
        return QN_CANCELLED;
    }
    for (uint32_t row = 0; row < step->n_outputs; row++) {
        float *logits = (float *)step->bindings[2].data + (size_t)row * TINY_VOCABULARY;
        const uint32_t token = step->n_tokens - step->n_outputs + row;
        for (uint32_t id = 0; id < TINY_VOCABULARY; id++) {
            logits[id] = -1.0f;
        }
        logits[f->script[step->positions[token]]] = 1.0f;
    }
    return QN_OK;
}

static qn_status open_all(scripted *f, uint32_t n_ctx, uint32_t chunk, uint32_t rows, error_context *err) {
    char path[CORPUS_PATH_SIZE + 16];
    const qn_machine machine = {.size = sizeof machine, .n_workers = 1};
    const backend_request request = {.text = "reference"};
    const plan_options settings = {.n_ctx = n_ctx, .max_chunk = chunk, .max_outputs = rows, .state_format = QN_FORMAT_F16};
    bool was_named;
    snprintf(path, sizeof path, "%s/tiny.gguf", f->folder);
    tiny_model_write(path, "llama", NULL);
    QN_TRY(team_create(1, &f->workers, err), err, "starting");
    host_services_init(&f->services, &machine, f->workers);
    registry_discover(NULL, &f->backends);
    QN_TRY(backend_choose(&f->backends, &f->services, &request, &f->on, &was_named, err), err, "choosing");
    f->table = *f->on.plugin;
    f->real_step = f->table.step;
    f->table.step = step_by_script;
    f->on.plugin = &f->table;
    QN_TRY(model_open(path, NULL, NULL, &f->m, err), err, "opening");
    QN_TRY(plan_create(f->m, &f->on, &settings, &f->p, err), err, "planning");
    return session_create(f->p, &f->s, err);
}

int scripted_open_rows(void **state, uint32_t n_ctx, uint32_t chunk, uint32_t rows) {
    scripted *f = calloc(1, sizeof *f);
    error_context err = {0};
    if (f == NULL) {
        return -1;
    }
    log_set_level(QN_LOG_ERROR);
    test_make_folder(f->folder);
    current = f;
    *state = f;
    for (uint32_t i = 0; i < TINY_CONTEXT; i++) {
        f->script[i] = TINY_BYTE_0 + '.';
    }
    if (open_all(f, n_ctx, chunk, rows, &err) < 0) {
        fprintf(stderr, "%s\n", error_text(&err));
        return -1;
    }
    return 0;
}

int scripted_open(void **state, uint32_t n_ctx, uint32_t chunk) {
    return scripted_open_rows(state, n_ctx, chunk, 2);
}

int scripted_close(void **state) {
    scripted *f = *state;
    session_destroy(f->s);
    plan_destroy(f->p);
    model_close(f->m);
    backend_close(&f->on);
    team_destroy(f->workers);
    test_remove_tree(f->folder);
    free(f);
    return 0;
}

void scripted_say(scripted *f, uint32_t position, const char *text, uint32_t last) {
    for (; *text != '\0'; text++) {
        f->script[position++] = TINY_BYTE_0 + (unsigned char)*text;
    }
    if (last != TOKEN_NONE) {
        f->script[position] = last;
    }
}
