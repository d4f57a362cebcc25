/* op_suites.c — the suites of this folder. */
#include "conform_suites.h"

extern const cf_suite cf_suite_embed, cf_suite_matmul, cf_suite_panels, cf_suite_add, cf_suite_scale, cf_suite_rms_norm, cf_suite_rope,
    cf_suite_state, cf_suite_attention, cf_suite_gated, cf_suite_softcap, cf_suite_select_rows, cf_suite_sample,
    cf_suite_layers, cf_suite_models, cf_suite_fuzz, cf_suite_speed;

static const cf_suite *const suites[] = {
    &cf_suite_embed,       &cf_suite_matmul, &cf_suite_panels, &cf_suite_add,    &cf_suite_scale,     &cf_suite_rms_norm, &cf_suite_rope,
    &cf_suite_state,       &cf_suite_attention, &cf_suite_gated, &cf_suite_softcap, &cf_suite_select_rows, &cf_suite_sample,
    &cf_suite_fuzz,        &cf_suite_layers, &cf_suite_models, &cf_suite_speed,
};

const cf_suite_list cf_op_suites = {suites, CF_COUNT_OF(suites)};
