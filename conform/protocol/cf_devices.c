/* cf_devices.c — level 1: listing and opening devices. */
#include <stdlib.h>
#include <string.h>

#include "protocol/protocol.h"

#define MOST_DEVICES 64u

static uint32_t count_devices(cf_context *ctx, const cf_backend *on) {
    uint32_t count = 0;
    qn_error error;
    cf_clear(&error);
    cf_done(ctx, "devices", on->verbs->devices(on->plugin, NULL, 0, 0, &count, &error), &error);
    CF_CHECK(ctx, count >= 1 && count <= MOST_DEVICES, "devices counts %u", count);
    return count;
}

static void devices_counts_then_fills(cf_context *ctx) {
    cf_backend on;
    qn_error error;
    cf_open(ctx, &on, 0);
    const uint32_t n = count_devices(ctx, &on);
    qn_device_info *infos = calloc(n + 1, sizeof *infos);
    CF_CHECK(ctx, infos != NULL, "this machine has no memory for the test itself");
    for (uint32_t room = 1; room <= n; room++) {
        uint32_t count = 0;
        memset(infos, 0x5a, (n + 1) * sizeof *infos);
        for (uint32_t i = 0; i <= n; i++) {
            infos[i].size = sizeof infos[i];
        }
        cf_clear(&error);
        cf_done(ctx, "devices", on.verbs->devices(on.plugin, infos, sizeof infos[0], room, &count, &error), &error);
        CF_CHECK(ctx, count == n, "devices counts %u with room for %u, and %u with room for none", count, room, n);
        CF_CHECK(ctx, infos[room].device_class == 0x5a5a5a5a, "devices wrote behind its room of %u", room);
    }
    free(infos);
    cf_close(ctx, &on);
}

static void require_info(cf_context *ctx, const qn_device_info *info) {
    CF_CHECK(ctx, info->size == sizeof *info, "devices changed the size of the record to %u", info->size);
    CF_CHECK(ctx, cf_is_text(info->id, sizeof info->id) && info->id[0] != '\0', "the id is empty, not terminated or not UTF-8");
    CF_CHECK(ctx, cf_is_text(info->name, sizeof info->name) && info->name[0] != '\0', "the name is empty, not terminated or not UTF-8");
    CF_CHECK(ctx, cf_is_text(info->driver, sizeof info->driver), "the driver is not terminated or not UTF-8");
    CF_CHECK(ctx, strpbrk(info->id, ",; \t\n") == NULL, "id '%s' cannot be written in a backend request", info->id);
    CF_CHECK(ctx, info->device_class >= QN_DEVICE_CPU && info->device_class <= QN_DEVICE_REMOTE, "device class %u", info->device_class);
    CF_CHECK(ctx, (info->flags & ~(uint32_t)(QN_DEVICE_SOFTWARE | QN_DEVICE_HOST_MEMORY | QN_DEVICE_DETERMINISTIC)) == 0, "flags 0x%x",
             info->flags);
    CF_CHECK(ctx, (info->numeric & QN_NUMERIC_F32ACC) != 0, "numeric classes 0x%x; f32acc belongs to every device", info->numeric);
    CF_CHECK(ctx, info->numeric < 8, "numeric classes 0x%x; an unknown one is among them", info->numeric);
    CF_CHECK(ctx, info->cell_block >= 1, "cell_block is 0; it is 1 where nothing is preferred");
    CF_CHECK(ctx, info->memory_free <= info->memory_total || info->memory_total == 0, "%llu bytes free of %llu",
             (unsigned long long)info->memory_free, (unsigned long long)info->memory_total);
}

static void read_all(cf_context *ctx, const cf_backend *on, qn_device_info *infos, uint32_t *out_n) {
    qn_error error;
    for (uint32_t i = 0; i < MOST_DEVICES; i++) {
        infos[i] = (qn_device_info){.size = sizeof infos[i]};
    }
    cf_clear(&error);
    cf_done(ctx, "devices", on->verbs->devices(on->plugin, infos, sizeof infos[0], MOST_DEVICES, out_n, &error), &error);
}

static void devices_say_what_they_are(cf_context *ctx) {
    qn_device_info infos[MOST_DEVICES];
    cf_backend on;
    uint32_t n = 0;
    cf_open(ctx, &on, 0);
    read_all(ctx, &on, infos, &n);
    for (uint32_t i = 0; i < n; i++) {
        if (cf_case(ctx, "device %u", i)) {
            require_info(ctx, &infos[i]);
            for (uint32_t j = 0; j < i; j++) {
                CF_CHECK(ctx, strcmp(infos[i].id, infos[j].id) != 0, "devices %u and %u have the same id %s", j, i, infos[i].id);
            }
        }
    }
    cf_close(ctx, &on);
}

