/* abi.h — the plugin ABI of quoin: what a compute backend and its host say to each other.
 *
 * A plugin is one shared object with one exported function, quoin_backend_query_0. The host asks it for a table of verbs,
 * starts it, lists and opens devices, asks whether it can run a program (program.h), compiles the program once, binds weights,
 * makes sessions, and steps. Everything is plain C structs of fixed-width integers; nothing is inferred, nothing is global.
 *
 *   query ─► start ─► devices ─► open ─► check ─► plan ─► compile ─► bind_weights… ─► seal ─► session_new ─► step…
 *              │                  │                          │                                  │
 *             stop ◄──────────── close ◄──────────────── prog_free ◄──────────────────── session_free
 *
 * Version 0: the symbol carries the major number 0; until 1.0 a host loads a plugin only when the minors are equal too.
 *
 * Rules for every struct that crosses the boundary
 *   - the first member is `uint32_t size`, set by whoever owns the storage to the size that it was compiled with;
 *   - members are only appended; zero means "as before this member existed";
 *   - a reader works on a copy made by qn_copy_in (glue.h has it): shorter than in minor 0 is BAD_ARG, an unknown non-zero tail is TOO_NEW;
 *   - the writer of an out struct writes at most `size` bytes;
 *   - arrays of structs carry one stride, so that elements can grow as well.
 * Handles are pointers to incomplete types. Strings are UTF-8, terminated. 64-bit little-endian hosts only.
 *
 * Ownership: in-pointers are valid for the call only, weights bound with QN_WEIGHT_BORROW excepted. Strings that a plugin gives
 *   out are static or live until `stop`. Whoever creates destroys through the sibling verb; destroying null is legal and
 *   destroying never fails. Parents outlive children: plugin > device > program > session.
 * Errors: every fallible verb takes a qn_error as its last argument; a non-zero return means a non-empty text. After
 *   DEVICE_LOST only destroy verbs are legal.
 * A plugin never aborts, exits, throws, longjmps, prints, installs signal handlers, changes locale, floating-point state,
 *   environment or working directory, and keeps no thread after `stop`.
 *
 * Thread tags: [any] any time, concurrently · [ctl] serialised by the host per plugin, the OS thread may change ·
 *   [ses] one at a time per session, the OS thread may change, sessions run concurrently · [team] inside a team region.
 *
 * Since: 0.0
 */
#ifndef QUOIN_ABI_H
#define QUOIN_ABI_H
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define QN_ABI_MAJOR 0
#define QN_ABI_MINOR 0
#define QN_QUERY_SYMBOL "quoin_backend_query_0"

#if defined(_WIN32)
#define QN_CALL __cdecl
#define QN_EXPORT __declspec(dllexport)
#else
#define QN_CALL
#define QN_EXPORT __attribute__((visibility("default")))
#endif

/* Status codes: status.def. Errors negative, notes positive. */
typedef int32_t qn_status;
enum {
#define QN_STATUS(name, number, meaning) QN_##name = number,
#include <quoin/status.def>
#undef QN_STATUS
    QN_STATUS_END_ = 32767
};

/* QN_LEAST_qn_host and so on: bytes of each struct in minor 0 (sizes.def). A reader takes no less, however long its own is. */
enum {
#define QN_STRUCT(type, bytes) QN_LEAST_##type = bytes,
#include <quoin/sizes.def>
#undef QN_STRUCT
    QN_LEAST_END_ = 0
};

#define QN_NO_OP UINT32_MAX
#define QN_ERROR_TEXT 1000

/* Where a plugin says what went wrong. Owned by the host; written without allocating; text truncated when too long. */
typedef struct qn_error {
    uint32_t size;
    int32_t code;
    uint32_t op;          /* number of the op in the program, or QN_NO_OP */
    uint32_t reserved;
    int64_t native_code;  /* CUresult, VkResult, cl_int, errno; 0 when there is none */
    char text[QN_ERROR_TEXT];
} qn_error;

/* --- Facts about the machine ------------------------------------------------------------------------------------------ */

/* Feature word 0, x86-64: set only when the OS has enabled the state as well. */
#define QN_X86_AVX2 (UINT64_C(1) << 0) /* AVX2, FMA and F16C together */
#define QN_X86_AVX512 (UINT64_C(1) << 1) /* AVX-512 F, BW, DQ, VL and CD together */
#define QN_X86_AVX512_VNNI (UINT64_C(1) << 2)
#define QN_X86_AVX512_BF16 (UINT64_C(1) << 3)
#define QN_X86_AVX512_VBMI (UINT64_C(1) << 4)
#define QN_X86_AVX512_FP16 (UINT64_C(1) << 5)
#define QN_X86_AVX_VNNI (UINT64_C(1) << 6)
#define QN_X86_AMX_INT8 (UINT64_C(1) << 7)
/* Feature word 0, aarch64. */
#define QN_ARM_NEON (UINT64_C(1) << 0)
#define QN_ARM_DOTPROD (UINT64_C(1) << 1)
#define QN_ARM_FP16 (UINT64_C(1) << 2)
#define QN_ARM_I8MM (UINT64_C(1) << 3)
#define QN_ARM_SVE (UINT64_C(1) << 4)

