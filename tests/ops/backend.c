/* backend.c — opening a backend on the test host, and running one program on it with guarded memory. */
#include "backend.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <quoin/glue.h>

#define GUARD_BYTES 256
#define UNWRITTEN 0x7fc0deadu /* a quiet NaN that no op produces */

qn_status QN_CALL quoin_reference_query(const qn_query_in *in, qn_query_out *out);

qn_query_fn backend_find(const char *name) {
    if (strcmp(name, "reference") == 0) {
        return quoin_reference_query;
    }
    fprintf(stderr, "no backend '%s' is linked in; there is: reference\n", name);
    return NULL;
}

qn_query_fn backend_load(const char *path) {
    qn_query_fn query = NULL;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    void *symbol = library == NULL ? NULL : dlsym(library, QN_QUERY_SYMBOL);
    if (symbol == NULL) {
        fprintf(stderr, "%s: %s\n", path, dlerror());
        return NULL;
    }
    memcpy(&query, &symbol, sizeof query);
    return query;
}

static bool refuse(backend *self, const char *verb, qn_status status, const qn_error *error) {
    fprintf(stderr, "%s refused at %s: status %d: %s\n", self->about.name, verb, status, error->text);
    backend_close(self);
    return false;
}

/* QUOIN_TEST_OPTION=KEY=VALUE: an option for backends that know it. */
static uint32_t read_start_option(const qn_query_out *about, char text[128], qn_option *option) {
    const char *const given = getenv("QUOIN_TEST_OPTION");
    if (given == NULL || strchr(given, '=') == NULL) {
        return 0;
    }
    snprintf(text, 128, "%s", given);
    char *const value = strchr(text, '=');
    *value = '\0';
    *option = (qn_option){text, value + 1};
    for (uint32_t i = 0; i < about->n_options; i++) {
        const qn_option_info *info = (const void *)((const char *)about->options + (uint64_t)i * about->option_stride);
        if (strcmp(info->key, text) == 0) {
            return 1;
        }
    }
    return 0;
}

bool backend_open(backend *self, qn_query_fn query, uint64_t features, uint32_t n_workers) {
    const qn_query_in in = {.size = sizeof in, .minor = QN_ABI_MINOR, .build_id = "test", .cpu_features = {features}};
    qn_error error = {.size = sizeof error};
    uint32_t count = 0;
    char text[128];
    qn_option option;
    qn_status status;
    memset(self, 0, sizeof *self);
    self->about.size = sizeof self->about;
    status = query(&in, &self->about);
    if (status != QN_OK || self->about.plugin == NULL) {
        return refuse(self, "query", status, &error);
    }
    self->verbs = self->about.plugin;
    self->host = test_host_open(n_workers, features);
    const uint32_t n_options = read_start_option(&self->about, text, &option);
    status = self->verbs->start(test_host_services(self->host), n_options == 0 ? NULL : &option, n_options, &self->plugin, &error);
    if (status != QN_OK) {
        return refuse(self, "start", status, &error);
    }
    self->info.size = sizeof self->info;
    status = self->verbs->devices(self->plugin, &self->info, sizeof self->info, 1, &count, &error);
    if (status != QN_OK || count == 0) {
        return refuse(self, "devices", status, &error);
    }
    status = self->verbs->open(self->plugin, self->info.id, NULL, 0, &self->device, &error);
    return status == QN_OK || refuse(self, "open", status, &error);
}

uint64_t backend_close(backend *self) {
    uint64_t left = 0;
    if (self->verbs != NULL) {
        self->verbs->close(self->device);
        self->verbs->stop(self->plugin);
    }
    if (self->host != NULL) {
        left = test_host_close(self->host);
    }
    memset(self, 0, sizeof *self);
    return left;
}

/* --- Rig -------------------------------------------------------------------------------------------------------------- */

static void require_ok(rig *self, qn_status status, const char *verb) {
    if (status != QN_OK) {
        assert_true(self->error.text[0] != '\0');
        fail_msg("%s: status %d (op %u): %s", verb, status, self->error.op, self->error.text);
    }
}

static qn_error *fresh_error(rig *self) {
    self->error = (qn_error){.size = sizeof self->error, .op = QN_NO_OP};
    return &self->error;
}