static void devices_have_the_same_ids_again(cf_context *ctx) {
    qn_device_info first[MOST_DEVICES], second[MOST_DEVICES];
    cf_backend on;
    uint32_t n_first = 0, n_second = 0;
    cf_open(ctx, &on, 0);
    read_all(ctx, &on, first, &n_first);
    cf_close(ctx, &on);
    cf_open(ctx, &on, 0);
    read_all(ctx, &on, second, &n_second);
    CF_CHECK(ctx, n_first == n_second, "%u devices, and %u after another start", n_first, n_second);
    for (uint32_t i = 0; i < n_first; i++) {
        CF_CHECK(ctx, strcmp(first[i].id, second[i].id) == 0, "device %u is '%s', and '%s' after another start", i, first[i].id, second[i].id);
    }
    cf_close(ctx, &on);
}

static void devices_obeys_stride_and_size(cf_context *ctx) {
    struct {
        qn_device_info info;
        unsigned char more[64];
    } grown[MOST_DEVICES];
    cf_backend on;
    qn_error error;
    uint32_t count = 0;
    cf_open(ctx, &on, 0);
    memset(grown, 0x5a, sizeof grown);
    for (uint32_t i = 0; i < MOST_DEVICES; i++) {
        grown[i].info.size = sizeof grown[i];
    }
    cf_clear(&error);
    cf_done(ctx, "devices", on.verbs->devices(on.plugin, &grown[0].info, sizeof grown[0], MOST_DEVICES, &count, &error), &error);
    for (uint32_t i = 0; i < count; i++) {
        CF_CHECK(ctx, grown[i].info.size == sizeof grown[i], "devices changed the size of a longer record to %u", grown[i].info.size);
        CF_CHECK(ctx, cf_is_text(grown[i].info.id, sizeof grown[i].info.id), "record %u was not written where the stride puts it", i);
        for (uint32_t b = 0; b < sizeof grown[i].more; b++) {
            CF_CHECK(ctx, grown[i].more[b] == 0x5a || grown[i].more[b] == 0, "devices wrote something unknown behind record %u", i);
        }
    }
    grown[0].info.size = 4;
    cf_clear(&error);
    const qn_status status = on.verbs->devices(on.plugin, &grown[0].info, sizeof grown[0], 1, &count, &error);
    cf_refused(ctx, "devices with a record of 4 bytes", status, QN_BAD_ARG, &error);
    cf_close(ctx, &on);
}

static void unknown_devices_are_refused_by_name(cf_context *ctx) {
    static const char *const ids[] = {"no such device", "", "0000:ff:1f.7"};
    cf_backend on;
    qn_error error;
    cf_open(ctx, &on, 0);
    for (size_t i = 0; i < CF_COUNT_OF(ids); i++) {
        qn_device *device = NULL;
        if (cf_case(ctx, "device '%s'", ids[i])) {
            cf_clear(&error);
            cf_refused_somehow(ctx, "open", on.verbs->open(on.plugin, ids[i], NULL, 0, &device, &error), &error);
            CF_CHECK(ctx, device == NULL, "open refuses and gives a device all the same");
            CF_CHECK(ctx, strstr(error.text, ids[i]) != NULL, "open does not name '%s' in: %.300s", ids[i], error.text);
        }
    }
    cf_close(ctx, &on);
}

static void a_device_opens_and_closes_many_times(cf_context *ctx) {
    cf_backend on;
    qn_error error;
    cf_open(ctx, &on, 0);
    const uint64_t before = cf_host_bytes(on.host, QN_MEM_KINDS);
    for (uint32_t i = 0; i < 20; i++) {
        qn_device *device = NULL;
        cf_clear(&error);
        cf_done(ctx, "open", on.verbs->open(on.plugin, on.info.id, ctx->options[CF_AT_OPEN], ctx->n_options[CF_AT_OPEN], &device, &error), &error);
        CF_CHECK(ctx, device != NULL, "open answers OK and gives no device");
        on.verbs->close(device);
        CF_CHECK(ctx, cf_host_bytes(on.host, QN_MEM_KINDS) == before, "open and close number %u leave %lld bytes", i + 1,
                 (long long)(cf_host_bytes(on.host, QN_MEM_KINDS) - before));
    }
    cf_close(ctx, &on);
}

static const cf_test tests[] = {
    CF_TEST(devices_counts_then_fills, "Q4", CF_MUST_PROTOCOL),
    CF_TEST(devices_say_what_they_are, "D2", CF_MUST_PROTOCOL),
    CF_TEST(devices_have_the_same_ids_again, "D2", CF_MUST_PROTOCOL),
    CF_TEST(devices_obeys_stride_and_size, "Q4", CF_MUST_PROTOCOL),
    CF_TEST(unknown_devices_are_refused_by_name, "E3", CF_MUST_PROTOCOL),
    CF_TEST(a_device_opens_and_closes_many_times, "S3", CF_MUST_PROTOCOL),
};
const cf_suite cf_suite_devices = CF_SUITE(1, "devices", tests);