enum { QN_ARCH_OTHER = 0, QN_ARCH_X86_64 = 1, QN_ARCH_AARCH64 = 2 };

typedef struct qn_machine {
    uint32_t size;
    uint32_t arch;            /* QN_ARCH_* */
    uint64_t cpu_features[4]; /* word 0 as above, after the user's mask; the rest zero */
    uint64_t l1d_bytes, l2_bytes, l3_bytes; /* 0 = unknown */
    uint32_t n_workers;       /* size of the team: affinity and cgroup quota respected; >= 1 */
    uint32_t n_cores;         /* cores this process may use */
    uint64_t page_bytes;
    uint64_t memory_bytes;    /* that this process may use (cgroup respected) */
} qn_machine;

/* --- Host services ---------------------------------------------------------------------------------------------------- */

enum { QN_LOG_ERROR = 0, QN_LOG_WARN = 1, QN_LOG_INFO = 2, QN_LOG_DEBUG = 3 };

/* Kinds of memory that are accounted apart. */
enum { QN_MEM_WEIGHTS = 0, QN_MEM_STATE = 1, QN_MEM_SCRATCH = 2, QN_MEM_CODE = 3, QN_MEM_OTHER = 4, QN_MEM_KINDS = 5 };

/* Body of a team region: runs once on every worker, worker in [0, n_workers). [team] */
typedef void (QN_CALL *qn_team_fn)(void *arg, uint32_t worker, uint32_t n_workers);

typedef struct qn_host {
    uint32_t size;
    uint32_t minor;            /* negotiated: min of both sides */
    void *ctx;                 /* first argument of every service */
    const char *name;          /* "quoin" */
    const char *version;
    const char *build_id;
    const qn_machine *machine; /* valid until stop, as everything that the table points to; the table itself during start only */

    /* Writes one line to the host's log; text is copied before return; rate-limited. [any] */
    void (QN_CALL *log)(void *ctx, uint32_t level, const char *text);

    /* Zeroed memory, accounted under `kind`. align: power of two <= 4096. Null when memory or budget is exhausted. [any] */
    void *(QN_CALL *mem_alloc)(void *ctx, uint32_t kind, uint64_t bytes, uint64_t align);
    /* Frees what mem_alloc gave; null is legal. [any] */
    void (QN_CALL *mem_free)(void *ctx, void *memory);
    /* Tells of memory that the plugin took elsewhere (device memory): +bytes taken, -bytes given back. [any] */
    void (QN_CALL *mem_note)(void *ctx, uint32_t kind, int64_t bytes);

    /* Runs fn on every worker of the team and returns when all have returned. Not reentrant: never from inside a region.
     * One region at a time: concurrent callers wait for each other. [ctl] [ses] */
    void (QN_CALL *team_run)(void *ctx, qn_team_fn fn, void *arg);
    /* Waits until every worker of the region has arrived. Spins, then sleeps. All writes before it are seen after it. [team] */
    void (QN_CALL *team_barrier)(void *ctx);
    /* Next value of the region's shared work counter: 0, 1, 2, … (relaxed). [team] */
    uint64_t (QN_CALL *team_next)(void *ctx);
    /* Sets the shared work counter to 0; call on one worker, between two barriers. [team] */
    void (QN_CALL *team_reset)(void *ctx);

    /* The plugin no longer reads [data, data + bytes) of a bound weight: the host may drop those pages. [ctl] */
    void (QN_CALL *weight_done)(void *ctx, const void *data, uint64_t bytes);

    /* Blob store: keyed by text; the host adds plugin build id, device id and driver version. get returns the size (0 = none)
     * and writes at most `room` bytes; put returns a status. May be absent. [ctl] */
    uint64_t (QN_CALL *blob_get)(void *ctx, const char *key, void *data, uint64_t room);
    qn_status (QN_CALL *blob_put)(void *ctx, const char *key, const void *data, uint64_t bytes);

    /* Monotonic nanoseconds. [any] */
    uint64_t (QN_CALL *time_ns)(void *ctx);

    /* Non-zero when work should stop; another thread or a signal handler sets it at any moment, so it is read by qn_flag_is_up of glue.h
     * or as that does. Polled at least once per layer and during compile and binding. Who hands work to a device polls before each
     * piece that is given at once, and divides at the ends of layers what would take long (threads.md). Never null. */
    const volatile uint32_t *cancel;

    /* Optional host extensions by id ("quoin.<name>/<rev>"); null when unknown. [any] */
    const void *(QN_CALL *get_ext)(void *ctx, const char *id);
} qn_host;

