/* sample_lanes.c — samples many short stories from one small llama-architecture model, sixteen at once. Part of the training recipe of
 * quoin-tiny, not of the product.
 *
 * Usage: sample_lanes WEIGHTS.f32 N_ROUNDS SEED TEMPERATURE TOP_P > TOKENS.u16
 *
 * Sixteen stories are written in lockstep: lane l of every vector belongs to story l, so each weight is loaded once
 * for sixteen products and no loop needs a horizontal sum. WEIGHTS.f32 is made by make_data.py: little-endian
 * float32, first the embedding, then each layer's tensors in the order of struct layer, then the final norm.
 * The output holds the token ids of each finished story as uint16, each story closed by 0xffff; a story that fills
 * the context without an end token is dropped.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIM = 64, FFN = 172, LAYERS = 5, HEADS = 8, KV_HEADS = 4, HEAD = 8, KV = 32, VOCAB = 512, CTX = 512 };
enum { LANES = 16 };
enum { TOKEN_BOS = 1, TOKEN_EOS = 2, MAX_KEPT = 64 };

typedef float lanes __attribute__((vector_size(4 * LANES)));
typedef int32_t lane_ints __attribute__((vector_size(4 * LANES)));

struct layer {
    float attn_norm[DIM], q[DIM * DIM], k[KV * DIM], v[KV * DIM], attn_output[DIM * DIM];
    float ffn_norm[DIM], gate[FFN * DIM], up[FFN * DIM], down[DIM * FFN];
};

struct model {
    float embd[VOCAB * DIM];
    struct layer layer[LAYERS];
    float output_norm[DIM];
};

static struct model model;
static lanes cache_k[LAYERS][KV_HEADS][CTX][HEAD], cache_v[LAYERS][KV_HEADS][CTX][HEAD];
static float rope_cos[CTX][HEAD / 2], rope_sin[CTX][HEAD / 2];
static uint64_t rng_state;

/* Uniform in [0, 1), xorshift64*. */
static float draw_uniform(void) {
    rng_state ^= rng_state >> 12;
    rng_state ^= rng_state << 25;
    rng_state ^= rng_state >> 27;
    return (float)((rng_state * 0x2545F4914F6CDD1Dull) >> 40) / 16777216.0f;
}

static lanes broadcast(float value) {
    lanes out = {0};
    return out + value;
}

/* e to the x for x in [-87, 87] to about six digits: 2^n times a polynomial on [-ln 2 / 2, ln 2 / 2]. */
static lanes exp_lanes(lanes x) {
    lanes scaled = x * 1.44269504f, round = broadcast(12582912.0f);
    lanes n = (scaled + round) - round;
    lanes r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
    lanes p = 1.3888889e-3f * r + 8.3333333e-3f;
    p = p * r + 4.1666667e-2f;
    p = p * r + 1.6666667e-1f;
    p = p * r + 0.5f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    lane_ints bits = (__builtin_convertvector(n, lane_ints) + 127) << 23;
    return p * (lanes)bits;
}

static lanes clamp_lanes(lanes x, float low, float high) {
    lanes lo = broadcast(low), hi = broadcast(high);
    lane_ints below = x < lo, above = x > hi;
    lane_ints bits = ((lane_ints)x & ~(below | above)) | ((lane_ints)lo & below) | ((lane_ints)hi & above);
    return (lanes)bits;
}

/* y[rows] = w[rows][cols] x[cols]; rows is a multiple of 4. */
static void mul_rows(lanes *restrict y, const lanes *restrict x, const float *restrict w, int rows, int cols) {
    for (int r = 0; r < rows; r += 4) {
        const float *w0 = w + (size_t)r * (size_t)cols;
        lanes a = broadcast(0), b = a, c = a, d = a;
        for (int i = 0; i < cols; i++) {
            a += w0[i] * x[i];
            b += w0[cols + i] * x[i];
            c += w0[2 * cols + i] * x[i];
            d += w0[3 * cols + i] * x[i];
        }
        y[r] = a;
        y[r + 1] = b;
        y[r + 2] = c;
        y[r + 3] = d;
    }
}

