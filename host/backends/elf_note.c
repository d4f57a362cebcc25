/* elf_note.c — walking from the ELF header to the notes with every step inside the file. */
#include "backends/elf_note.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

#include "backends/host_services.h"
#include "backends/refusal.h"
#include "base/machine.h"
#include "common/checked.h"

#define GNU_BUILD_ID 3u

#if defined(__x86_64__)
#define OWN_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OWN_MACHINE EM_AARCH64
#else
#define OWN_MACHINE EM_NONE
#endif

static qn_status refuse(error_context *err, uint64_t at, const char *what) {
    return FAIL(err, QN_BAD_FILE, "byte %llu: %s", (unsigned long long)at, what);
}

static qn_status read_header(fmt_span file, Elf64_Ehdr *out, error_context *err) {
    if (file.size < sizeof *out || memcmp(file.data, ELFMAG, SELFMAG) != 0) {
        return refuse(err, 0, "this is no ELF file");
    }
    memcpy(out, file.data, sizeof *out);
    if (out->e_ident[EI_CLASS] != ELFCLASS64 || out->e_ident[EI_DATA] != ELFDATA2LSB || out->e_machine != OWN_MACHINE) {
        return refuse(err, EI_CLASS, "this file is made for another kind of processor");
    }
    if (out->e_type != ET_DYN) {
        return refuse(err, offsetof(Elf64_Ehdr, e_type), "this is no shared object");
    }
    if (out->e_phentsize != sizeof(Elf64_Phdr) ||
        !checked_range(out->e_phoff, (uint64_t)out->e_phnum * sizeof(Elf64_Phdr), file.size)) {
        return refuse(err, offsetof(Elf64_Ehdr, e_phoff), "the program headers lie outside the file");
    }
    return QN_OK;
}

/* A text of fixed room: terminated, and nothing in it that could disturb a terminal. */
static bool is_clean_text(const char *text, size_t room) {
    const char *end = memchr(text, '\0', room);
    for (const char *at = text; end != NULL && at < end; at++) {
        if (*at < ' ' || *at > '~') {
            return false;
        }
    }
    return end != NULL;
}

static qn_status take_note(fmt_span content, uint64_t at, elf_facts *out, error_context *err) {
    qn_note *note = &out->note;
    uint32_t size = 0;
    if (content.size >= sizeof size) {
        memcpy(&size, content.data, sizeof size);
    }
    if (size < sizeof *note || size > content.size) {
        return refuse(err, at, "the plugin's note has an impossible size");
    }
    for (uint64_t i = sizeof *note; i < size; i++) {
        if (content.data[i] != 0) {
            return FAIL(err, QN_TOO_NEW, "byte %llu: the plugin's note says something that this program does not know",
                        (unsigned long long)(at + i));
        }
    }
    memcpy(note, content.data, sizeof *note);
    if (!is_clean_text(note->name, sizeof note->name) || !is_clean_text(note->version, sizeof note->version) ||
        !is_clean_text(note->licence, sizeof note->licence) || !is_clean_text(note->build_id, sizeof note->build_id)) {
        return refuse(err, at, "a text of the plugin's note is not terminated or not printable");
    }
    out->has_note = true;
    return QN_OK;
}

static void take_build_id(fmt_span content, elf_facts *out) {
    const size_t most = (ELF_BUILD_ID_SIZE - 1) / 2, n = content.size < most ? (size_t)content.size : most;
    for (size_t i = 0; i < n; i++) {
        snprintf(out->build_id + 2 * i, 3, "%02x", content.data[i]);
    }
}

/* The note at *at of the segment that ends at `end`; moves *at behind it. */
static qn_status read_one_note(fmt_span file, uint64_t *at, uint64_t end, elf_facts *out, error_context *err) {
    Elf64_Nhdr header;
    uint64_t owner_at = 0, content_at = 0, next = 0, owner_bytes = 0, content_bytes = 0;
    const uint64_t begin = *at;
    if (!checked_range(begin, sizeof header, end)) {
        return refuse(err, begin, "a note is cut off");
    }
    memcpy(&header, file.data + begin, sizeof header);
    owner_at = begin + sizeof header;
    if (!checked_align(header.n_namesz, 4, &owner_bytes) || !checked_align(header.n_descsz, 4, &content_bytes) ||
        !checked_add(owner_at, owner_bytes, &content_at) || !checked_add(content_at, content_bytes, &next) ||
        !checked_range(content_at, header.n_descsz, end)) {
        return refuse(err, begin, "a note is longer than its segment");
    }
    const fmt_span content = {file.data + content_at, header.n_descsz};
    const char *owner = (const char *)file.data + owner_at;
    *at = next;
    if (header.n_namesz == sizeof QN_NOTE_OWNER && memcmp(owner, QN_NOTE_OWNER, sizeof QN_NOTE_OWNER) == 0 &&
        header.n_type == QN_NOTE_TYPE && !out->has_note) {
        return take_note(content, content_at, out, err);
    }
    if (header.n_namesz == sizeof "GNU" && memcmp(owner, "GNU", sizeof "GNU") == 0 && header.n_type == GNU_BUILD_ID) {
        take_build_id(content, out);
    }
    return QN_OK;
}

