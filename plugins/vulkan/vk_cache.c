/* vk_cache.c — the pipeline cache between runs: the driver's bytes behind a header of ours, since not every driver notices that
 * what it is given was cut short or altered.
 *
 *   0   magic  u32      8   checksum u64, FNV-1a of the driver's bytes
 *   4   zero   u32      16  the driver's bytes
 */
#include <quoin/glue.h>

#include "vk_driver.h"

#define KEY "vulkan-pipelines/1"
#define MAGIC UINT32_C(0x31434b56)
#define HEADER_BYTES 16u
#define MOST_BYTES (UINT64_C(256) << 20)

static uint64_t find_checksum(const unsigned char *data, uint64_t bytes) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (uint64_t i = 0; i < bytes; i++) {
        hash = (hash ^ data[i]) * UINT64_C(0x100000001b3);
    }
    return hash;
}

static bool is_whole(const unsigned char *blob, uint64_t bytes) {
    uint32_t magic = 0;
    uint64_t checksum = 0;
    if (bytes < HEADER_BYTES) {
        return false;
    }
    memcpy(&magic, blob, sizeof magic);
    memcpy(&checksum, blob + 8, sizeof checksum);
    return magic == MAGIC && checksum == find_checksum(blob + HEADER_BYTES, bytes - HEADER_BYTES);
}

/* What the host kept, or null; *bytes is the length with header. */
static unsigned char *get_blob(const qn_host *host, uint64_t *bytes) {
    *bytes = host->blob_get == NULL ? 0 : host->blob_get(host->ctx, KEY, NULL, 0);
    if (*bytes < HEADER_BYTES || *bytes > MOST_BYTES) {
        return NULL;
    }
    unsigned char *const blob = host->mem_alloc(host->ctx, QN_MEM_CODE, *bytes, 64);
    if (blob != NULL && (host->blob_get(host->ctx, KEY, blob, *bytes) != *bytes || !is_whole(blob, *bytes))) {
        host->mem_free(host->ctx, blob);
        return NULL;
    }
    return blob;
}

qn_status vk_cache_new(gpu_driver_device *device, qn_error *err) {
    uint64_t bytes = 0;
    unsigned char *const blob = get_blob(device->host, &bytes);
    VkPipelineCacheCreateInfo info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO};
    if (blob != NULL) {
        info.initialDataSize = bytes - HEADER_BYTES;
        info.pInitialData = blob + HEADER_BYTES;
    }
    const VkResult result = device->vk.CreatePipelineCache(device->device, &info, NULL, &device->cache);
    device->host->mem_free(device->host->ctx, blob);
    return result == VK_SUCCESS ? QN_OK : vk_fail(device, err, result, "vkCreatePipelineCache");
}

void vk_cache_save(gpu_driver_device *device) {
    const qn_host *const host = device->host;
    size_t bytes = 0;
    if (!device->cache_is_new || device->is_lost || host->blob_put == NULL ||
        device->vk.GetPipelineCacheData(device->device, device->cache, &bytes, NULL) != VK_SUCCESS || bytes > MOST_BYTES - HEADER_BYTES) {
        return;
    }
    unsigned char *const blob = host->mem_alloc(host->ctx, QN_MEM_CODE, HEADER_BYTES + bytes, 64);
    if (blob != NULL && device->vk.GetPipelineCacheData(device->device, device->cache, &bytes, blob + HEADER_BYTES) == VK_SUCCESS) {
        const uint32_t magic = MAGIC;
        const uint64_t checksum = find_checksum(blob + HEADER_BYTES, bytes);
        memcpy(blob, &magic, sizeof magic);
        memcpy(blob + 8, &checksum, sizeof checksum);
        /* Whether it is kept changes nothing but the time of the next start. */
        (void)host->blob_put(host->ctx, KEY, blob, HEADER_BYTES + bytes);
    }
    host->mem_free(host->ctx, blob);
}