static void normalise(lanes *restrict y, const lanes *restrict x, const float *restrict weight) {
    lanes sum = broadcast(0);
    for (int i = 0; i < DIM; i++)
        sum += x[i] * x[i];
    for (int l = 0; l < LANES; l++)
        sum[l] = 1.0f / sqrtf(sum[l] / DIM + 1e-5f);
    for (int i = 0; i < DIM; i++)
        y[i] = x[i] * sum * weight[i];
}

static void rotate(lanes *x, int heads, int pos) {
    for (int h = 0; h < heads; h++) {
        for (int i = 0; i < HEAD / 2; i++) {
            lanes *pair = x + h * HEAD + 2 * i;
            lanes a = pair[0], b = pair[1];
            pair[0] = a * rope_cos[pos][i] - b * rope_sin[pos][i];
            pair[1] = a * rope_sin[pos][i] + b * rope_cos[pos][i];
        }
    }
}

static lanes dot_head(const lanes *q, const lanes *k) {
    lanes even = q[0] * k[0], odd = q[1] * k[1];
    for (int i = 2; i < HEAD; i += 2) {
        even += q[i] * k[i];
        odd += q[i + 1] * k[i + 1];
    }
    return even + odd;
}

/*
 * Attention of the two query heads that share one key and value head. Scores of this model stay far inside exp's
 * range, so the usual shift by the largest one is left out.
 */
static void attend_pair(lanes *out, const lanes *q, lanes (*k)[HEAD], lanes (*v)[HEAD], int pos) {
    lanes acc[2 * HEAD] = {0}, sum_a = broadcast(0), sum_b = broadcast(0);
    for (int t = 0; t <= pos; t++) {
        lanes a = exp_lanes(clamp_lanes(dot_head(q, k[t]) * 0.35355339f, -60, 60));
        lanes b = exp_lanes(clamp_lanes(dot_head(q + HEAD, k[t]) * 0.35355339f, -60, 60));
        sum_a += a;
        sum_b += b;
        for (int i = 0; i < HEAD; i++) {
            acc[i] += a * v[t][i];
            acc[HEAD + i] += b * v[t][i];
        }
    }
    for (int i = 0; i < HEAD; i++) {
        out[i] = acc[i] / sum_a;
        out[HEAD + i] = acc[HEAD + i] / sum_b;
    }
}

static void run_layer(lanes *x, int index, int pos) {
    const struct layer *w = &model.layer[index];
    lanes h[DIM], q[DIM], k[KV], v[KV], mix[DIM], gate[FFN], up[FFN];
    normalise(h, x, w->attn_norm);
    mul_rows(q, h, w->q, DIM, DIM);
    mul_rows(k, h, w->k, KV, DIM);
    mul_rows(v, h, w->v, KV, DIM);
    rotate(q, HEADS, pos);
    rotate(k, KV_HEADS, pos);
    for (int head = 0; head < KV_HEADS; head++) {
        lanes (*keys)[HEAD] = cache_k[index][head], (*values)[HEAD] = cache_v[index][head];
        memcpy(keys[pos], k + head * HEAD, sizeof keys[pos]);
        memcpy(values[pos], v + head * HEAD, sizeof values[pos]);
        attend_pair(mix + 2 * head * HEAD, q + 2 * head * HEAD, keys, values, pos);
    }
    mul_rows(h, mix, w->attn_output, DIM, DIM);
    for (int i = 0; i < DIM; i++)
        x[i] += h[i];
    normalise(h, x, w->ffn_norm);
    mul_rows(gate, h, w->gate, FFN, DIM);
    mul_rows(up, h, w->up, FFN, DIM);
    for (int i = 0; i < FFN; i++)
        up[i] *= gate[i] / (1.0f + exp_lanes(clamp_lanes(-gate[i], -60, 60)));
    mul_rows(h, up, w->down, DIM, FFN);
    for (int i = 0; i < DIM; i++)
        x[i] += h[i];
}

static void run_step(lanes *logits, const uint16_t *token, int pos) {
    lanes x[DIM], h[DIM];
    for (int i = 0; i < DIM; i++)
        for (int l = 0; l < LANES; l++)
            x[i][l] = model.embd[token[l] * DIM + i];
    for (int index = 0; index < LAYERS; index++)
        run_layer(x, index, pos);
    normalise(h, x, model.output_norm);
    mul_rows(logits, h, model.embd, VOCAB, DIM);
}

