/* gpu_fault.c — the extension quoin.test-fault/1, and the places where its faults happen. */
#include "gpu_core.h"

qn_status gpu_fault_pass(qn_device *device, uint32_t kind, qn_error *err) {
    static const struct {
        qn_status status;
        const char *text;
    } faults[GPU_FAULT_KINDS] = {
        [QN_FAULT_ALLOC] = {QN_NO_DEVICE_MEM, "device memory: this allocation was made to fail"},
        [QN_FAULT_COMPILE] = {QN_INTERNAL, "compile: this kernel was made to fail"},
        [QN_FAULT_STEP] = {QN_INTERNAL, "step: this one was made to fail"},
        [QN_FAULT_LOSE] = {QN_DEVICE_LOST, "the device was made to be lost"}};
    if (++device->events[kind] != device->fails_at[kind]) {
        return QN_OK;
    }
    device->fails_at[kind] = 0;
    return qn_fail(err, faults[kind].status, "%s", faults[kind].text);
}

qn_status gpu_run(qn_device *device, gpu_recording *recording, uint64_t *nanoseconds, qn_error *err) {
    const qn_status status = gpu_fault_pass(device, QN_FAULT_LOSE, err);
    return status == QN_OK ? gpu_the_driver.run(device->driver, recording, nanoseconds, err) : status;
}

qn_status gpu_upload(qn_device *device, gpu_memory *to, uint64_t at, const void *data, uint64_t bytes, qn_error *err) {
    const qn_status status = gpu_fault_pass(device, QN_FAULT_LOSE, err);
    return status == QN_OK ? gpu_the_driver.upload(device->driver, to, at, data, bytes, err) : status;
}

qn_status gpu_download(qn_device *device, gpu_memory *from, uint64_t at, void *data, uint64_t bytes, qn_error *err) {
    const qn_status status = gpu_fault_pass(device, QN_FAULT_LOSE, err);
    return status == QN_OK ? gpu_the_driver.download(device->driver, from, at, data, bytes, err) : status;
}

static qn_status QN_CALL arm(qn_device *device, uint32_t kind, uint64_t n, qn_error *err) {
    if (device == NULL || kind == 0 || kind >= GPU_FAULT_KINDS) {
        return qn_fail(err, QN_BAD_ARG, "arm: no device, or kind %u", kind);
    }
    const qn_status status = gpu_enter(device, err);
    if (status != QN_OK) {
        return status;
    }
    device->fails_at[kind] = n == 0 ? 0 : device->events[kind] + n;
    return gpu_leave(device, QN_OK);
}

static uint64_t QN_CALL count(qn_device *device, uint32_t kind) {
    return device == NULL || kind >= GPU_FAULT_KINDS ? 0 : device->events[kind];
}

const qn_test_fault gpu_fault_ext = {.size = sizeof gpu_fault_ext, .arm = arm, .count = count};
