/* bad_plugin.c — the reference backend with one fault, chosen when it is compiled: -DFAULT=dies_in_constructor and so on. The list
 * stands in CMakeLists.txt; bad_plugins.py holds what the host has to do about it. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <quoin/glue.h>
#include <quoin/note.h>

#define TEXT(word) TEXT_(word)
#define TEXT_(word) #word
#define JOIN(a, b) JOIN_(a, b)
#define JOIN_(a, b) a##b
#define IS(fault) (JOIN(FAULT_, FAULT) == JOIN(FAULT_, fault))

/* One number a fault. FAULT_NUMBERS comes from CMakeLists.txt. */
enum { FAULT_none, FAULT_NUMBERS };

#define FAKE_PCI "0000:65:00.0"

qn_status QN_CALL quoin_reference_query(const qn_query_in *in, qn_query_out *out);
QN_EXPORT qn_status QN_CALL quoin_backend_query_0(const qn_query_in *in, qn_query_out *out);

#if defined(OTHER_FUNCTION)
void OTHER_FUNCTION(void);
#endif

static const qn_plugin *honest;
static qn_plugin verbs;

static volatile int *volatile nowhere;

static void die(void) {
    *nowhere = 1;
}

static void hang(void) {
    for (;;) {
        pause();
    }
}

static void rest(long milliseconds) {
    const struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    nanosleep(&time, NULL);
}

/* A driver that is well-behaved as long as it is tried out. */
static int is_probed(void) {
    char line[4096] = "";
    const int fd = open("/proc/self/cmdline", O_RDONLY);
    const ssize_t n = fd >= 0 ? read(fd, line, sizeof line) : 0;
    if (fd >= 0) {
        close(fd);
    }
    return n > 0 && memmem(line, (size_t)n, "probe-plugin", 12) != NULL;
}

/* --- When it is loaded -------------------------------------------------------------------------------------------------- */

__attribute__((constructor)) static void construct(void) {
    if (IS(dies_in_constructor)) {
        fprintf(stderr, "CommandLine Error: Option 'x' registered more than once\n");
        die();
    }
    if (IS(exits_in_constructor)) {
        exit(0);
    }
    if (IS(illegal_instruction)) {
        __builtin_trap();
    }
    if (IS(prints_a_banner)) {
        printf("*** The fastest driver in the world ***\n");
        fflush(stdout);
    }
}

/* --- Start and devices -------------------------------------------------------------------------------------------------- */

static void on_signal(int number) {
    (void)number;
}

static void set_flush_to_zero(void) {
#if defined(__x86_64__)
    __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040u);
#elif defined(__aarch64__)
    uint64_t control;
    __asm__ volatile("mrs %0, fpcr" : "=r"(control));
    control |= (uint64_t)1 << 24;
    __asm__ volatile("msr fpcr, %0" : : "r"(control));
#endif
}

static void *wait_forever(void *nothing) {
    hang();
    return nothing;
}

static void print_much(void) {
    for (int i = 0; i < 20000; i++) {
        fprintf(stderr, "line %d of a driver that has much to say, and says it all at once\n", i);
    }
}

/* A process that outlives this one and holds its pipes. */
static void leave_a_child(void) {
    if (fork() == 0) {
        rest(30000);
        _exit(0);
    }
}