qn_limits rig_limits(uint32_t tokens, uint32_t outputs, uint32_t sequences, uint32_t n_groups, uint32_t cells) {
    qn_limits limits = {.size = sizeof limits, .max_tokens = tokens, .max_outputs = outputs, .max_sequences = sequences,
                        .n_groups = n_groups};
    for (uint32_t g = 0; g < n_groups; g++) {
        limits.cells[g] = cells;
    }
    return limits;
}

void rig_init(rig *self, const backend *on, const qn_program *program, const qn_limits *limits) {
    memset(self, 0, sizeof *self);
    self->backend = on;
    self->program = program;
    self->limits = *limits;
    self->weight_flags = QN_WEIGHT_BORROW;
}

void rig_deinit(rig *self) {
    self->backend->verbs->session_free(self->session);
    self->backend->verbs->prog_free(self->prog);
    for (uint32_t b = 0; b < OP_PROGRAM_ROOM; b++) {
        free(self->memory[b].base);
    }
    memset(self, 0, sizeof *self);
}

/* Memory for `bytes` with a guard band on each side, beginning at an odd multiple of 4. */
static char *take_memory(rig *self, uint32_t buffer, uint64_t bytes) {
    rig_memory *memory = &self->memory[buffer];
    free(memory->base);
    memory->base = malloc(bytes + 2 * GUARD_BYTES + 4);
    assert_non_null(memory->base);
    memory->data = (char *)memory->base + GUARD_BYTES + 4;
    memory->bytes = bytes;
    memset(memory->base, 0xa5, bytes + 2 * GUARD_BYTES + 4);
    return memory->data;
}

static void require_guards(const rig_memory *memory, const char *name) {
    const unsigned char *before = memory->base, *after = (const unsigned char *)memory->data + memory->bytes;
    for (uint32_t i = 0; i < GUARD_BYTES; i++) {
        if (before[4 + i] != 0xa5 || after[i] != 0xa5) {
            fail_msg("buffer %s was written outside its bounds", name);
        }
    }
}

void rig_set(rig *self, uint32_t buffer, const void *data, uint64_t bytes) {
    memcpy(take_memory(self, buffer, bytes), data, bytes);
}

void rig_set_first(rig *self, uint32_t buffer, uint64_t first_element) {
    self->first_element[buffer] = first_element;
}

bool rig_check(rig *self, uint32_t numeric) {
    const qn_compile_options options = {.size = sizeof options, .numeric = numeric};
    qn_verdict verdicts[OP_PROGRAM_ROOM];
    bool is_yes = true;
    for (uint32_t i = 0; i < self->program->n_ops; i++) {
        verdicts[i] = (qn_verdict){.size = sizeof verdicts[i]};
    }
    require_ok(self, self->backend->verbs->check(self->backend->device, self->program, &options, verdicts, sizeof verdicts[0],
                                                 fresh_error(self)), "check");
    for (uint32_t i = 0; i < self->program->n_ops; i++) {
        assert_true(verdicts[i].verdict <= QN_VERDICT_EMULATED);
        assert_true(verdicts[i].verdict != QN_VERDICT_NO || verdicts[i].text[0] != '\0');
        is_yes = is_yes && verdicts[i].verdict != QN_VERDICT_NO;
    }
    return is_yes;
}

static void bind_all(rig *self) {
    qn_weight weights[OP_PROGRAM_ROOM] = {{0}};
    uint32_t n_weights = 0;
    for (uint32_t b = 0; b < self->program->n_buffers; b++) {
        if (qn_program_buffer(self->program, b)->role == QN_ROLE_WEIGHT) {
            weights[n_weights++] = (qn_weight){.size = sizeof(qn_weight), .buffer = b, .flags = self->weight_flags, .fd = -1,
                                               .data = self->memory[b].data, .bytes = self->memory[b].bytes,
                                               .first_element = self->first_element[b]};
        }
    }
    require_ok(self, self->backend->verbs->bind_weights(self->prog, weights, sizeof weights[0], n_weights, fresh_error(self)),
               "bind_weights");
    for (uint32_t w = 0; w < n_weights && self->weight_flags == QN_WEIGHT_COPY; w++) {
        memset(self->memory[weights[w].buffer].data, 0xa5, self->memory[weights[w].buffer].bytes);
    }
}

