/* vk_run.c — running a recording: its parts are submitted so many at a time that the device is busy for some milliseconds, two
 * submissions are under way, and between them the cancel flag is read. */
#include <quoin/glue.h>

#include "vk_driver.h"

#define SUBMISSION_NS UINT64_C(5000000) /* how long a cancelled step may go on, about twice over */
#define QUERIES_AT_ONCE 64u

/* How many parts shall go together the next time. */
static void adapt(gpu_recording *recording, uint64_t took_ns) {
    const uint64_t each = took_ns / recording->n_parts + 1;
    const uint64_t fits = SUBMISSION_NS / each;
    recording->parts_at_once = fits < 1 ? 1 : fits > recording->n_parts ? recording->n_parts : (uint32_t)fits;
}

static qn_status submit_parts(gpu_driver_device *device, gpu_recording *recording, bool timed, qn_error *err) {
    const VkCommandBuffer *const parts = recording->parts[timed ? 1 : 0];
    qn_status status = QN_OK;
    for (uint32_t part = 0, turn = 0; status == QN_OK && part < recording->n_parts; turn++) {
        vk_slot *const slot = &device->slots[turn % VK_SLOTS];
        const uint32_t left = recording->n_parts - part;
        const uint32_t n = left < recording->parts_at_once ? left : recording->parts_at_once;
        status = vk_slot_wait(device, slot, err);
        if (status == QN_OK && qn_flag_is_up(device->host->cancel)) {
            status = qn_fail(err, QN_CANCELLED, "cancelled before launch %u of %u", recording->firsts[part], recording->n);
        }
        status = status == QN_OK ? vk_slot_submit(device, slot, parts + part, n, err) : status;
        part += n;
    }
    /* Whatever was submitted is waited for, also after an error. */
    for (uint32_t i = 0; i < VK_SLOTS; i++) {
        const qn_status waited = vk_slot_wait(device, &device->slots[i], status == QN_OK ? err : NULL);
        status = status == QN_OK || waited == QN_DEVICE_LOST ? waited : status;
    }
    return status;
}

/* Adds the time of launches [first, end) of a part from its timestamps. */
static VkResult read_times(gpu_driver_device *device, const gpu_recording *recording, uint32_t part, uint64_t *nanoseconds) {
    const uint32_t bits = device->adapter->timestamp_bits;
    const uint64_t mask = bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
    const double period = device->adapter->limits.timestampPeriod;
    uint64_t ticks[QUERIES_AT_ONCE];
    for (uint32_t i = recording->firsts[part]; i < recording->firsts[part + 1];) {
        const uint32_t left = recording->firsts[part + 1] - i;
        const uint32_t n = left < QUERIES_AT_ONCE - 1 ? left : QUERIES_AT_ONCE - 1;
        const VkResult result = device->vk.GetQueryPoolResults(device->device, recording->queries, i + part, n + 1, sizeof ticks, ticks,
                                                               sizeof ticks[0], VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT);
        if (result != VK_SUCCESS) {
            return result;
        }
        for (uint32_t k = 0; k < n; k++) {
            nanoseconds[i + k] += (uint64_t)((double)((ticks[k + 1] - ticks[k]) & mask) * period);
        }
        i += n;
    }
    return VK_SUCCESS;
}

static qn_status check_complaints(gpu_driver_device *device, qn_status status, qn_error *err) {
    const unsigned n = atomic_exchange(&device->state->n_complaints, 0);
    if (n == 0 || status == QN_DEVICE_LOST) {
        return status;
    }
    return qn_fail(err, QN_INTERNAL, "the validation layer told of %u errors; the log has them", n);
}

qn_status vk_run(gpu_driver_device *device, gpu_recording *recording, uint64_t *nanoseconds, qn_error *err) {
    const bool timed = nanoseconds != NULL && recording->queries != VK_NULL_HANDLE;
    qn_status status = recording->n > 0 ? QN_OK : qn_fail(err, QN_INTERNAL, "an empty recording is run");
    if (status == QN_OK && timed && !recording->is_timed) {
        status = vk_record_parts(device, recording, true, err);
        recording->is_timed = status == QN_OK;
    }
    const uint64_t begin = device->host->time_ns(device->host->ctx);
    status = status == QN_OK ? submit_parts(device, recording, timed, err) : status;
    if (status == QN_OK) {
        adapt(recording, device->host->time_ns(device->host->ctx) - begin);
    }
    for (uint32_t part = 0; status == QN_OK && timed && part < recording->n_parts; part++) {
        const VkResult result = read_times(device, recording, part, nanoseconds);
        status = result == VK_SUCCESS ? QN_OK : vk_fail(device, err, result, "vkGetQueryPoolResults");
    }
    return check_complaints(device, status, err);
}
