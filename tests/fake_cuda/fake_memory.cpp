/* fake_memory.cpp — device memory at addresses where the process has nothing, and host memory that the device reaches too. */
#include "fake_state.h"

#include <cstdlib>
#include <cstring>

namespace {

enum owner { OWNER_DEVICE, OWNER_HOST, OWNER_REGISTERED };

struct allocation {
    uint64_t bytes;
    char *data;
    owner kind;
};

const cu_address first_address = UINT64_C(0x0000f00000000000); /* beyond what a process of 47 bits can map */
const uint64_t gap_bytes = 4096;

struct memory_table {
    std::map<cu_address, allocation> by_address;
    cu_address next = first_address;
    uint64_t taken = 0;          /* of the device */
};

memory_table &table() {
    static memory_table *const the_table = new memory_table;
    return *the_table;
}

/* Enters what lies at `data`; the lock is held. */
cu_address add(char *data, uint64_t bytes, owner kind) {
    const cu_address address = table().next;
    table().next += (bytes + gap_bytes + 511) / 512 * 512;
    table().by_address[address] = allocation{bytes, data, kind};
    world().n_live++;
    return address;
}

std::map<cu_address, allocation>::iterator find_host(const void *host, owner kind) {
    auto at = table().by_address.begin();
    while (at != table().by_address.end() && (at->second.data != host || at->second.kind != kind)) {
        ++at;
    }
    return at;
}

char *take_bytes(uint64_t bytes) {
    char *data = static_cast<char *>(aligned_alloc(64, (bytes + 63) / 64 * 64));
    if (data != nullptr) {
        std::memset(data, 0xff, bytes); /* NaN, so that nobody takes it for zeros */
    }
    return data;
}

} // namespace

char *fake_find(cu_address address, uint64_t *bytes) {
    std::lock_guard<std::mutex> hold(world().lock);
    auto at = table().by_address.upper_bound(address);
    if (at == table().by_address.begin()) {
        return nullptr;
    }
    --at;
    const uint64_t offset = address - at->first;
    if (offset >= at->second.bytes) {
        return nullptr;
    }
    *bytes = at->second.bytes - offset;
    return at->second.data + offset;
}

bool fake_is_pinned(const void *host, uint64_t bytes) {
    std::lock_guard<std::mutex> hold(world().lock);
    const char *begin = static_cast<const char *>(host);
    for (const auto &row : table().by_address) {
        const allocation &a = row.second;
        const char *end = a.data + a.bytes;
        if (a.kind != OWNER_DEVICE && begin >= a.data && begin < end && bytes <= static_cast<uint64_t>(end - begin)) {
            return true;
        }
    }
    return false;
}

cu_result cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes) {
    FAKE_ENTER(true);
    std::lock_guard<std::mutex> hold(world().lock);
    *total_bytes = world().settings.memory_bytes;
    *free_bytes = *total_bytes - table().taken;
    return CU_OK;
}

cu_result cuMemAlloc_v2(cu_address *address, size_t bytes) {
    FAKE_ENTER(true);
    std::lock_guard<std::mutex> hold(world().lock);
    if (bytes == 0) {
        return CU_INVALID_VALUE;
    }
    char *data = bytes > world().settings.memory_bytes - table().taken ? nullptr : take_bytes(bytes);
    if (data == nullptr) {
        return CU_OUT_OF_MEMORY;
    }
    table().taken += bytes;
    *address = add(data, bytes, OWNER_DEVICE);
    return CU_OK;
}

cu_result cuMemFree_v2(cu_address address) {
    std::lock_guard<std::mutex> hold(world().lock);
    const auto at = table().by_address.find(address);
    if (at == table().by_address.end() || at->second.kind != OWNER_DEVICE) {
        return CU_INVALID_VALUE;
    }
    table().taken -= at->second.bytes;
    free(at->second.data);
    table().by_address.erase(at);
    world().n_live--;
    return CU_OK;
}

cu_result cuMemHostAlloc(void **host, size_t bytes, uint32_t flags) {
    FAKE_ENTER(true);
    std::lock_guard<std::mutex> hold(world().lock);
    char *data = bytes == 0 || (flags & ~7u) != 0 ? nullptr : take_bytes(bytes);
    if (data == nullptr) {
        return CU_INVALID_VALUE;
    }
    add(data, bytes, OWNER_HOST);
    *host = data;
    return CU_OK;
}

cu_result cuMemFreeHost(void *host) {
    std::lock_guard<std::mutex> hold(world().lock);
    const auto at = find_host(host, OWNER_HOST);
    if (at == table().by_address.end()) {
        return CU_INVALID_VALUE;
    }
    free(host);
    table().by_address.erase(at);
    world().n_live--;
    return CU_OK;
}

cu_result cuMemHostRegister_v2(void *host, size_t bytes, uint32_t flags) {
    FAKE_ENTER(true);
    std::lock_guard<std::mutex> hold(world().lock);
    char *data = static_cast<char *>(host);
    if (!world().settings.is_integrated || (flags & CU_HOST_REGISTER_READ_ONLY) == 0) {
        return CU_NOT_SUPPORTED;
    }
    for (const auto &row : table().by_address) {
        const allocation &a = row.second;
        if (a.kind != OWNER_DEVICE && data < a.data + a.bytes && a.data < data + bytes) {
            return CU_HOST_MEMORY_ALREADY_REGISTERED;
        }
    }
    add(data, bytes, OWNER_REGISTERED);
    return CU_OK;
}

cu_result cuMemHostUnregister(void *host) {
    std::lock_guard<std::mutex> hold(world().lock);
    const auto at = find_host(host, OWNER_REGISTERED);
    if (at == table().by_address.end()) {
        return CU_INVALID_VALUE;
    }
    table().by_address.erase(at);
    world().n_live--;
    return CU_OK;
}

cu_result cuMemHostGetDevicePointer_v2(cu_address *address, void *host, uint32_t flags) {
    FAKE_ENTER(true);
    std::lock_guard<std::mutex> hold(world().lock);
    for (const owner kind : {OWNER_HOST, OWNER_REGISTERED}) {
        const auto at = find_host(host, kind);
        if (at != table().by_address.end() && flags == 0) {
            *address = at->first;
            return CU_OK;
        }
    }
    return CU_INVALID_VALUE;
}
