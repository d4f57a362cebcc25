/* test_elf_note.c — reading a plugin's note from files that are made here, one thing wrong in each. */
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "backends/elf_note.h"

#if defined(__aarch64__)
#define MACHINE EM_AARCH64
#else
#define MACHINE EM_X86_64
#endif
#define ID_BYTES 20u

/* Header, one PT_NOTE segment, a build id and the note of <quoin/note.h>. */
typedef struct image {
    Elf64_Ehdr header;
    Elf64_Phdr segment;
    Elf64_Nhdr id;
    char id_owner[4];
    uint8_t id_bytes[ID_BYTES];
    qn_elf_note note;
    uint8_t tail[8]; /* behind the segment */
} image;

static image make_image(void) {
    image made = {.header = {.e_type = ET_DYN, .e_machine = MACHINE, .e_phoff = offsetof(image, segment), .e_phnum = 1,
                             .e_phentsize = sizeof(Elf64_Phdr)},
                  .segment = {.p_type = PT_NOTE, .p_align = 4, .p_offset = offsetof(image, id),
                              .p_filesz = offsetof(image, tail) - offsetof(image, id)},
                  .id = {.n_namesz = 4, .n_descsz = ID_BYTES, .n_type = 3},
                  .id_owner = "GNU",
                  .note = {sizeof QN_NOTE_OWNER, sizeof(qn_note), QN_NOTE_TYPE, QN_NOTE_OWNER,
                           {.size = sizeof(qn_note), .abi_majors = 1u << QN_ABI_MAJOR, .arch = QN_NOTE_ARCH, .os = QN_NOTE_OS,
                            .device_class = QN_DEVICE_GPU, .name = "mine", .version = "3.1", .licence = "MIT"}}};
    memcpy(made.header.e_ident, ELFMAG, SELFMAG);
    made.header.e_ident[EI_CLASS] = ELFCLASS64;
    made.header.e_ident[EI_DATA] = ELFDATA2LSB;
    memset(made.id_bytes, 0xAB, sizeof made.id_bytes);
    return made;
}

static qn_status read_image(const image *from, size_t size, elf_facts *out, error_context *err) {
    return elf_note_read((fmt_span){(const uint8_t *)from, size}, out, err);
}

static void note_and_build_id_are_read(void **state) {
    (void)state;
    const image sound = make_image();
    elf_facts facts;
    assert_int_equal(read_image(&sound, sizeof sound, &facts, NULL), QN_OK);
    assert_true(facts.has_note);
    assert_string_equal(facts.note.name, "mine");
    assert_int_equal(facts.note.device_class, QN_DEVICE_GPU);
    assert_int_equal(strlen(facts.build_id), 2 * ID_BYTES);
    assert_memory_equal(facts.build_id, "abab", 4);
}

static void a_file_without_note_is_told_apart(void **state) {
    (void)state;
    image other = make_image();
    elf_facts facts;
    other.note.owner[0] = 'X';
    assert_int_equal(read_image(&other, sizeof other, &facts, NULL), QN_OK);
    assert_false(facts.has_note);
    other.header.e_phnum = 0;
    assert_int_equal(read_image(&other, sizeof other, &facts, NULL), QN_OK);
    assert_false(facts.has_note);
}

static void what_is_broken_is_named_with_its_byte(void **state) {
    (void)state;
    enum { MAGIC, CLASS, ORDER, PROCESSOR, KIND, HEADERS_BEHIND, HEADERS_HUGE, ENTRY_SIZE, SEGMENT_BEHIND, SEGMENT_HUGE,
           OWNER_HUGE, CONTENT_HUGE, NOTE_SHORT, NOTE_LONG, UNTERMINATED, CONTROL, N_BREAKS };
    static const char *const words[N_BREAKS] = {"no ELF file", "another kind", "another kind", "another kind", "no shared object",
                                                "program headers", "program headers", "program headers", "note segment",
                                                "note segment", "longer than its segment", "longer than its segment",
                                                "impossible size", "impossible size", "not terminated", "not printable"};
    for (int broken = 0; broken < N_BREAKS; broken++) {
        image bad = make_image();
        elf_facts facts;
        error_context err = {0};
        switch (broken) {
        case MAGIC: bad.header.e_ident[1] = 'e'; break;
        case CLASS: bad.header.e_ident[EI_CLASS] = ELFCLASS32; break;
        case ORDER: bad.header.e_ident[EI_DATA] = ELFDATA2MSB; break;
        case PROCESSOR: bad.header.e_machine = EM_PPC64; break;
        case KIND: bad.header.e_type = ET_EXEC; break;
        case HEADERS_BEHIND: bad.header.e_phoff = sizeof bad - 8; break;
        case HEADERS_HUGE: bad.header.e_phoff = UINT64_MAX - 8; break;
        case ENTRY_SIZE: bad.header.e_phentsize = 8; break;
        case SEGMENT_BEHIND: bad.segment.p_filesz += 9; break;
        case SEGMENT_HUGE: bad.segment.p_offset = UINT64_MAX - 3; break;
        case OWNER_HUGE: bad.id.n_namesz = UINT32_MAX; break;
        case CONTENT_HUGE: bad.id.n_descsz = UINT32_MAX; break;
        case NOTE_SHORT: bad.note.content.size = sizeof(qn_note) - 1; break;
        case NOTE_LONG: bad.note.content.size = sizeof(qn_note) + 1; break;
        case UNTERMINATED: memset(bad.note.content.name, 'x', sizeof bad.note.content.name); break;
        default: bad.note.content.version[0] = '\033'; break;
        }
        assert_int_equal(read_image(&bad, sizeof bad, &facts, &err), QN_BAD_FILE);
        if (strstr(error_text(&err), words[broken]) == NULL || strncmp(error_text(&err), "byte ", 5) != 0) {
            fail_msg("break %d: %s", broken, error_text(&err));
        }
    }
}

