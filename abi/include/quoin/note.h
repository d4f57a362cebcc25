/* note.h — what a plugin file says of itself without being loaded: an ELF note, owner "QUOIN", type 1.
 *
 * A host reads it from the file before any code of the plugin runs: it refuses a file that needs another ABI or a CPU feature
 * that is not there, and lists plugins without loading them. A host does not load a file without note into its own process.
 *
 *     #include <quoin/note.h>
 *     QN_PLUGIN_NOTE("mine", "1.2", "Apache-2.0", QN_DEVICE_GPU, QN_NOTE_NEEDS_DRIVER);
 *
 * stands once in a plugin, at file scope. quoin_add_plugin() of the CMake package writes that file itself. The CPU features are
 * those that the compiler may use in this translation unit, so it is compiled with the flags of the code that runs first.
 *
 *   +-------+--------+------+-----------+------------------+
 *   | namesz| descsz | type | "QUOIN\0" | qn_note          |     4-byte words, little-endian; section .note.quoin
 *   |   6   |  240   |   1  | + 2 zeros |                  |
 *   +-------+--------+------+-----------+------------------+
 *
 * Threading: constant data.
 * Since: 0.0
 */
#ifndef QUOIN_NOTE_H
#define QUOIN_NOTE_H
#include <quoin/abi.h>

#ifdef __cplusplus
extern "C" {
#endif

#define QN_NOTE_OWNER "QUOIN"
#define QN_NOTE_TYPE 1u
#define QN_NOTE_MAJORS 4u

enum { QN_OS_OTHER = 0, QN_OS_LINUX = 1 };

enum {
    QN_NOTE_NEEDS_DRIVER = 1u, /* a kernel driver: without it no device can be there */
    QN_NOTE_SLOW_DEVICES = 2u, /* listing devices may take longer than two seconds */
    QN_NOTE_DEBUG = 4u         /* a debug build: not to be judged by its speed */
};

/* Size first, members are only appended, zero means "as before", as everywhere in the ABI. 4-byte members alone, so that no
 * padding depends on where the note begins. */
typedef struct qn_note {
    uint32_t size;
    uint32_t abi_majors;                 /* bit n: the file speaks major n */
    uint32_t abi_minors[QN_NOTE_MAJORS]; /* highest minor of major n; 0 where the bit is not set */
    uint32_t arch;                       /* QN_ARCH_* */
    uint32_t os;                         /* QN_OS_* */
    uint32_t cpu_features[8];            /* needed by any code that may run before `open`: word w of qn_machine is low half
                                            [2w], high half [2w + 1] */
    uint32_t device_class;               /* QN_DEVICE_*: what its devices are in the main */
    uint32_t flags;                      /* QN_NOTE_* */
    uint32_t sanitizer;                  /* QN_SANITIZER_* that the file was built with */
    uint32_t reserved;
    char name[32];                       /* terminated; the file is NAME.quoin.so and query says the same */
    char version[32];
    char licence[32];                    /* SPDX id */
    char build_id[64];
} qn_note;

/* --- What the compiler was told ---------------------------------------------------------------------------------------- */

#if defined(__x86_64__)
#define QN_NOTE_ARCH QN_ARCH_X86_64
#elif defined(__aarch64__)
#define QN_NOTE_ARCH QN_ARCH_AARCH64
#else
#define QN_NOTE_ARCH QN_ARCH_OTHER
#endif

#if defined(__linux__)
#define QN_NOTE_OS QN_OS_LINUX
#else
#define QN_NOTE_OS QN_OS_OTHER
#endif

#if defined(__AVX2__)
#define QN_NOTE_AVX2 ((uint32_t)QN_X86_AVX2)
#else
#define QN_NOTE_AVX2 0u
#endif
#if defined(__AVX512F__)
#define QN_NOTE_AVX512 ((uint32_t)QN_X86_AVX512)
#else
#define QN_NOTE_AVX512 0u
#endif
#if defined(__ARM_FEATURE_DOTPROD)
#define QN_NOTE_DOTPROD ((uint32_t)QN_ARM_DOTPROD)
#else
#define QN_NOTE_DOTPROD 0u
#endif
#if defined(__x86_64__)
#define QN_NOTE_FEATURES (QN_NOTE_AVX2 | QN_NOTE_AVX512)
#else
#define QN_NOTE_FEATURES QN_NOTE_DOTPROD
#endif

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define QN_NOTE_SANITIZER QN_SANITIZER_ADDRESS
#elif __has_feature(thread_sanitizer)
#define QN_NOTE_SANITIZER QN_SANITIZER_THREAD
#endif
#endif
#if !defined(QN_NOTE_SANITIZER) && defined(__SANITIZE_ADDRESS__)
#define QN_NOTE_SANITIZER QN_SANITIZER_ADDRESS
#elif !defined(QN_NOTE_SANITIZER) && defined(__SANITIZE_THREAD__)
#define QN_NOTE_SANITIZER QN_SANITIZER_THREAD
#elif !defined(QN_NOTE_SANITIZER)
#define QN_NOTE_SANITIZER QN_SANITIZER_NONE
#endif

/* The note as it lies in the file. */
typedef struct qn_elf_note {
    uint32_t owner_bytes, content_bytes, type;
    char owner[8];
    qn_note content;
} qn_elf_note;

/* A word about each argument: "name", "version", "SPDX id", QN_DEVICE_*, QN_NOTE_* flags. The build id is the version. */
#define QN_PLUGIN_NOTE(name, version, licence, device_class, flags)                                                            \
    static const qn_elf_note qn_plugin_note_ __attribute__((section(".note.quoin"), used, aligned(4))) = {                     \
        sizeof(QN_NOTE_OWNER), sizeof(qn_note), QN_NOTE_TYPE, QN_NOTE_OWNER,                                                    \
        {sizeof(qn_note), 1u << QN_ABI_MAJOR, {QN_ABI_MINOR, 0, 0, 0}, QN_NOTE_ARCH, QN_NOTE_OS,                                \
         {QN_NOTE_FEATURES, 0, 0, 0, 0, 0, 0, 0}, device_class, flags, QN_NOTE_SANITIZER, 0, name, version, licence, version}}

#ifdef __cplusplus
}
#endif
#endif
