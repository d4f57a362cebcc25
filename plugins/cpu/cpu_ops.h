/* cpu_ops.h — what the kernels work on, and the dispatch table that holds one variant of each.
 *
 * Two forms of a weight matrix W [N][K]:
 *
 *   panels   quantised formats, as <quoin/panels.h> lays them out: one vector load feeds sixteen rows. They are packed at bind
 *            time, or lie in the file already.
 *   rows     every other format, read in place: rows of K elements, one after the other.
 *
 * Activations of class ACT8 are rows of blocks of 32: signed bytes, a scale each, and sums that fold zero points and minima.
 *
 * Kernels are pure: they read what they are given, write their output only, allocate nothing and know no threads.
 */
#ifndef CPU_OPS_H
#define CPU_OPS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <quoin/ops.h>
#include <quoin/panels.h>

enum { CPU_PANEL_ROWS = BLK_PANEL_ROWS, CPU_BLOCK = BLK_PANEL_BLOCK, CPU_SUPER = BLK_PANEL_SUPER };
enum { CPU_SCALE_HALF = BLK_SCALE_HALF, CPU_SCALE_HALF_MIN = BLK_SCALE_HALF_MIN, CPU_SCALE_SUPER_MIN = BLK_SCALE_SUPER_MIN,
       CPU_SCALE_SUPER_16 = BLK_SCALE_SUPER_16, CPU_SCALE_ONE = BLK_SCALE_ONE };
#define CPU_NO_ZERO BLK_NO_ZERO
#define CPU_PANEL_FORMATS BLK_PANEL_TYPES
enum { CPU_N_PANEL_FORMATS = BLK_N_PANEL_TYPES };
typedef blk_panels cpu_panels;

/* A weight matrix read in place. */
typedef struct cpu_rows {
    qn_format format;
    uint32_t n_rows, n_cols;
    uint64_t row_bytes;      /* F32, F16, BF16 */
    uint64_t first_element;  /* of the tensor at `data` */
    const uint8_t *data;
} cpu_rows;

/* Output of a matrix product: y[t] of token t begins at y + t * stride; bias [N] or null. */
typedef struct cpu_out {
    float *y;
    uint64_t stride;
    const float *bias;
} cpu_out;

/* One row of quantised activations. Padding elements up to the block border are zero. */
typedef struct cpu_act8 {
    const int8_t *q;         /* [32 * n_blocks] */
    const float *scale;      /* [n_blocks] */
    const float *sum;        /* [n_blocks] scale * sum of q */
    const int32_t *neg;      /* [n_blocks] minus the sum of q */
    const int32_t *neg16;    /* [2 * n_blocks] the same over halves of 16 */
} cpu_act8;

static inline uint64_t cpu_act8_stride(uint32_t n_blocks) {
    return ((uint64_t)n_blocks * (CPU_BLOCK + 4 + 4 + 4 + 8) + 63) / 64 * 64;
}

static inline cpu_act8 cpu_act8_view(const void *row, uint32_t n_blocks) {
    const int8_t *const q = (const int8_t *)row;
    cpu_act8 view;
    view.q = q;
    view.scale = (const float *)(const void *)(q + (size_t)n_blocks * CPU_BLOCK);
    view.sum = view.scale + n_blocks;
    view.neg = (const int32_t *)(const void *)(view.sum + n_blocks);
    view.neg16 = view.neg + n_blocks;
    return view;
}

/* Consecutive cells that hold consecutive positions, the first of them `position`. */
typedef struct cpu_cells {
    uint32_t first, n;
    int32_t position;
} cpu_cells;

/* Keys and values of one K/V head: row of cell c begins at base + c * stride bytes. With Q8_0 a head is a whole number of blocks. */
typedef struct cpu_kv {
    const void *k, *v;
    uint64_t k_stride, v_stride; /* bytes */
    qn_format k_format, v_format; /* F32, F16, BF16 or Q8_0 */
    uint32_t head_dim, value_dim;
    float scale, softcap;
} cpu_kv;

