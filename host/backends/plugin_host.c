/* plugin_host.c — one plugin's table. */
#include "backends/plugin_host.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "backends/blob_store.h"

static uint64_t QN_CALL get_blob(void *ctx, const char *key, void *data, uint64_t room) {
    plugin_host *host = ctx;
    return blob_store_get(&host->context.services->blobs, host->scope, key, data, room);
}

static qn_status QN_CALL put_blob(void *ctx, const char *key, const void *data, uint64_t bytes) {
    plugin_host *host = ctx;
    return blob_store_put(&host->context.services->blobs, host->scope, key, data, bytes);
}

plugin_host *plugin_host_create(host_services *services, const registry_entry *entry) {
    plugin_host *host = calloc(1, sizeof *host);
    if (host == NULL) {
        return NULL;
    }
    host->context.services = services;
    host->table = services->table;
    host->table.ctx = host;
    host->table.blob_get = get_blob;
    host->table.blob_put = put_blob;
    /* Without the linker's mark of the build, the file's size and time tell builds apart. */
    if (entry->elf.build_id[0] != '\0') {
        snprintf(host->plugin, sizeof host->plugin, "%s %s", entry->name, entry->elf.build_id);
    } else {
        snprintf(host->plugin, sizeof host->plugin, "%s %" PRIu64 " %" PRId64, entry->name, entry->bytes, entry->modified_ns);
    }
    snprintf(host->scope, sizeof host->scope, "%s", host->plugin);
    return host;
}

void plugin_host_destroy(plugin_host *host) {
    free(host);
}

void plugin_host_choose_device(plugin_host *host, const qn_device_info *info) {
    snprintf(host->scope, sizeof host->scope, "%s\n%s\n%s", host->plugin, info->id, info->driver);
}
