/* emulator_kernel.h — what the prelude of the emulator is made of: an item's view of its launch, buffers and shared arrays.
 *
 * Every access checks its place; the first wrong one ends the launch with a message.
 */
#ifndef EMULATOR_KERNEL_H
#define EMULATOR_KERNEL_H
#include "emulator.h"

#include <cstdint>
#include <cstring>

struct emu_group_state;

struct emu_item {
    uint32_t index;          /* in the group */
    uint32_t group[3], grid[3];
    const emu_launch *launch;
    emu_group_state *state;
    uint32_t shared_used;    /* bytes of shared memory that this item has declared */

    void copy_params(void *to, uint64_t bytes);
    /* Waits for all other items of the group. where: the source's line, the same for all. */
    void barrier(uint32_t where);
    /* Work-items of a subgroup: neighbours. */
    uint32_t subgroup() const { return launch->subgroup != 0 ? launch->subgroup : EMU_SUBGROUP; }
    /* The sum of `value` over the item's subgroup, the same for all of it. where: as for barrier. */
    float subgroup_add(float value, uint32_t where);
    /* The next bytes of the group's shared memory. */
    void *share(uint64_t bytes);
    /* Ends the launch; does not return. */
    [[noreturn]] void fail(const char *format, ...) __attribute__((format(printf, 2, 3)));
};

typedef void emu_kernel(emu_item &item);

/* Runs a kernel that is not in kernels.def (launch->kernel is not looked at) in groups of n_items; else as emu_run. */
int emu_run_as(emu_kernel *run, const char *name, uint32_t n_items, const emu_launch *launch, char *text, uint64_t room);

template <typename to_type, typename from_type> static inline to_type emu_bits(from_type from) {
    static_assert(sizeof(to_type) == sizeof(from_type), "bits are kept");
    to_type to;
    std::memcpy(&to, &from, sizeof to);
    return to;
}

/* Four products of signed bytes, added to c. */
static inline int32_t emu_dot4(uint32_t a, uint32_t b, int32_t c) {
    for (uint32_t i = 0; i < 4; i++) {
        c += static_cast<int8_t>(a >> 8 * i) * static_cast<int8_t>(b >> 8 * i);
    }
    return c;
}

class emu_buffer {
public:
    emu_buffer(emu_item &item, uint32_t n, const char *name, bool is_written)
        : item_(item), data_(static_cast<char *>(item.launch->buffers[n].data)), bytes_(item.launch->buffers[n].bytes), name_(name),
          is_written_(is_written) {}

    template <typename unit> unit load(uint32_t i) const {
        unit value;
        std::memcpy(&value, find(i, sizeof value, "reads"), sizeof value);
        return value;
    }

    template <typename unit> void store(uint32_t i, unit value) const {
        if (!is_written_) {
            item_.fail("stores to buffer %s, which it only reads", name_);
        }
        std::memcpy(find(i, sizeof value, "writes"), &value, sizeof value);
    }

private:
    char *find(uint32_t i, uint64_t unit_bytes, const char *verb) const {
        if (i >= bytes_ / unit_bytes) {
            item_.fail("%s unit %u of %u bytes of buffer %s, which has %llu bytes", verb, i, static_cast<unsigned>(unit_bytes), name_,
                       static_cast<unsigned long long>(bytes_));
        }
        return data_ + i * unit_bytes;
    }

    emu_item &item_;
    char *data_;
    uint64_t bytes_;
    const char *name_;
    bool is_written_;
};

template <typename type> class emu_shared {
public:
    emu_shared(emu_item &item, const char *name, uint32_t n)
        : item_(item), data_(static_cast<type *>(item.share(n * sizeof(type)))), name_(name), n_(n) {}

    type &operator[](uint32_t i) const {
        if (i >= n_) {
            item_.fail("uses element %u of shared array %s, which has %u", i, name_, n_);
        }
        return data_[i];
    }

private:
    emu_item &item_;
    type *data_;
    const char *name_;
    uint32_t n_;
};

#endif
