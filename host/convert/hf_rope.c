/* hf_rope.c — RoPE of config.json: base, turned dimensions, scaling, and the factors that GGUF files hold as tensors. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "convert/hf_config.h"

#define MAX_BASE 1e12
#define MAX_FACTOR 1e6
#define WINDOW_BASE 10000.0 /* Gemma 3: base of the windowed layers unless told otherwise */
#define MAX_PAIRS 32768u

static bool is_arch(const hf_model *m, const char *arch) {
    return strcmp(m->arch, arch) == 0;
}

/* The object that describes the scaling: older folders call it rope_scaling, newer ones rope_parameters, where the base
 * stands in it as well, and Gemma has one for each kind of layer. */
static hf_object find_scaling(hf_model *m, const char *kind) {
    hf_object rope = hf_member(&m->text, "rope_parameters");
    if (rope.members == NULL) {
        return hf_member(&m->text, "rope_scaling");
    }
    hf_object part = hf_member(&rope, kind);
    return part.members != NULL ? part : rope;
}

/* Questions to the part fail in the whole. */
static void keep_status(hf_model *m, const hf_object *part) {
    if (m->text.status == QN_OK) {
        m->text.status = part->status;
    }
}

static fmt_str find_type(hf_object *scaling) {
    const fmt_str type = hf_string(scaling, "rope_type");
    return type.size > 0 ? type : hf_string(scaling, "type");
}

static void translate_base(hf_model *m, hf_object *scaling) {
    const double fallback = is_arch(m, "gemma3") ? 1e6 : 1e4;
    const double inner = hf_float(scaling, "rope_theta", 1e-3, MAX_BASE, fallback);
    key_list_float(m->keys, ".rope.freq_base", hf_float(&m->text, "rope_theta", 1e-3, MAX_BASE, inner));
}

static void translate_window_base(hf_model *m) {
    hf_object scaling = find_scaling(m, "sliding_attention");
    const bool is_own = scaling.members != NULL && strstr(scaling.where, "sliding_attention") != NULL;
    const double inner = is_own ? hf_float(&scaling, "rope_theta", 1e-3, MAX_BASE, WINDOW_BASE) : WINDOW_BASE;
    const double base = hf_float(&m->text, "rope_local_base_freq", 1e-3, MAX_BASE, inner);
    keep_status(m, &scaling);
    if (base != WINDOW_BASE) {
        key_list_float(m->keys, ".rope.freq_base_swa", base);
    }
}

/* Dimensions of a head that are turned. */
static uint32_t translate_dimensions(hf_model *m, hf_object *scaling) {
    const double inner = hf_float(scaling, "partial_rotary_factor", 1e-3, 1.0, 1.0);
    const double part = hf_float(&m->text, "partial_rotary_factor", 1e-3, 1.0, inner);
    const uint32_t n_rot = (uint32_t)(part * m->head_dim);
    if (part != 1.0 && !is_arch(m, "phi3")) {
        hf_refuse(&m->text, QN_UNSUPPORTED, "partial_rotary_factor", "is %g; this program turns whole heads of a %s "
                  "model", part, m->arch);
    }
    if (n_rot < 2 || n_rot % 2 != 0 || n_rot / 2 > MAX_PAIRS) {
        hf_refuse(&m->text, QN_BAD_FILE, "head_dim", "gives %u dimensions to turn; an even number is needed", n_rot);
    }
    if (is_arch(m, "llama") || is_arch(m, "phi3")) {
        key_list_uint(m->keys, ".rope.dimension_count", n_rot);
    }
    return n_rot;
}

static void translate_linear(hf_model *m, hf_object *scaling) {
    key_list_word(m->keys, ".rope.scaling.type", "linear");
    key_list_float(m->keys, ".rope.scaling.factor", hf_float(scaling, "factor", 1e-6, MAX_FACTOR, (double)NAN));
}

static void translate_yarn(hf_model *m, hf_object *scaling) {
    const double factor = hf_float(scaling, "factor", 1.0, MAX_FACTOR, (double)NAN);
    const double usual = 0.1 * log(factor > 1.0 ? factor : 1.0) + 1.0; /* what YaRN takes when nobody says */
    const double attention = hf_float(scaling, "attention_factor", 1e-6, MAX_FACTOR, usual);
    const double fast = hf_float(scaling, "beta_fast", 1e-3, MAX_FACTOR, 32.0);
    const double slow = hf_float(scaling, "beta_slow", 1e-3, MAX_FACTOR, 1.0);
    if (hf_get(scaling, "mscale") != NULL || hf_get(scaling, "mscale_all_dim") != NULL ||
        !hf_bool(scaling, "truncate", true)) {
        hf_refuse(scaling, QN_UNSUPPORTED, "mscale", "or truncate is there; this program runs YaRN without them");
    }
    key_list_word(m->keys, ".rope.scaling.type", "yarn");
    key_list_float(m->keys, ".rope.scaling.factor", factor);
    key_list_uint(m->keys, ".rope.scaling.original_context_length",
                  hf_uint(scaling, "original_max_position_embeddings", 1, UINT32_MAX - 1, m->n_context));
    if (attention != usual) {
        key_list_float(m->keys, ".rope.scaling.yarn_attn_factor", attention / usual);
    }
    if (fast != 32.0 || slow != 1.0) {
        key_list_float(m->keys, ".rope.scaling.yarn_beta_fast", fast);
        key_list_float(m->keys, ".rope.scaling.yarn_beta_slow", slow);
    }
}