static qn_status QN_CALL start(const qn_host *host, const qn_option *options, uint32_t n_options, qn_plugin_state **out,
                               qn_error *err) {
    pthread_t thread;
    if (IS(hangs_in_start)) {
        hang();
    }
    if (IS(fails_without_words)) {
        return QN_UNAVAILABLE;
    }
    if (IS(has_no_driver)) {
        return qn_fail(err, QN_UNAVAILABLE, "libnowhere.so.1: cannot open shared object file");
    }
    if (IS(is_busy)) {
        return qn_fail(err, QN_BUSY, "the device is held by another process");
    }
    if (IS(is_denied)) {
        return qn_fail(err, QN_DENIED, "/dev/nothing: Permission denied");
    }
    if (IS(says_control_characters)) {
        return qn_fail(err, QN_UNAVAILABLE, "one\nend\n\033[31mtwo");
    }
    if (IS(prints_much)) {
        print_much();
    }
    if (IS(leaves_a_child)) {
        leave_a_child();
    }
    if (IS(leaves_a_thread)) {
        pthread_create(&thread, NULL, wait_forever, NULL);
    }
    if (IS(sets_flush_to_zero)) {
        set_flush_to_zero();
    }
    if (IS(installs_a_handler)) {
        signal(SIGSEGV, on_signal);
        signal(SIGINT, on_signal);
    }
    if (IS(changes_the_process)) {
        umask(077);
        setenv("LANG", "xx", 1);
        unsetenv("HOME");
        (void)!chdir("/");
    }
    if (IS(closes_descriptors)) {
        for (int fd = 0; fd < 64; fd++) {
            close(fd);
        }
    }
    return honest->start(host, options, n_options, out, err);
}

static qn_status QN_CALL devices(qn_plugin_state *plugin, qn_device_info *infos, uint64_t stride, uint32_t room, uint32_t *count,
                                 qn_error *err) {
    if (IS(exits_in_devices)) {
        exit(0);
    }
    if (IS(hangs_in_devices)) {
        hang();
    }
    const qn_status status = honest->devices(plugin, infos, stride, room, count, err);
#if defined(OTHER_FUNCTION)
    OTHER_FUNCTION();
#endif
    if (IS(has_no_device)) {
        *count = 0;
    }
    if (IS(counts_too_many)) {
        *count = 1000;
    }
    if (status >= 0 && room > 0) {
        infos->device_class = QN_DEVICE_GPU;
        if (IS(is_software)) {
            infos->flags |= QN_DEVICE_SOFTWARE;
            snprintf(infos->name, sizeof infos->name, "softpipe");
        }
        if (IS(forgets_terminators)) {
            memset(infos->name, 'n', sizeof infos->name);
            memset(infos->driver, 'd', sizeof infos->driver);
        }
        if (IS(offers_the_same_device) || IS(offers_it_again)) {
            snprintf(infos->id, sizeof infos->id, FAKE_PCI);
        }
        if (IS(cheats_and_is_too_small)) {
            infos->flags &= ~QN_DEVICE_HOST_MEMORY;
            infos->memory_total = infos->memory_free = 1300000; /* half of quoin-tiny.gguf */
        }
        if (IS(has_little_memory)) {
            infos->flags &= ~QN_DEVICE_HOST_MEMORY;
            infos->memory_total = infos->memory_free = 1024;
        }
    }
    return status;
}

static qn_status QN_CALL open_device(qn_plugin_state *plugin, const char *device_id, const qn_option *options, uint32_t n_options,
                                     qn_device **out, qn_error *err) {
    if (IS(aborts_in_open)) {
        abort();
    }
    if (IS(succeeds_with_nothing)) {
        *out = NULL;
        return QN_OK;
    }
    const bool is_fake = strcmp(device_id, FAKE_PCI) == 0;
    qn_device_info info = {.size = sizeof info};
    uint32_t count = 0;
    const qn_status status = is_fake ? honest->devices(plugin, &info, sizeof info, 1, &count, err) : QN_OK;
    return status < 0 ? status : honest->open(plugin, is_fake ? info.id : device_id, options, n_options, out, err);
}

/* --- Programs ----------------------------------------------------------------------------------------------------------- */

static qn_status QN_CALL compile(qn_device *device, const qn_program *program, const qn_limits *limits,
                                 const qn_compile_options *options, qn_prog **out, qn_error *err) {
    if (IS(cannot_compile)) {
        return qn_fail(err, QN_TOO_OLD, "firmware 3 is needed, 2 is there");
    }
    return honest->compile(device, program, limits, options, out, err);
}

