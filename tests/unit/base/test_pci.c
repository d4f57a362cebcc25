/* test_pci.c — GPUs among the devices of a bus that is made here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/pci.h"
#include "corpus.h"

static char root[CORPUS_PATH_SIZE];

static int make_folder(void **state) {
    (void)state;
    test_make_folder(root);
    return 0;
}

static int remove_folder(void **state) {
    (void)state;
    test_remove_tree(root);
    return 0;
}

static void write_fact(const char *device, const char *fact, const char *text) {
    char path[CORPUS_PATH_SIZE + 64];
    snprintf(path, sizeof path, "%s/%s/%s", root, device, fact);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void add_device(const char *device, const char *device_class, const char *vendor) {
    char path[CORPUS_PATH_SIZE + 32];
    snprintf(path, sizeof path, "%s/%s", root, device);
    assert_int_equal(mkdir(path, 0755), 0);
    write_fact(device, "class", device_class);
    write_fact(device, "vendor", vendor);
}

static void only_a_display_controller_of_a_known_vendor_is_a_gpu(void **state) {
    (void)state;
    assert_false(pci_has_gpu(root));
    add_device("0000:00:01.0", "0x020000\n", "0x8086\n"); /* a network card */
    add_device("0000:00:02.0", "0x030000\n", "0x1a03\n"); /* a server's console */
    add_device("0000:00:03.0", "", "");
    assert_false(pci_has_gpu(root));
    add_device("0000:65:00.0", "0x030200\n", "0x10de\n");
    assert_true(pci_has_gpu(root));
}

static void a_bus_that_is_not_there_has_none(void **state) {
    (void)state;
    assert_false(pci_has_gpu("/nonexistent"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(only_a_display_controller_of_a_known_vendor_is_a_gpu, make_folder, remove_folder),
        cmocka_unit_test(a_bus_that_is_not_there_has_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