static void no_length_of_a_sound_file_is_read_beyond_its_end(void **state) {
    (void)state;
    const image sound = make_image();
    for (size_t size = 0; size < offsetof(image, tail); size++) {
        elf_facts facts;
        assert_int_equal(read_image(&sound, size, &facts, NULL), QN_BAD_FILE);
    }
}

static void a_longer_note_is_taken_when_its_tail_says_nothing(void **state) {
    (void)state;
    image later = make_image();
    elf_facts facts;
    later.note.content_bytes += 8;
    later.note.content.size += 8;
    later.segment.p_filesz += 8;
    assert_int_equal(read_image(&later, sizeof later, &facts, NULL), QN_OK);
    assert_true(facts.has_note);
    later.tail[5] = 1;
    assert_int_equal(read_image(&later, sizeof later, &facts, NULL), QN_TOO_NEW);
}

static void a_note_that_does_not_fit_here_is_refused_with_what_it_needs(void **state) {
    (void)state;
    enum { FITS, NAME, MAJOR, NO_MAJOR, MINOR, PROCESSOR, FEATURE, HIGH_FEATURE, SANITIZED, N_CASES };
    static const struct {
        qn_status status;
        const char *words;
    } wanted[N_CASES] = {{QN_OK, ""}, {QN_BAD_ARG, "calls itself mine"}, {QN_TOO_NEW, "needs ABI 2, this program speaks 0"},
                         {QN_UNSUPPORTED, "names no ABI"}, {QN_TOO_NEW, "before 1.0 both must be equal"},
                         {QN_UNAVAILABLE, "another processor"}, {QN_UNAVAILABLE, "this CPU and system offer"},
                         {QN_UNAVAILABLE, "this CPU and system offer"}, {QN_UNSUPPORTED, "Sanitizer"}};
    const qn_machine machine = {.size = sizeof machine, .arch = QN_NOTE_ARCH, .cpu_features = {1}};
    for (int which = 0; which < N_CASES; which++) {
        qn_note note = make_image().note.content;
        error_context err = {0};
        note.cpu_features[0] = which == FEATURE ? 3 : 1;
        note.cpu_features[3] = which == HIGH_FEATURE;
        note.abi_majors = which == MAJOR ? 4 : which == NO_MAJOR ? 0 : note.abi_majors;
        note.abi_minors[QN_ABI_MAJOR] += which == MINOR;
        note.arch = which == PROCESSOR ? QN_ARCH_OTHER : note.arch;
        note.sanitizer = which == SANITIZED ? QN_NOTE_SANITIZER + 1 : QN_SANITIZER_NONE;
        assert_int_equal(elf_note_judge(which == NAME ? "yours" : "mine", &note, &machine, &err), wanted[which].status);
        const char *words = wanted[which].words;
        if (which != FITS && (strstr(error_text(&err), words) == NULL || strstr(error_text(&err), "refused at note") == NULL)) {
            fail_msg("case %d: %s", which, error_text(&err));
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(note_and_build_id_are_read),
        cmocka_unit_test(a_file_without_note_is_told_apart),
        cmocka_unit_test(what_is_broken_is_named_with_its_byte),
        cmocka_unit_test(no_length_of_a_sound_file_is_read_beyond_its_end),
        cmocka_unit_test(a_longer_note_is_taken_when_its_tail_says_nothing),
        cmocka_unit_test(a_note_that_does_not_fit_here_is_refused_with_what_it_needs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