/* Scratch that every worker owns: bytes for a matrix product, and the sizes that its loops are cut into. */
enum { CPU_GEMM_SCRATCH = 192 * 1024, CPU_CHUNK_CELLS = 256, CPU_FEW_CELLS = 64, CPU_TILE_TOKENS = 64,
       CPU_FEW_TOKENS = 4, CPU_SCORES_BYTES = 8192 /* that attend_few uses of its scratch */ };

/* Scratch bytes per worker for attention: `n_heads` query heads share a K/V head. */
static inline uint64_t cpu_attention_scratch(uint32_t head_dim, uint32_t value_dim, uint32_t n_heads) {
    const uint64_t queries = (uint64_t)CPU_TILE_TOKENS * n_heads;
    return 4u * ((uint64_t)CPU_CHUNK_CELLS * (head_dim + value_dim + 64u) + queries * (head_dim + value_dim + 64u)) + 8192u;
}

/* Queries of the batch form of attention: they share one K/V head and one sequence. Cells come in chunks of at most
 * CPU_CHUNK_CELLS; what is known so far of each query stays in the scratch between the calls. */
typedef struct cpu_query_tile {
    const float *q;          /* [n_tokens] rows of [n_heads][head_dim], q_stride elements apart */
    float *y;                /* [n_tokens] rows of [n_heads][value_dim], y_stride elements apart */
    uint64_t q_stride, y_stride;
    uint32_t n_tokens, n_heads;
    const int32_t *positions; /* [n_tokens] */
    uint32_t window;         /* 0 = all */
    bool is_first, is_last;  /* chunk */
} cpu_query_tile;

typedef void cpu_panel_gemv_fn(const cpu_panels *w, uint32_t first, uint32_t last, const void *act, const cpu_out *out);
typedef void cpu_panel_gemm_fn(const cpu_panels *w, uint32_t first, uint32_t last, const void *acts, uint64_t act_stride,
                               uint32_t n_tokens, const cpu_out *out, void *scratch);
typedef void cpu_panel_gemm_f32_fn(const cpu_panels *w, uint32_t first, uint32_t last, const float *x, uint64_t x_stride,
                                   uint32_t n_tokens, const cpu_out *out, void *scratch);
/* Elements [first_col, first_col + count) of a row as f32; for formats that the kernels do not read themselves. */
typedef void cpu_decode_fn(const cpu_rows *w, uint32_t row, uint32_t first_col, uint32_t count, float *values);
typedef void cpu_rows_gemv_fn(const cpu_rows *w, uint32_t first_row, uint32_t last_row, const float *x, const cpu_out *out,
                              cpu_decode_fn *decode, void *scratch);
/* first and last count panels of sixteen rows. */
typedef void cpu_rows_gemm_fn(const cpu_rows *w, uint32_t first, uint32_t last, const float *x, uint64_t x_stride,
                              uint32_t n_tokens, const cpu_out *out, cpu_decode_fn *decode, void *scratch);

typedef void cpu_quantize_fn(const float *x, uint32_t n, void *row);
typedef void cpu_rms_norm_fn(const float *x, const float *weight, float *y, uint32_t n, float epsilon);
typedef void cpu_add_fn(const float *a, const float *b, float *y, uint64_t n);
typedef void cpu_scale_fn(const float *x, float factor, float *y, uint64_t n);
typedef void cpu_gated_fn(const float *gate, const float *up, float *y, uint64_t n);
typedef void cpu_softcap_fn(const float *x, float cap, float *y, uint64_t n);
/* cos_sin: [2][n_rot / 2], already multiplied by the magnitude. One head. */
typedef void cpu_rope_fn(const float *x, const float *cos_sin, float *y, uint32_t head_dim, uint32_t n_rot);
typedef void cpu_to_half_fn(const float *x, uint16_t *y, uint64_t n);
/* Blocks as blk_encode makes them; a block with a value that is not finite holds any. n: a multiple of 32. */
typedef void cpu_to_q8_0_fn(const float *x, uint8_t *y, uint64_t n);