/* --- Options ---------------------------------------------------------------------------------------------------------- */

typedef struct qn_option {
    const char *key;
    const char *value;
} qn_option;

enum { QN_OPTION_STRING = 0, QN_OPTION_UINT = 1, QN_OPTION_BOOL = 2, QN_OPTION_CHOICE = 3 };
enum { QN_OPTION_AT_START = 1, QN_OPTION_AT_OPEN = 2, QN_OPTION_AT_COMPILE = 4 };

/* What a plugin understands, so that the host can validate, print help and echo effective values. */
typedef struct qn_option_info {
    uint32_t size;
    uint32_t type;             /* QN_OPTION_STRING … */
    uint32_t applies;          /* QN_OPTION_AT_* mask */
    uint32_t reserved;
    const char *key;
    const char *default_value; /* as text; "" for none */
    const char *choices;       /* QN_OPTION_CHOICE: "a|b|c", otherwise "" */
    const char *help;          /* one sentence */
} qn_option_info;

/* --- Devices ---------------------------------------------------------------------------------------------------------- */

enum { QN_DEVICE_CPU = 1, QN_DEVICE_GPU = 2, QN_DEVICE_IGPU = 3, QN_DEVICE_ACCELERATOR = 4, QN_DEVICE_REMOTE = 5 };
enum {
    QN_DEVICE_SOFTWARE = 1u,      /* emulates a device on the CPU: never chosen by auto */
    QN_DEVICE_HOST_MEMORY = 2u,   /* reads host memory in place: borrowed weights cost nothing */
    QN_DEVICE_DETERMINISTIC = 4u  /* equal inputs give equal bits, for any number of workers */
};

/* Numeric classes: how products are accumulated. A mask where several are meant. */
enum {
    QN_NUMERIC_F32ACC = 1u, /* activations f32, accumulation f32 or wider */
    QN_NUMERIC_F16ACC = 2u,
    QN_NUMERIC_ACT8 = 4u    /* activations of matmul quantised to 8 bits per block of 32 */
};

typedef struct qn_device_info {
    uint32_t size;
    uint32_t device_class;     /* QN_DEVICE_CPU … */
    uint32_t flags;            /* QN_DEVICE_SOFTWARE … */
    uint32_t numeric;          /* mask of QN_NUMERIC_* that it offers */
    char id[64];               /* stable: "cpu", PCI address, "uuid=…" */
    char name[128];
    char driver[128];          /* driver and version; for a CPU the instruction sets in use */
    uint64_t memory_total, memory_free; /* bytes; 0 = host memory */
    uint32_t cell_block;       /* preferred multiple for cell spans; >= 1 */
    uint32_t max_spans;        /* spans per sequence and step; 0 = any number */
} qn_device_info;

/* --- The verbs -------------------------------------------------------------------------------------------------------- */

typedef struct qn_plugin_state qn_plugin_state;
typedef struct qn_device qn_device;
typedef struct qn_prog qn_prog;
typedef struct qn_session qn_session;

/* program.h */
struct qn_program;
struct qn_limits;
struct qn_compile_options;
struct qn_verdict;
struct qn_memory_plan;
struct qn_weight;
struct qn_step;
struct qn_state_move;