/* Turns logits into unnormalised probabilities, in place; the largest of each story becomes 1. */
static lanes weigh_tokens(lanes *logits, float temperature) {
    lanes top = logits[0], sum = broadcast(0);
    for (int i = 1; i < VOCAB; i++) {
        lane_ints more = logits[i] > top;
        top = (lanes)(((lane_ints)logits[i] & more) | ((lane_ints)top & ~more));
    }
    for (int i = 0; i < VOCAB; i++) {
        logits[i] = exp_lanes(clamp_lanes((logits[i] - top) / temperature, -60, 0));
        sum += logits[i];
    }
    return sum;
}

/* Draws from the smallest set of most probable tokens whose mass reaches limit. */
static uint16_t draw_token(const lanes *p, int lane, float limit) {
    const float *column = (const float *)p + lane;
    struct candidate { float p; uint16_t id; } kept[MAX_KEPT];
    int n = 0, used = 0;
    float mass = 0;
    for (int i = 0; i < VOCAB; i++) {
        float value = column[i * LANES];
        if (value < 1e-3f || (n == MAX_KEPT && value <= kept[n - 1].p))
            continue;
        int at = n < MAX_KEPT ? n++ : n - 1;
        for (; at > 0 && kept[at - 1].p < value; at--)
            kept[at] = kept[at - 1];
        kept[at] = (struct candidate){value, (uint16_t)i};
    }
    while (used < n && mass < limit)
        mass += kept[used++].p;
    float point = draw_uniform() * mass;
    for (int i = 0; i < used; i++) {
        point -= kept[i].p;
        if (point < 0)
            return kept[i].id;
    }
    return kept[0].id;
}

/* Writes one round of sixteen stories. */
static void write_round(float temperature, float top_p) {
    static uint16_t story[LANES][CTX + 1];
    static lanes logits[VOCAB];
    uint16_t token[LANES];
    int length[LANES] = {0}, done[LANES] = {0}, live = LANES;
    for (int l = 0; l < LANES; l++)
        token[l] = TOKEN_BOS;
    for (int pos = 0; pos < CTX && live > 0; pos++) {
        run_step(logits, token, pos);
        lanes sum = weigh_tokens(logits, temperature);
        for (int l = 0; l < LANES; l++) {
            if (done[l])
                continue;
            token[l] = draw_token(logits, l, top_p * sum[l]);
            if (token[l] == TOKEN_EOS || token[l] == TOKEN_BOS) {
                done[l] = 1;
                live--;
                story[l][length[l]++] = 0xffff;
                continue;
            }
            story[l][length[l]++] = token[l];
        }
    }
    for (int l = 0; l < LANES; l++)
        if (done[l])
            fwrite(story[l], sizeof(uint16_t), (size_t)length[l], stdout);
}

int main(int argc, char **argv) {
    if (argc != 6) {
        fprintf(stderr, "usage: %s WEIGHTS.f32 N_ROUNDS SEED TEMPERATURE TOP_P\n", argv[0]);
        return 2;
    }
    FILE *file = fopen(argv[1], "rb");
    if (!file || fread(&model, sizeof model, 1, file) != 1) {
        fprintf(stderr, "%s: cannot read %zu bytes of weights\n", argv[1], sizeof model);
        return 1;
    }
    fclose(file);
    for (int pos = 0; pos < CTX; pos++) {
        for (int i = 0; i < HEAD / 2; i++) {
            double angle = pos * pow(10000.0, -2.0 * i / HEAD);
            rope_cos[pos][i] = (float)cos(angle);
            rope_sin[pos][i] = (float)sin(angle);
        }
    }
    rng_state = strtoull(argv[3], NULL, 10) * 0x9E3779B97F4A7C15ull + 1;
    long rounds = strtol(argv[2], NULL, 10);
    for (long i = 0; i < rounds; i++)
        write_round(strtof(argv[4], NULL), strtof(argv[5], NULL));
    return fflush(stdout) ? 1 : 0;
}