static qn_status read_segment(fmt_span file, const Elf64_Phdr *segment, elf_facts *out, error_context *err) {
    /* Segments with wider alignment (.note.gnu.property) have other padding and nothing for us. */
    if (segment->p_type != PT_NOTE || segment->p_align > 4) {
        return QN_OK;
    }
    if (!checked_range(segment->p_offset, segment->p_filesz, file.size)) {
        return refuse(err, segment->p_offset, "a note segment lies outside the file");
    }
    const uint64_t end = segment->p_offset + segment->p_filesz;
    for (uint64_t at = segment->p_offset; at < end;) {
        const qn_status status = read_one_note(file, &at, end, out, err);
        if (status < 0) {
            return status;
        }
    }
    return QN_OK;
}

qn_status elf_note_read(fmt_span file, elf_facts *out, error_context *err) {
    Elf64_Ehdr header = {0};
    memset(out, 0, sizeof *out);
    qn_status status = read_header(file, &header, err);
    for (uint32_t i = 0; i < header.e_phnum && status >= 0; i++) {
        Elf64_Phdr segment;
        memcpy(&segment, file.data + header.e_phoff + i * sizeof segment, sizeof segment);
        status = read_segment(file, &segment, out, err);
    }
    return status;
}

/* The highest major that a mask names; 0 for none. */
static uint32_t highest_major(uint32_t majors) {
    uint32_t major = 31;
    while (major > 0 && (majors >> major & 1) == 0) {
        major--;
    }
    return major;
}

static qn_status judge_abi(const char *name, const qn_note *note, error_context *err) {
    if (note->abi_majors == 0) {
        return backend_refuse(err, name, "note", QN_UNSUPPORTED, "its note names no ABI");
    }
    if ((note->abi_majors >> QN_ABI_MAJOR & 1) == 0) {
        return backend_refuse(err, name, "note", QN_TOO_NEW, "needs ABI %u, this program speaks %d (plugin %s)",
                              highest_major(note->abi_majors), QN_ABI_MAJOR, note->version);
    }
    const uint32_t minor = note->abi_minors[QN_ABI_MAJOR];
    if (minor != QN_ABI_MINOR) {
        return backend_refuse(err, name, "note", minor > QN_ABI_MINOR ? QN_TOO_NEW : QN_TOO_OLD,
                              "needs ABI %d.%u, this program speaks %d.%d and before 1.0 both must be equal (plugin %s)",
                              QN_ABI_MAJOR, minor, QN_ABI_MAJOR, QN_ABI_MINOR, note->version);
    }
    return QN_OK;
}

static qn_status judge_cpu(const char *name, const qn_note *note, const qn_machine *machine, error_context *err) {
    qn_machine needed = *machine;
    char wanted[200], offered[200];
    bool is_met = true;
    for (uint32_t w = 0; w < 4; w++) {
        needed.cpu_features[w] = note->cpu_features[2 * w] | (uint64_t)note->cpu_features[2 * w + 1] << 32;
        is_met = is_met && (needed.cpu_features[w] & ~machine->cpu_features[w]) == 0;
    }
    if (is_met) {
        return QN_OK;
    }
    machine_describe_features(&needed, wanted, sizeof wanted);
    machine_describe_features(machine, offered, sizeof offered);
    return backend_refuse(err, name, "note", QN_UNAVAILABLE, "needs %s; this CPU and system offer %s", wanted, offered);
}

static const char *sanitizer_name(uint32_t sanitizer) {
    return sanitizer == QN_SANITIZER_ADDRESS ? "AddressSanitizer" : sanitizer == QN_SANITIZER_THREAD ? "ThreadSanitizer" : "none";
}

qn_status elf_note_judge(const char *name, const qn_note *note, const qn_machine *machine, error_context *err) {
    if (strcmp(note->name, name) != 0) {
        return backend_refuse(err, name, "note", QN_BAD_ARG, "the file calls itself %s; it must be named %s.quoin.so", note->name,
                              note->name);
    }
    qn_status status = judge_abi(name, note, err);
    if (status >= 0 && (note->arch != machine->arch || note->os != QN_NOTE_OS)) {
        status = backend_refuse(err, name, "note", QN_UNAVAILABLE, "it is made for another processor or system");
    }
    status = status >= 0 ? judge_cpu(name, note, machine, err) : status;
    if (status >= 0 && note->sanitizer != QN_SANITIZER_NONE && note->sanitizer != host_sanitizer()) {
        status = backend_refuse(err, name, "note", QN_UNSUPPORTED, "it was built with %s and this program was not",
                                sanitizer_name(note->sanitizer));
    }
    return status;
}

const char *elf_note_class_name(uint32_t device_class) {
    static const char *const names[] = {"unknown", "cpu", "gpu", "igpu", "accelerator", "remote"};
    return names[device_class < sizeof names / sizeof names[0] ? device_class : 0];
}