/* Queries of one token that share a K/V head, and what is known of them after the chunks of cells so far. */
typedef struct cpu_few {
    const float *q;          /* [n_heads][head_dim] */
    const void *acts;        /* the same as rows that `quantize` made, for keys in Q8_0, or null: then q is used as it is */
    float *sums;             /* [n_heads][value_dim] values times weights, not normalised */
    float *stats;            /* [n_heads][2] maximum, sum of weights */
    uint32_t n_heads;
    bool is_first;           /* chunk: sums and stats hold nothing yet */
    const void *k_next, *v_next; /* what to ask for meanwhile, as many bytes as are read; need not exist. Null: nothing */
} cpu_few;

/* Attention over one more chunk of at most CPU_FEW_CELLS cells in all. */
typedef void cpu_attend_few_fn(const cpu_kv *kv, const cpu_few *few, const cpu_cells *cells, uint32_t n_ranges, void *scratch);
/* Merges `n_parts` parts of cells in order and normalises: part p's sums at sums + p * sums_stride, stats likewise. */
typedef void cpu_attend_merge_fn(const float *sums, uint64_t sums_stride, const float *stats, uint64_t stats_stride,
                                 uint32_t n_parts, uint32_t value_dim, float *y);
/* Attention of a tile of queries over one more chunk of cells; the last call writes y. */
typedef void cpu_attend_tile_fn(const cpu_kv *kv, const cpu_query_tile *tile, const cpu_cells *cells, uint32_t n_ranges,
                                void *scratch);

/* A loop of nothing but products and sums over registers; `room` is 1024 bytes that it may read and write, aligned to 64. */
typedef void cpu_peak_fn(uint64_t rounds, void *room);
typedef struct cpu_peak {
    cpu_peak_fn *run;
    uint32_t operations;     /* of one round; a product and its addition are two */
    const char *name;        /* of the instruction */
} cpu_peak;

typedef struct cpu_ops {
    const char *panel_isa;   /* instruction set of the panel_ and quantize entries, as describe() prints it */
    const char *rows_isa;    /* of the rows_ entries */
    const char *vector_isa;  /* of the element-wise entries */
    const char *attention_isa;
    cpu_panel_gemv_fn *panel_gemv[CPU_N_PANEL_FORMATS];
    cpu_panel_gemm_fn *panel_gemm;
    cpu_panel_gemm_f32_fn *panel_gemm_f32;
    cpu_quantize_fn *quantize;
    cpu_rows_gemv_fn *rows_gemv;
    cpu_rows_gemm_fn *rows_gemm;
    cpu_rms_norm_fn *rms_norm;
    cpu_add_fn *add;
    cpu_scale_fn *scale;
    cpu_gated_fn *gated[2];  /* QN_GATED_* */
    cpu_softcap_fn *softcap;
    cpu_rope_fn *rope[2];    /* QN_ROPE_* */
    cpu_to_half_fn *to_f16;
    cpu_to_half_fn *to_bf16;
    cpu_to_q8_0_fn *to_q8_0;
    cpu_attend_few_fn *attend_few;
    cpu_attend_merge_fn *attend_merge;
    cpu_attend_tile_fn *attend_tile;
    cpu_peak peaks[2];       /* QN_PEAK_* */
} cpu_ops;

/* Highest instruction set that a table may use. */
enum { CPU_ISA_C = 0, CPU_ISA_AVX2 = 1, CPU_ISA_AVX512 = 2, CPU_ISA_NEON = 3, CPU_ISA_AUTO = 4 };

/* Fills the table: C first, then what `features` (qn_machine.cpu_features[0]) and `isa` allow, oldest to newest. */
void cpu_ops_init(cpu_ops *ops, uint64_t features, uint32_t isa);

/* Instruction sets of a table in words, for example "AVX-512, VNNI". Static. */
const char *cpu_ops_isa_text(uint64_t features, uint32_t isa);

#endif
