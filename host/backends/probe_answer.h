/* probe_answer.h — what a probe found out about one plugin, as a struct and as the text that a probe child writes.
 *
 *     quoin-probe 1 HOST-VERSION HOST-BUILD       first line; a child of another build is not believed
 *     stage = start                               written before each stage, so that a death has a place
 *     key = value                                 facts, a `device` line begins the next device
 *     end                                         without it nothing of the rest counts
 *
 * The text crosses a process border and lies in a cache file: the reader takes any bytes, and what it does not understand makes
 * the whole answer void.
 *
 * Threading: pure.
 * Memory:    values without pointers; probe_answer_write appends to the caller's buffer.
 * Errors:    false, and *out is then unspecified.
 */
#ifndef HOST_PROBE_ANSWER_H
#define HOST_PROBE_ANSWER_H
#include <stdbool.h>
#include <stdint.h>

#include <quoin/program.h>

#include "base/error.h"
#include "base/text_buffer.h"

#define PROBE_MAX_DEVICES 8
#define PROBE_MAX_RATES 12
#define PROBE_STAGE_SIZE 24
#define PROBE_REASON_SIZE 512

/* Speed of matmul with weights of one format, one token. */
typedef struct probe_rate {
    qn_format format;
    uint64_t bytes_per_s;  /* of weights; 0 = this format cannot be run */
} probe_rate;

/* Where something ended, and why. */
typedef struct probe_end {
    qn_status status;      /* QN_OK: it did not end */
    char stage[PROBE_STAGE_SIZE];
    char reason[PROBE_REASON_SIZE];
} probe_end;

typedef struct probe_device {
    qn_device_info info;   /* size, device_class, flags, numeric, id, name, driver and memory are kept */
    bool is_tried;         /* opened, and asked the known answer */
    probe_end end;         /* of that */
    bool is_measured;
    uint64_t step_ns;      /* of a program with one tiny op: what a step costs in any case */
    uint64_t op_ns;        /* of one more tiny op */
    uint64_t kv_bytes_per_s; /* attention, by what it gets slower with the context */
    probe_rate rates[PROBE_MAX_RATES];
    uint32_t n_rates;
} probe_device;

typedef struct probe_answer {
    char version[64], licence[64]; /* of the plugin */
    char changed[256];     /* what loading and starting it changed in the process; "" = nothing */
    probe_end end;         /* of the plugin as a whole */
    probe_device devices[PROBE_MAX_DEVICES];
    uint32_t n_devices;
} probe_answer;

/* First line, facts and last line; false without memory. */
bool probe_answer_write_begin(text_buffer *out);
bool probe_answer_write_stage(text_buffer *out, const char *stage);
bool probe_answer_write_facts(text_buffer *out, const probe_answer *answer);
bool probe_answer_write_end(text_buffer *out);

/* Reads a whole answer, "end" included. Bytes behind the end are not looked at. */
bool probe_answer_read(const char *text, size_t size, probe_answer *out);

/* Did a program of this very build write it (as far as its first line goes)? */
bool probe_answer_is_own(const char *text, size_t size);

/* The last stage that an unfinished answer names, or "". */
void probe_answer_last_stage(const char *text, size_t size, char out[PROBE_STAGE_SIZE]);

/* Takes a refusal ("backend NAME refused at STAGE: CODE: words") apart into an end. */
void probe_end_from_error(probe_end *out, qn_status status, const error_context *err);

/* The measured rate of a format; null when it was not measured. */
const probe_rate *probe_device_rate(const probe_device *device, qn_format format);

#endif
