/* choice.h — what choose.c and auto_choice.c share: one request under way.
 *
 * Internal to host/backends.
 */
#ifndef HOST_CHOICE_H
#define HOST_CHOICE_H
#include "backends/choose.h"
#include "backends/survey.h"

typedef struct choice {
    registry *reg;
    host_services *services;
    const backend_request *request;
    surveyor asker;      /* valid with is_asking */
    bool is_asking;
    workload model;      /* valid with has_model */
    bool has_model;
} choice;

/* The surveyor, made when it is first needed; nothing is read from disk before. */
surveyor *choice_asker(choice *c);

/* The model's needs; the usual ones when no model is known. Fails as request->measure does; *out_model is untouched then. */
qn_status choice_model(choice *c, const workload **out_model, error_context *err);

/* The spec with the configuration's options filled in. */
qn_status choice_fill(const choice *c, const backend_spec *spec, backend_spec *out, error_context *err);

/* Asks request->accept; the backend is closed when that fails. */
qn_status choice_accept(const choice *c, backend *on, error_context *err);

/* Opens, in this process, and asks request->accept. *out is closed on error. */
qn_status choice_open(const choice *c, const backend_spec *full, backend *out, error_context *err);

/* Opens what the user named, after a probe where it did not come with the program; accept is not asked. */
qn_status choice_open_named(choice *c, const backend_spec *spec, backend *out, error_context *err);

/* Would another backend do better? Not when the model or the user is at fault. */
bool choice_may_go_on(qn_status status);

/* auto_choice.c */
qn_status choose_automatically(choice *c, backend *out, error_context *err);

/* split_choice.c: request->layers_on */
qn_status choose_split(choice *c, backend *out, error_context *err);

#endif