void rig_compile(rig *self, uint32_t flags, uint32_t numeric) {
    const qn_plugin *verbs = self->backend->verbs;
    const qn_compile_options options = {.size = sizeof options, .flags = flags, .numeric = numeric};
    require_ok(self, verbs->compile(self->backend->device, self->program, &self->limits, &options, &self->prog,
                                    fresh_error(self)), "compile");
    bind_all(self);
    require_ok(self, verbs->seal(self->prog, fresh_error(self)), "seal");
    rig_new_session(self);
}

void rig_new_session(rig *self) {
    self->backend->verbs->session_free(self->session);
    self->session = NULL;
    require_ok(self, self->backend->verbs->session_new(self->prog, &self->session, fresh_error(self)), "session_new");
}

static uint64_t buffer_bytes(const qn_buffer *buffer, const qn_step *step) {
    return qn_buffer_rows(buffer, step->n_tokens, step->n_outputs, 0)
           * qn_format_bytes(buffer->format, qn_buffer_dim(buffer, 0, step->n_tokens, step->n_outputs, 0));
}

static void prefill_output(char *data, uint64_t bytes) {
    const uint32_t unwritten = UNWRITTEN;
    for (uint64_t i = 0; i + 4 <= bytes; i += 4) {
        memcpy(data + i, &unwritten, 4);
    }
}

qn_status rig_try_step(rig *self, qn_step *step) {
    qn_binding bindings[OP_PROGRAM_ROOM];
    uint32_t n_bindings = 0;
    for (uint32_t b = 0; b < self->program->n_buffers; b++) {
        const qn_buffer *buffer = qn_program_buffer(self->program, b);
        if (buffer->role != QN_ROLE_INPUT && buffer->role != QN_ROLE_OUTPUT) {
            continue;
        }
        const uint64_t bytes = buffer_bytes(buffer, step);
        if (buffer->role == QN_ROLE_OUTPUT) {
            prefill_output(take_memory(self, b, bytes), bytes);
        }
        bindings[n_bindings++] = (qn_binding){.buffer = b, .data = self->memory[b].data, .bytes = bytes};
    }
    step->size = sizeof *step;
    step->placement_stride = sizeof(qn_placement);
    step->bindings = bindings;
    step->binding_stride = sizeof bindings[0];
    step->n_bindings = n_bindings;
    const qn_status status = self->backend->verbs->step(self->session, step, fresh_error(self));
    step->bindings = NULL;
    assert_true(status == QN_OK || self->error.text[0] != '\0');
    for (uint32_t i = 0; i < n_bindings; i++) {
        const uint32_t b = bindings[i].buffer;
        require_guards(&self->memory[b], qn_program_name(self->program, qn_program_buffer(self->program, b)));
    }
    return status;
}

void rig_step(rig *self, qn_step *step) {
    require_ok(self, rig_try_step(self, step), "step");
}

const float *rig_output(const rig *self, uint32_t buffer) {
    const rig_memory *memory = &self->memory[buffer];
    const uint32_t unwritten = UNWRITTEN;
    for (uint64_t i = 0; i + 4 <= memory->bytes; i += 4) {
        if (memcmp(memory->data + i, &unwritten, 4) == 0) {
            fail_msg("element %llu of the output was not written", (unsigned long long)(i / 4));
        }
    }
    return (const float *)(const void *)memory->data;
}

void *rig_tap(rig *self, uint32_t buffer, uint64_t bytes) {
    uint64_t out_bytes = 0;
    void *data = malloc(bytes + 1);
    assert_non_null(data);
    require_ok(self, self->backend->verbs->tap(self->session, buffer, data, bytes, &out_bytes, fresh_error(self)), "tap");
    assert_int_equal(out_bytes, bytes);
    return data;
}

void rig_move(rig *self, uint32_t kind, uint32_t group, uint32_t from, uint32_t to, uint32_t n_cells) {
    const qn_state_move move = {.size = sizeof move, .kind = kind, .group = group, .from = from, .to = to, .n_cells = n_cells};
    require_ok(self, self->backend->verbs->state_move(self->session, &move, sizeof move, 1, fresh_error(self)), "state_move");
}