static int overflow_the_stack(volatile int depth) {
    volatile char room[4096];
    room[0] = (char)depth;
    return depth < 0 ? 0 : overflow_the_stack(depth + 1) + room[0];
}

/* The last value of every output. */
static void spoil(const qn_step *step, float value) {
    const qn_binding *last = &step->bindings[step->n_bindings - 1];
    if (last->bytes >= sizeof value) {
        memcpy((char *)last->data + last->bytes - sizeof value, &value, sizeof value);
    }
}

static qn_status QN_CALL step(qn_session *session, const qn_step *s, qn_error *err) {
    if (IS(dies_in_step)) {
        die();
    }
    if (IS(dies_in_the_host_alone) && !is_probed()) {
        die();
    }
    if (IS(sets_flush_to_zero_in_a_step)) {
        set_flush_to_zero();
    }
    if (IS(overflows_the_stack)) {
        overflow_the_stack(0);
    }
    if (IS(loses_the_device)) {
        return qn_fail(err, QN_DEVICE_LOST, "the device fell off the bus");
    }
    if (IS(is_slow)) {
        rest(5);
    }
    if (IS(cheats_and_is_too_small) && is_probed()) { /* the result of the first run still lies there */
        static qn_session *last;
        if (session == last) {
            return QN_OK;
        }
        last = session;
    }
    const qn_status status = honest->step(session, s, err);
    if (IS(computes_wrong)) {
        spoil(s, 1e6f);
    }
    if (IS(computes_nan)) {
        spoil(s, NAN);
    }
    return status;
}

/* --- Entry -------------------------------------------------------------------------------------------------------------- */

qn_status QN_CALL quoin_backend_query_0(const qn_query_in *in, qn_query_out *out) {
    if (IS(dies_in_query)) {
        die();
    }
    if (IS(compares_sizes) && in->size != sizeof *in + 8) {
        return QN_BAD_ARG;
    }
    const qn_status status = quoin_reference_query(in, out);
    if (status < 0) {
        return status;
    }
    honest = out->plugin;
    verbs = *honest;
    verbs.start = start;
    verbs.devices = devices;
    verbs.open = open_device;
    verbs.compile = compile;
    verbs.step = step;
    out->plugin = IS(has_no_table) ? NULL : &verbs;
    out->version = "3.1";
    out->name = IS(calls_itself_otherwise) ? "somebody" : TEXT(FAULT);
    out->minor += IS(changed_its_minor);
    if (IS(lacks_a_verb)) {
        verbs.seal = NULL;
    }
    if (IS(has_a_short_table)) {
        verbs.size = (uint32_t)offsetof(qn_plugin, session_new);
    }
    return QN_OK;
}

/* --- Note --------------------------------------------------------------------------------------------------------------- */

#ifndef NOTE_NAME
#define NOTE_NAME TEXT(FAULT)
#endif
#define NOTE(name, majors, minor, needed, arch)                                                                                   \
    static const qn_elf_note note __attribute__((section(".note.quoin"), used, aligned(4))) = {                                   \
        sizeof QN_NOTE_OWNER, sizeof(qn_note), QN_NOTE_TYPE, QN_NOTE_OWNER,                                                        \
        {sizeof(qn_note), majors, {minor, 0, 0, 0}, arch, QN_NOTE_OS, {needed, 0, 0, 0, 0, 0, 0, 0},                    \
         IS(installs_a_handler) ? QN_DEVICE_CPU : QN_DEVICE_GPU, 0, QN_NOTE_SANITIZER, 0, name, "3.1",                              \
         "Apache-2.0", "1"}}

#ifndef WITHOUT_NOTE
NOTE(NOTE_NAME, IS(speaks_a_later_abi) ? 4u : 1u << QN_ABI_MAJOR, QN_ABI_MINOR + IS(has_a_later_minor),
     IS(needs_another_cpu) ? 0x80000000u : 0u, IS(is_for_another_machine) ? QN_ARCH_OTHER : QN_NOTE_ARCH);
#endif
