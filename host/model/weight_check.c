/* weight_check.c — pieces of tensors handed out to a team, joined in order afterwards. */
#include "model/weight_check.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PIECE_BYTES (UINT64_C(1) << 20)

/* One piece of work; results are joined after the region, so workers share nothing but the counter. */
typedef struct piece {
    uint32_t tensor;       /* P64: number in the container; GGUF: position in m->tensors */
    uint64_t begin, size;  /* P64: bytes of the blob; GGUF: elements */
    p64_piece result;      /* P64 */
    uint64_t nonfinite;    /* GGUF: element, or FMT_NO_INDEX */
} piece;

typedef struct check_job {
    const model *m;
    const weight_check *check;
    piece *pieces;
    uint64_t n_pieces;
    atomic_ullong next;
    atomic_bool is_cancelled;
} check_job;

static uint64_t count_elements(const model_tensor *tensor) {
    return tensor->dims[0] * tensor->dims[1] * tensor->dims[2] * tensor->dims[3];
}

static void check_piece(const check_job *job, piece *p) {
    if (job->m->format == MODEL_P64) {
        p64_check_piece(&job->m->p64, p->tensor, p->begin, p->size,
                        job->check->check_values ? P64_CHECK_WEIGHTS : P64_CHECK_CRC, &p->result);
    } else {
        const model_tensor *tensor = &job->m->tensors[p->tensor];
        p->nonfinite = FMT_NO_INDEX;
        blk_find_nonfinite(tensor->type, tensor->data, p->begin, p->size, &p->nonfinite);
    }
}

/* Worker 0 is the caller's thread: it alone tells how far all are. */
static void check_pieces(void *arg, uint32_t worker, uint32_t n_workers) {
    check_job *job = arg;
    (void)n_workers;
    for (uint64_t i; !atomic_load(&job->is_cancelled) && (i = atomic_fetch_add(&job->next, 1)) < job->n_pieces;) {
        check_piece(job, &job->pieces[i]);
        if (worker == 0 && job->check->progress != NULL && !job->check->progress(job->check->ctx, i + 1, job->n_pieces)) {
            atomic_store(&job->is_cancelled, true);
        }
    }
}

/* Pieces of one GGUF tensor: whole blocks, about PIECE_BYTES each. */
static uint64_t gguf_piece_elements(const model_tensor *tensor) {
    const blk_info *info = blk_get_info(tensor->type);
    const uint64_t blocks = PIECE_BYTES / info->block_bytes;
    return (blocks > 0 ? blocks : 1) * info->block_elems;
}

static uint64_t piece_step(const model *m, uint32_t position) {
    const model_tensor *tensor = &m->tensors[position];
    return m->format == MODEL_P64 ? p64_piece_size(&m->p64, tensor->index, PIECE_BYTES) : gguf_piece_elements(tensor);
}

static uint64_t piece_total(const model *m, uint32_t position) {
    return m->format == MODEL_P64 ? m->tensors[position].bytes : count_elements(&m->tensors[position]);
}

/* Counts the pieces, and writes them when `pieces` is not null. Pieces of one tensor follow each other. */
static uint64_t cut_pieces(const model *m, const bool *is_wanted, piece *pieces) {
    uint64_t n = 0;
    for (uint32_t position = 0; position < m->n_tensors; position++) {
        const bool is_in_file = m->tensors[position].index != MODEL_NO_INDEX;
        if (!is_in_file || (is_wanted != NULL && !is_wanted[position])) {
            continue;
        }
        const uint32_t tensor = m->format == MODEL_P64 ? m->tensors[position].index : position;
        const uint64_t step = piece_step(m, position), total = piece_total(m, position);
        for (uint64_t begin = 0; begin < total; begin += step, n++) {
            if (pieces != NULL) {
                pieces[n] = (piece){
                    .tensor = tensor, .begin = begin, .size = total - begin < step ? total - begin : step};
            }
        }
    }
    return n;
}

static qn_status judge_p64(const check_job *job, error_context *err) {
    fmt_diag first, diag;
    bool is_bad = false;
    for (uint64_t i = 0; i < job->n_pieces;) {
        const uint32_t tensor = job->pieces[i].tensor;
        p64_piece whole = p64_piece_empty();
        for (; i < job->n_pieces && job->pieces[i].tensor == tensor; i++) {
            p64_join_piece(&whole, &job->pieces[i].result);
        }
        if (p64_judge_tensor(&job->m->p64, tensor, &whole, &diag) != FMT_OK &&
            (!is_bad || p64_diag_precedes(&diag, &first))) {
            first = diag;
            is_bad = true;
        }
    }
    return is_bad ? error_from_diag(err, FMT_BAD_FILE, &first, job->m->file.path) : QN_OK;
}

static qn_status judge_gguf(const check_job *job, error_context *err) {
    const piece *first = NULL;
    for (uint64_t i = 0; i < job->n_pieces; i++) {
        const piece *p = &job->pieces[i];
        if (p->nonfinite != FMT_NO_INDEX &&
            (first == NULL || job->m->tensors[p->tensor].at < job->m->tensors[first->tensor].at)) {
            first = p;
        }
    }
    if (first == NULL) {
        return QN_OK;
    }
    const model_tensor *tensor = &job->m->tensors[first->tensor];
    const blk_info *info = blk_get_info(tensor->type);
    const uint64_t offset = tensor->at + first->nonfinite / info->block_elems * info->block_bytes;
    FAIL(err, QN_BAD_FILE,
         "%s: byte %" PRIu64 ": tensor %.*s, element %" PRIu64
         ": %s is NaN or infinite; the file is damaged or was made by a broken tool (rule weight-finite; "
         "--no-weight-check reads it all the same)",
         job->m->file.path, offset, (int)tensor->name.size, tensor->name.data, first->nonfinite,
         info->block_elems > 1 ? "the scale of its block" : "the weight");
    if (err != NULL) {
        err->rule = "weight-finite";
        err->offset = offset;
    }
    return QN_BAD_FILE;
}

/* What is known when all pieces are done, or were given up. Pages that could not be read count as zeros: whether the file
 * was cut is asked before what they seem to say. */
static qn_status judge(const check_job *job, error_context *err) {
    if (atomic_load(&job->is_cancelled)) {
        return FAIL(err, QN_CANCELLED, "%s: interrupted while its weights were checked", job->m->file.path);
    }
    const qn_status intact = mapped_file_check(&job->m->file, err);
    if (intact < 0) {
        return intact;
    }
    return job->m->format == MODEL_P64 ? judge_p64(job, err) : judge_gguf(job, err);
}

qn_status weight_check_run(const model *m, const weight_check *check, team *workers, error_context *err) {
    if (m->panels != NULL || (m->format == MODEL_GGUF && !check->check_values)) {
        return QN_OK; /* panels were checked when they were taken */
    }
    check_job job = {.m = m, .check = check, .n_pieces = cut_pieces(m, check->is_wanted, NULL)};
    job.pieces = calloc(job.n_pieces + 1, sizeof *job.pieces);
    if (job.pieces == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "out of memory for checking %" PRIu64 " pieces of weights", job.n_pieces);
    }
    cut_pieces(m, check->is_wanted, job.pieces);
    if (workers != NULL) {
        team_run(workers, check_pieces, &job);
    } else {
        check_pieces(&job, 0, 1);
    }
    const qn_status status = judge(&job, err);
    free(job.pieces);
    return status;
}