typedef struct qn_plugin {
    uint32_t size;
    uint32_t reserved;

    /* Loads the driver library; makes no heavy context. UNAVAILABLE with the library's name and the loader's text. [ctl] */
    qn_status (QN_CALL *start)(const qn_host *host, const qn_option *options, uint32_t n_options, qn_plugin_state **out,
                               qn_error *err);
    /* Afterwards no thread, descriptor or memory of the plugin is left. [ctl] */
    void (QN_CALL *stop)(qn_plugin_state *plugin);

    /* Writes at most `room` infos, `stride` bytes apart, and tells in *count how many there are. No context is made. [ctl] */
    qn_status (QN_CALL *devices)(qn_plugin_state *plugin, qn_device_info *infos, uint64_t stride, uint32_t room,
                                 uint32_t *count, qn_error *err);
    /* Opens the device with this id. [ctl] */
    qn_status (QN_CALL *open)(qn_plugin_state *plugin, const char *device_id, const qn_option *options, uint32_t n_options,
                              qn_device **out, qn_error *err);
    void (QN_CALL *close)(qn_device *device);

    /* Per op: can it be run? verdicts: [n_ops], `stride` bytes apart. Takes no device memory. [ctl] */
    qn_status (QN_CALL *check)(qn_device *device, const struct qn_program *program, const struct qn_compile_options *options,
                               struct qn_verdict *verdicts, uint64_t stride, qn_error *err);
    /* Bytes by class that compile, bind and one session will take. [ctl] */
    qn_status (QN_CALL *plan)(qn_device *device, const struct qn_program *program, const struct qn_limits *limits,
                              const struct qn_compile_options *options, struct qn_memory_plan *out, qn_error *err);
    /* The program's bytes are copied or digested: they need not outlive the call. [ctl] */
    qn_status (QN_CALL *compile)(qn_device *device, const struct qn_program *program, const struct qn_limits *limits,
                                 const struct qn_compile_options *options, qn_prog **out, qn_error *err);
    void (QN_CALL *prog_free)(qn_prog *prog);

    /* Any subset, any number of times, before seal; each weight once. [ctl] */
    qn_status (QN_CALL *bind_weights)(qn_prog *prog, const struct qn_weight *weights, uint64_t stride, uint32_t n_weights,
                                      qn_error *err);
    /* No more weights: BAD_ARG naming the buffer when one is missing. [ctl] */
    qn_status (QN_CALL *seal)(qn_prog *prog, qn_error *err);

    /* State and scratch for one stream of steps within the compiled limits; several sessions share the weights. [ctl] */
    qn_status (QN_CALL *session_new)(qn_prog *prog, qn_session **out, qn_error *err);
    void (QN_CALL *session_free)(qn_session *session);

    /* Runs the program once; returns when outputs are written. [ses] */
    qn_status (QN_CALL *step)(qn_session *session, const struct qn_step *step, qn_error *err);
    /* Copies, relocates or zeroes cells of every state buffer of a group. [ses] */
    qn_status (QN_CALL *state_move)(qn_session *session, const struct qn_state_move *moves, uint64_t stride, uint32_t n_moves,
                                    qn_error *err);
    /* After a step of a program compiled with QN_COMPILE_MATERIALIZE: the buffer's content as f32 rows (states: as stored).
     * *out_bytes tells the size; at most `room` bytes are written. UNSUPPORTED without the flag. [ses] */
    qn_status (QN_CALL *tap)(qn_session *session, uint32_t buffer, void *data, uint64_t room, uint64_t *out_bytes, qn_error *err);

    /* Drops caches; level 0..2, higher drops more. May be absent. [ctl] */
    void (QN_CALL *trim)(qn_device *device, uint32_t level);
    /* Which kernel runs op `op` of a compiled program ("gemv_q4_k:avx512"), or, with QN_NO_OP, free text about the program for
     * bug reports. Returns the length without terminator; writes at most `room` bytes, always terminated. [ctl] */
    uint64_t (QN_CALL *describe)(qn_prog *prog, uint32_t op, char *text, uint64_t room);

    /* Optional plugin extensions by id; null when unknown. [any] */
    const void *(QN_CALL *get_ext)(const char *id);
} qn_plugin;

/* True when table `t` is long enough to have `verb` and the verb is there. */
#define QN_HAS(t, verb) (offsetof(qn_plugin, verb) + sizeof((t)->verb) <= (t)->size && (t)->verb != NULL)

/* --- Entry ------------------------------------------------------------------------------------------------------------ */

enum { QN_SANITIZER_NONE = 0, QN_SANITIZER_ADDRESS = 1, QN_SANITIZER_THREAD = 2 };

typedef struct qn_query_in {
    uint32_t size;
    uint32_t minor;           /* of the host */
    const char *build_id;
    uint64_t cpu_features[4]; /* as in qn_machine */
    uint32_t sanitizer;       /* QN_SANITIZER_* of the host */
    uint32_t reserved;
} qn_query_in;

typedef struct qn_query_out {
    uint32_t size;
    uint32_t minor;           /* of the plugin */
    const char *name;         /* "cpu"; the file is NAME.quoin.so */
    const char *version;
    const char *build_id;
    const char *licence;      /* SPDX id */
    const qn_plugin *plugin;  /* constant table */
    const qn_option_info *options; /* constant array, n_options entries of option_stride bytes */
    uint32_t n_options;
    uint32_t option_stride;
} qn_query_out;

/* Pure: no allocation, no thread, no file, no driver; callable any number of times, from any thread. [any] */
typedef qn_status (QN_CALL *qn_query_fn)(const qn_query_in *in, qn_query_out *out);

#ifdef __cplusplus
}
#endif
#endif
