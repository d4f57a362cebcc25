/* test_thermal.c — sensors that are files and libraries of the test, and what their temperatures mean. */
#include "govern_fixture.h"

#include <sys/stat.h>

static double celsius, clock_now, rested;

static bool read_celsius(void *ctx, double *out) {
    (void)ctx;
    *out = celsius;
    return celsius >= 0;
}

static double read_clock(void *ctx) {
    (void)ctx;
    return clock_now;
}

static void rest(void *ctx, double seconds) {
    (void)ctx;
    rested += seconds;
}

static thermal_monitor make_monitor(void) {
    celsius = clock_now = rested = 0;
    return (thermal_monitor){.read = read_celsius, .warm = 65, .critical = 85, .hysteresis = 5, .pause = rest, .seconds = read_clock,
                             .last_seconds = -1};
}

static void bands_are_left_five_degrees_below_where_they_were_entered(void **state) {
    static const struct { double celsius; thermal_state wanted; } steps[] = {
        {20, THERMAL_COOL},  {65, THERMAL_COOL},     {65.1, THERMAL_WARM},     {61, THERMAL_WARM},     {60, THERMAL_COOL},
        {64, THERMAL_COOL},  {85, THERMAL_WARM},     {85.1, THERMAL_CRITICAL}, {81, THERMAL_CRITICAL}, {80, THERMAL_WARM},
        {82, THERMAL_WARM},  {90, THERMAL_CRITICAL}, {30, THERMAL_COOL},
    };
    thermal_monitor m = make_monitor();
    (void)state;
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        celsius = steps[i].celsius;
        if (thermal_look(&m) != steps[i].wanted) {
            fail_msg("step %zu: %.1f is %s", i, celsius, thermal_state_name(m.state));
        }
    }
}

static void a_sensor_that_is_gone_is_cool_and_unknown(void **state) {
    thermal_monitor m = make_monitor();
    (void)state;
    celsius = 90;
    assert_int_equal(thermal_look(&m), THERMAL_CRITICAL);
    celsius = -1;
    assert_int_equal(thermal_look(&m), THERMAL_COOL);
    assert_false(m.is_known);
}

static void warmth_rests_as_long_as_it_worked_and_at_most_a_second(void **state) {
    thermal_monitor m = make_monitor();
    (void)state;
    assert_true(thermal_go_on(&m, 32));
    assert_int_equal(m.n_pauses, 0);
    celsius = 70;
    clock_now = 0.25;
    assert_true(thermal_go_on(&m, 64));
    assert_true(rested > 0.249 && rested < 0.251);
    clock_now = 100;
    assert_true(thermal_go_on(&m, 96));
    assert_true(rested > 1.249 && rested < 1.251);
}

static void critical_heat_ends_a_run_unless_its_intent_is_critical(void **state) {
    thermal_monitor m = make_monitor();
    (void)state;
    celsius = 99;
    assert_false(thermal_go_on(&m, 32));
    assert_true(m.has_stopped);
    m = make_monitor();
    celsius = 99;
    m.is_critical_intent = true;
    assert_true(thermal_go_on(&m, 32));
    assert_false(m.has_stopped);
    assert_int_equal(m.n_pauses, 1);
}

/* ---------------------------------------------------------------- sensors */

static void make_sensor(const char *folder, const char *name_file, const char *name, const char *value_file, const char *value) {
    char path[CORPUS_PATH_SIZE + 64];
    snprintf(path, sizeof path, "%s/%s", fixture_folder, folder);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/%s", folder, name_file);
    fixture_write(path, name);
    snprintf(path, sizeof path, "%s/%s", folder, value_file);
    fixture_write(path, value);
}

static char words[2][16] = {"coretemp", "soc_thermal"};
static char *word_items[2] = {words[0], words[1]};
static const policy_words names = {word_items, 2};

static void the_worst_of_the_named_files_counts(void **state) {
    double found = 0;
    (void)state;
    make_sensor("hwmon0", "name", "coretemp\n", "temp1_input", "47000\n");
    make_sensor("hwmon0", "name", "coretemp\n", "temp12_input", "51500\n");
    make_sensor("hwmon0", "name", "coretemp\n", "temp1_max", "99000\n");
    make_sensor("hwmon1", "name", "nvme\n", "temp1_input", "88000\n");
    make_sensor("thermal_zone3", "type", "soc_thermal\n", "temp", "49900\n");
    thermal_sensors *s = thermal_sensors_open(fixture_folder, fixture_folder, "none", &names);
    assert_int_equal(thermal_sensors_count(s), 3);
    assert_true(thermal_sensors_read(s, &found));
    assert_true(found == 51.5);
    make_sensor("thermal_zone3", "type", "soc_thermal\n", "temp", "-3000\n");
    make_sensor("hwmon0", "name", "coretemp\n", "temp12_input", "rubbish\n");
    assert_true(thermal_sensors_read(s, &found));
    assert_true(found == 47.0);
    thermal_sensors_close(s);
}

static void no_folder_and_no_library_is_no_sensor(void **state) {
    double found = 12;
    (void)state;
    thermal_sensors *s = thermal_sensors_open("none", "/nowhere/at/all", "libnothing-such.so.9", &names);
    assert_int_equal(thermal_sensors_count(s), 0);
    assert_false(thermal_sensors_read(s, &found));
    assert_true(found == 12);
    thermal_sensors_close(s);
}

static void the_hottest_device_of_nvml_counts(void **state) {
    double found = 0;
    (void)state;
    setenv("FAKE_NVML_CELSIUS", "41 97", 1);
    thermal_sensors *s = thermal_sensors_open("none", "none", FAKE_NVML, &names);
    assert_int_equal(thermal_sensors_count(s), 2);
    assert_true(thermal_sensors_read(s, &found));
    assert_true(found == 97.0);
    thermal_sensors_close(s);
    unsetenv("FAKE_NVML_CELSIUS");
    s = thermal_sensors_open("none", "none", FAKE_NVML, &names);
    assert_int_equal(thermal_sensors_count(s), 0);
    thermal_sensors_close(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bands_are_left_five_degrees_below_where_they_were_entered),
        cmocka_unit_test(a_sensor_that_is_gone_is_cool_and_unknown),
        cmocka_unit_test(warmth_rests_as_long_as_it_worked_and_at_most_a_second),
        cmocka_unit_test(critical_heat_ends_a_run_unless_its_intent_is_critical),
        cmocka_unit_test_setup_teardown(the_worst_of_the_named_files_counts, fixture_setup, fixture_teardown),
        cmocka_unit_test(no_folder_and_no_library_is_no_sensor),
        cmocka_unit_test(the_hottest_device_of_nvml_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
