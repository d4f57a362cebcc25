/* test_gpu_emulator.cpp — the emulator notices what a kernel may not do, and says where. */
#include "emulator_kernel.h" /* first: cmocka has a macro `fail` */

#include <csetjmp>
#include <cstdarg>
#include <cstddef>

extern "C" {
#include <cmocka.h>
}

/* --- Kernels of four items that do something wrong ---------------------------------------------------------------------- */

static void read_beyond_the_end(emu_item &item) {
    const emu_buffer x(item, 0, "x", false);
    x.load<float>(item.index == 3 ? 4 : item.index);
}

static void write_what_is_only_read(emu_item &item) {
    const emu_buffer x(item, 0, "x", false);
    x.store<float>(item.index, 1.0f);
}

static void leave_before_the_barrier(emu_item &item) {
    if (item.index != 2) {
        item.barrier(77);
    }
}

static void meet_at_two_barriers(emu_item &item) {
    item.barrier(item.index < 2 ? 11 : 22);
}

static void use_too_much_of_an_array(emu_item &item) {
    const emu_shared<float> values(item, "values", 4);
    values[item.index + 1] = 1.0f;
}

static void read_what_nobody_wrote(emu_item &item) {
    const emu_buffer x(item, 0, "x", true);
    const emu_shared<float> values(item, "values", 4);
    x.store<float>(item.index, values[item.index]);
}

static void hand_on_behind_barriers(emu_item &item) {
    const emu_buffer x(item, 0, "x", true);
    const emu_shared<float> values(item, "values", 4);
    for (uint32_t turn = 0; turn < 3; turn++) {
        values[item.index] = x.load<float>(item.index);
        item.barrier(1);
        x.store<float>(item.index, values[(item.index + 1) % 4]);
        item.barrier(2);
    }
}

/* --- Running them ----------------------------------------------------------------------------------------------------- */

static char text[400];

static int run(emu_kernel *kernel, float *x) {
    emu_launch launch = {};
    launch.grid[0] = launch.grid[1] = launch.grid[2] = 1;
    launch.n_buffers = 1;
    launch.buffers[0] = emu_binding{x, 16};
    text[0] = '\0';
    return emu_run_as(kernel, "bad", 4, &launch, text, sizeof text);
}

static void expect_refused(emu_kernel *kernel, const char *part) {
    float x[4] = {};
    assert_int_equal(run(kernel, x), -1);
    if (std::strstr(text, part) == nullptr) {
        fail_msg("the message is \"%s\", without \"%s\"", text, part);
    }
}

static void every_fault_ends_the_launch_with_what_was_wrong(void **) {
    expect_refused(read_beyond_the_end, "item 3 of group 0 0 0: reads unit 4 of 4 bytes of buffer x, which has 16 bytes");
    expect_refused(write_what_is_only_read, "stores to buffer x, which it only reads");
    expect_refused(leave_before_the_barrier, "waits at the barrier of line 77, item 2 has ended");
    expect_refused(meet_at_two_barriers, "waits at the barrier of line 11, item 2 waits at that of line 22");
    expect_refused(use_too_much_of_an_array, "uses element 4 of shared array values, which has 4");
}

static void a_launch_after_a_fault_is_not_touched_by_it(void **) {
    float x[4] = {1, 2, 3, 4};
    expect_refused(leave_before_the_barrier, "has ended");
    assert_int_equal(run(hand_on_behind_barriers, x), 0);
    assert_true(x[0] == 4 && x[1] == 1 && x[2] == 2 && x[3] == 3);
}

static void shared_memory_that_nobody_wrote_is_nan(void **) {
    float x[4] = {};
    assert_int_equal(run(read_what_nobody_wrote, x), 0);
    assert_true(x[0] != x[0] && x[3] != x[3]);
}

int main() {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_fault_ends_the_launch_with_what_was_wrong),
        cmocka_unit_test(a_launch_after_a_fault_is_not_touched_by_it),
        cmocka_unit_test(shared_memory_that_nobody_wrote_is_nan),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