/* Llama 3: slow frequencies are stretched by the factor, fast ones are left, those between are mixed. */
static void translate_llama3(hf_model *m, hf_object *scaling, uint32_t n_rot) {
    const double base = hf_float(&m->text, "rope_theta", 1e-3, MAX_BASE,
                                 hf_float(scaling, "rope_theta", 1e-3, MAX_BASE, 1e4));
    const double factor = hf_float(scaling, "factor", 1.0, MAX_FACTOR, 8.0);
    const double low = hf_float(scaling, "low_freq_factor", 1e-3, MAX_FACTOR, 1.0);
    const double high = hf_float(scaling, "high_freq_factor", 1e-3, MAX_FACTOR, 4.0);
    const double context = hf_uint(scaling, "original_max_position_embeddings", 1, UINT32_MAX - 1, 8192);
    if (scaling->status == QN_OK && !(high > low)) {
        hf_refuse(scaling, QN_BAD_FILE, "high_freq_factor", "is %g, must be above low_freq_factor %g", high, low);
    }
    float *factors = key_list_take(m->keys, n_rot / 2, sizeof *factors);
    for (uint32_t i = 0; factors != NULL && scaling->status == QN_OK && i < n_rot / 2; i++) {
        const double wave = 2.0 * 3.14159265358979323846 * pow(base, 2.0 * i / n_rot);
        const double mix = (context / wave - low) / (high - low);
        factors[i] = mix >= 1.0 ? 1.0f : mix <= 0.0 ? (float)factor : (float)(1.0 / ((1.0 - mix) / factor + mix));
    }
    key_list_floats(m->keys, "quoin.tensor.rope_freqs.weight", factors, factors == NULL ? 0 : n_rot / 2);
}

static void translate_factors(hf_model *m, hf_object *scaling, const char *name, const char *key, uint32_t count) {
    const json_t *values = hf_array(scaling, name);
    if (values == NULL || json_array_size(values) != count) {
        hf_refuse(scaling, QN_BAD_FILE, name, "has %zu elements; a head turns %u pairs",
                  values == NULL ? 0 : json_array_size(values), count);
        return;
    }
    float *factors = key_list_take(m->keys, count, sizeof *factors);
    for (uint32_t i = 0; factors != NULL && i < count; i++) {
        const double value = json_number_value(json_array_get(values, i));
        if (!(value > 0.0 && value <= MAX_FACTOR)) {
            hf_refuse(scaling, QN_BAD_FILE, name, "has element %u that is no number above 0", i);
            return;
        }
        factors[i] = (float)value;
    }
    key_list_floats(m->keys, key, factors, factors == NULL ? 0 : count);
}

/* Positions that the model was trained with before its context was stretched. */
static uint32_t find_first_context(hf_model *m, hf_object *scaling) {
    const uint32_t inner = hf_uint(scaling, "original_max_position_embeddings", 1, UINT32_MAX - 1, m->n_context);
    return hf_uint(&m->text, "original_max_position_embeddings", 1, UINT32_MAX - 1, inner);
}

/* Phi-3: one set of factors for texts that fit the first context, one for longer ones. */
static void translate_longrope(hf_model *m, hf_object *scaling, uint32_t n_rot) {
    const double context = find_first_context(m, scaling);
    const double scale = context > 1.0 ? m->n_context / context : 1.0;
    const double usual = scale > 1.0 ? sqrt(1.0 + log(scale) / log(context)) : 1.0;
    translate_factors(m, scaling, "short_factor", "quoin.tensor.rope_factors_short.weight", n_rot / 2);
    translate_factors(m, scaling, "long_factor", "quoin.tensor.rope_factors_long.weight", n_rot / 2);
    key_list_float(m->keys, ".rope.scaling.attn_factor", hf_float(scaling, "attention_factor", 1e-6, MAX_FACTOR, usual));
}

static void translate_scaling(hf_model *m, hf_object *scaling, uint32_t n_rot) {
    const fmt_str type = find_type(scaling);
    const bool is_gemma = is_arch(m, "gemma3"), is_phi = is_arch(m, "phi3");
    if (type.size == 0 || hf_equals(type, "default")) {
        return;
    }
    if (hf_equals(type, "linear") && !is_phi) {
        translate_linear(m, scaling);
    } else if (hf_equals(type, "yarn") && !is_gemma && !is_phi) {
        translate_yarn(m, scaling);
    } else if (hf_equals(type, "llama3") && is_arch(m, "llama")) {
        translate_llama3(m, scaling, n_rot);
    } else if ((hf_equals(type, "longrope") || hf_equals(type, "su")) && is_phi) {
        translate_longrope(m, scaling, n_rot);
    } else {
        char quoted[HF_QUOTE_SIZE];
        hf_refuse(scaling, QN_UNSUPPORTED, "rope_type", "is %s, which this program does not run for a %s model",
                  hf_quote(quoted, type), m->arch);
    }
}

void hf_translate_rope(hf_model *m) {
    hf_object scaling = find_scaling(m, "full_attention");
    translate_base(m, &scaling);
    const uint32_t n_rot = translate_dimensions(m, &scaling);
    if (is_arch(m, "gemma3")) {
        translate_window_base(m);
    }
    if (is_arch(m, "phi3")) {
        key_list_uint(m->keys, ".rope.scaling.original_context_length", find_first_context(m, &scaling));
    }
    keep_status(m, &scaling);
    if (m->text.status == QN_OK) {
        translate_scaling(m, &scaling, n_rot);
    }
    keep_status(m, &scaling);
}
