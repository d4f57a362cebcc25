/* emulator.cpp — a grid of groups of work-items, one group after the other, one item a fiber.
 *
 * Items of a group take turns: each runs until it ends or meets a barrier. When all have, they go on. Every other group is run from its
 * last item to its first, so that a missing barrier shows whichever way the data flows.
 */
#include "emulator_kernel.h"

#include "fiber.h"

#include <cstdarg>
#include <cstdio>
#include <vector>

/* The kernels, and their table in the order of kernels.def. */
#define GPU_KERNEL(NAME, source, defines, n_buffers, params, group) void emu_kernel_##NAME(emu_item &item);
#include "kernels.def"
#undef GPU_KERNEL

namespace {
typedef uint32_t uint;
#include "kernel_params.h"

struct kernel_row {
    const char *upper_name;
    emu_kernel *run;
    uint32_t n_buffers, params_bytes, group;
};

const kernel_row kernels[] = {
#define GPU_KERNEL(NAME, source, defines, n_buffers, params, group) {#NAME, emu_kernel_##NAME, n_buffers, sizeof(params), group},
#include "kernels.def"
#undef GPU_KERNEL
};
const uint32_t n_kernels = sizeof kernels / sizeof kernels[0];

enum item_phase { PHASE_NEW, PHASE_WAITS, PHASE_DONE };

struct item_slot {
    emu_item item;
    fiber own;
    item_phase phase;
    uint32_t where;          /* line of the barrier that it waits at */
};

const uint64_t shared_bytes = 64 * 1024;

} // namespace

/* What a thread keeps from launch to launch. */
struct emu_group_state {
    std::vector<item_slot> slots;
    std::vector<float> exchanged; /* [items of the group] values of a subgroup function */
    std::vector<char *> spare_stacks;
    fiber scheduler;
    emu_kernel *run;
    const char *name;
    uint32_t n_items;         /* of a group */
    item_slot *current;
    bool has_failed;
    uint32_t shared_declared; /* bytes, by the items of this group so far */
    char text[400];
    alignas(64) char shared[shared_bytes];

    emu_group_state() : scheduler(), run(nullptr), name(nullptr), n_items(0), current(nullptr), has_failed(false), shared_declared(0), text(), shared() {}
    ~emu_group_state() {
        for (char *stack : spare_stacks) {
            fiber_stack_free(stack);
        }
    }
    emu_group_state(const emu_group_state &) = delete;
    emu_group_state &operator=(const emu_group_state &) = delete;
};

void emu_item::copy_params(void *to, uint64_t bytes) {
    if (bytes != launch->n_params * UINT64_C(4)) {
        fail("has %llu bytes of parameters, the launch %u words", static_cast<unsigned long long>(bytes), launch->n_params);
    }
    std::memcpy(to, launch->params, bytes);
}

void emu_item::barrier(uint32_t where) {
    item_slot *slot = state->current;
    slot->phase = PHASE_WAITS;
    slot->where = where;
    fiber_switch(&slot->own, &state->scheduler);
}

/* Values are laid out for all to see, and not taken away before all have seen them. */
float emu_item::subgroup_add(float value, uint32_t where) {
    state->exchanged[index] = value;
    barrier(where);
    const uint32_t first = index / subgroup() * subgroup();
    float sum = 0;
    for (uint32_t i = first; i < first + subgroup() && i < state->exchanged.size(); i++) {
        sum += state->exchanged[i];
    }
    barrier(where);
    return sum;
}

void *emu_item::share(uint64_t bytes) {
    const uint64_t at = (shared_used + UINT64_C(15)) / 16 * 16;
    if (bytes > shared_bytes - at) {
        fail("wants more than %llu bytes of shared memory", static_cast<unsigned long long>(shared_bytes));
    }
    shared_used = static_cast<uint32_t>(at + bytes);
    if (shared_used > state->shared_declared) {
        /* The group's first item to come by: what nobody has written is NaN. */
        std::memset(state->shared + state->shared_declared, 0xff, shared_used - state->shared_declared);
        state->shared_declared = shared_used;
    }
    return state->shared + at;
}

void emu_item::fail(const char *format, ...) {
    va_list list;
    const int n = snprintf(state->text, sizeof state->text, "kernel %s, item %u of group %u %u %u: ", state->name, index, group[0], group[1],
                           group[2]);
    va_start(list, format);
    vsnprintf(state->text + n, sizeof state->text - static_cast<unsigned>(n), format, list);
    va_end(list);
    state->has_failed = true;
    for (;;) {
        fiber_switch(&state->current->own, &state->scheduler);
    }
}

static void run_item(void *argument) {
    emu_group_state *state = static_cast<emu_group_state *>(argument);
    for (;;) {
        item_slot *slot = state->current;
        state->run(slot->item);
        slot->phase = PHASE_DONE;
        fiber_switch(&slot->own, &state->scheduler);
    }
}

/* Lets the item run until it waits, ends or fails. */
static void resume_item(emu_group_state *state, item_slot *slot) {
    if (slot->phase == PHASE_NEW) {
        char *stack = nullptr;
        if (!state->spare_stacks.empty()) {
            stack = state->spare_stacks.back();
            state->spare_stacks.pop_back();
        } else {
            stack = fiber_stack_new();
        }
        if (stack == nullptr) {
            snprintf(state->text, sizeof state->text, "kernel %s: no memory for the stack of a work-item", state->name);
            state->has_failed = true;
            return;
        }
        fiber_begin(&slot->own, stack, run_item, state);
    }
    state->current = slot;
    fiber_switch(&state->scheduler, &slot->own);
    if (slot->phase == PHASE_DONE || state->has_failed) {
        state->spare_stacks.push_back(slot->own.stack);
        slot->own.stack = nullptr;
    }
}

/* False when the group is done. All items wait at one barrier, or all have ended; anything else is an error. */
static bool is_waiting(emu_group_state *state, uint32_t n) {
    uint32_t n_waiting = 0, first = n;
    for (uint32_t i = 0; i < n; i++) {
        if (state->slots[i].phase == PHASE_WAITS) {
            n_waiting++;
            first = first == n ? i : first;
        }
    }
    for (uint32_t i = 0; i < n && n_waiting > 0; i++) {
        const item_slot &slot = state->slots[i];
        if (slot.phase != PHASE_WAITS || slot.where != state->slots[first].where) {
            const int n_text = snprintf(state->text, sizeof state->text, "kernel %s, group %u %u %u: item %u waits at the barrier of line %u, item %u ",
                                        state->name, slot.item.group[0], slot.item.group[1], slot.item.group[2], first,
                                        state->slots[first].where, i);
            char *rest = state->text + n_text;
            const size_t room = sizeof state->text - static_cast<size_t>(n_text);
            if (slot.phase == PHASE_DONE) {
                snprintf(rest, room, "has ended");
            } else {
                snprintf(rest, room, "waits at that of line %u", slot.where);
            }
            state->has_failed = true;
            return false;
        }
    }
    return n_waiting > 0;
}

static void drop_stacks(emu_group_state *state, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        if (state->slots[i].own.stack != nullptr) {
            state->spare_stacks.push_back(state->slots[i].own.stack);
            state->slots[i].own.stack = nullptr;
        }
    }
}

static void run_group(emu_group_state *state, const emu_launch *launch, const uint32_t group[3], bool is_backward) {
    const uint32_t n = state->n_items;
    state->shared_declared = 0;
    for (uint32_t i = 0; i < n; i++) {
        item_slot &slot = state->slots[i];
        slot.item = emu_item{i, {group[0], group[1], group[2]}, {launch->grid[0], launch->grid[1], launch->grid[2]}, launch, state, 0};
        slot.phase = PHASE_NEW;
        slot.own.stack = nullptr;
    }
    do {
        for (uint32_t i = 0; i < n && !state->has_failed; i++) {
            resume_item(state, &state->slots[is_backward ? n - 1 - i : i]);
        }
    } while (!state->has_failed && is_waiting(state, n));
    drop_stacks(state, n);
}

static int check_launch(const emu_launch *launch, char *text, uint64_t room) {
    if (launch->kernel >= n_kernels) {
        snprintf(text, room, "there is no kernel %u of %u", launch->kernel, n_kernels);
        return -1;
    }
    const kernel_row *row = &kernels[launch->kernel];
    if (launch->n_buffers != row->n_buffers || launch->n_params * sizeof(uint32_t) != row->params_bytes) {
        snprintf(text, room, "kernel %s has %u buffers and %u bytes of parameters, the launch %u and %u words", row->upper_name, row->n_buffers,
                 row->params_bytes, launch->n_buffers, launch->n_params);
        return -1;
    }
    for (uint32_t b = 0; b < launch->n_buffers; b++) {
        if (reinterpret_cast<uintptr_t>(launch->buffers[b].data) % 4 != 0 || launch->buffers[b].bytes < 4) {
            snprintf(text, room, "kernel %s: binding %u is not at a multiple of 4, or has fewer than 4 bytes", row->upper_name, b);
            return -1;
        }
    }
    return 0;
}

int emu_run_as(emu_kernel *run, const char *name, uint32_t n_items, const emu_launch *launch, char *text, uint64_t room) {
    static thread_local emu_group_state state;
    state.run = run;
    state.name = name;
    state.n_items = n_items;
    state.has_failed = false;
    state.exchanged.resize(n_items);
    if (state.slots.size() < n_items) {
        state.slots.resize(n_items);
    }
    for (uint32_t z = 0; z < launch->grid[2]; z++) {
        for (uint32_t y = 0; y < launch->grid[1]; y++) {
            for (uint32_t x = 0; x < launch->grid[0] && !state.has_failed; x++) {
                const uint32_t group[3] = {x, y, z};
                run_group(&state, launch, group, (x + y + z) % 2 != 0);
            }
        }
    }
    if (state.has_failed) {
        snprintf(text, room, "%s", state.text);
        return -1;
    }
    return 0;
}

int emu_run(const emu_launch *launch, char *text, uint64_t room) {
    if (check_launch(launch, text, room) != 0) {
        return -1;
    }
    const kernel_row *row = &kernels[launch->kernel];
    return emu_run_as(row->run, row->upper_name, row->group, launch, text, room);
}

uint32_t emu_n_kernels(void) {
    return n_kernels;
}

/* Names are the table's in small letters. */
static bool is_named(const kernel_row *row, const char *name) {
    const char *upper = row->upper_name;
    for (; *upper != '\0' && *name != '\0'; upper++, name++) {
        const char lower = *upper >= 'A' && *upper <= 'Z' ? static_cast<char>(*upper - 'A' + 'a') : *upper;
        if (lower != *name) {
            return false;
        }
    }
    return *upper == *name;
}

uint32_t emu_find(const char *name) {
    for (uint32_t i = 0; i < n_kernels; i++) {
        if (is_named(&kernels[i], name)) {
            return i;
        }
    }
    return UINT32_MAX;
}

uint32_t emu_group(uint32_t kernel) {
    return kernels[kernel].group;
}

uint32_t emu_n_buffers(uint32_t kernel) {
    return kernels[kernel].n_buffers;
}

uint32_t emu_n_params(uint32_t kernel) {
    return kernels[kernel].params_bytes / 4;
}
