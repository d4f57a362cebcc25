/* fake_state.h — what the files of the fake driver library share.
 *
 *   fake_device.cpp   cuInit, devices, contexts, and failures that were asked for      fake_stream.cpp   streams with a thread each, events
 *   fake_memory.cpp   device memory in an address space of its own, host memory         fake_graph.cpp    modules, launches, graphs
 *
 * Threading: one lock around all tables; work of a stream runs on that stream's thread without it.
 */
#ifndef FAKE_STATE_H
#define FAKE_STATE_H
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "cuda_api.h"
#include "fake_cuda.h"
#include "shim_kernels.h"

extern "C" {
#define CU_FUNCTION(member, symbol, arguments) cu_result symbol arguments;
#include "cuda_api.def"
#undef CU_FUNCTION
}

/* --- fake_device.cpp -------------------------------------------------------------------------------------------------- */

struct fake_settings {
    int capability = 90, n_devices = 1, version = 13000;
    bool is_integrated = false;
    uint64_t memory_bytes = UINT64_C(2) << 30;
    std::string fail_name;
    uint64_t fail_at = 0, lost_at = 0;
    cu_result fail_code = CU_OUT_OF_MEMORY;
};

struct fake_world {
    std::mutex lock;
    bool is_started = false;
    fake_settings settings;
    uint64_t n_fail_calls = 0;   /* calls of settings.fail_name so far */
    uint64_t n_live = 0;
    int n_retained = 0;
    cu_result lost = CU_OK;      /* the context's last word */
    uint64_t n_launches = 0;
    uint64_t hook_at = 0;
    void (*hook)(void *) = nullptr;
    void *hook_argument = nullptr;
};
fake_world &world();

/* First line of every entry point: CU_OK, or what this call is to fail with. needs_context: one must be current on this thread. */
cu_result fake_enter(const char *function, bool needs_context);
#define FAKE_ENTER(needs_context) \
    do { \
        const cu_result refusal_ = fake_enter(__func__, needs_context); \
        if (refusal_ != CU_OK) { \
            return refusal_; \
        } \
    } while (0)

void fake_count(int more);
void fake_lose(cu_result result);
cu_result fake_lost();

/* --- fake_memory.cpp -------------------------------------------------------------------------------------------------- */

/* Where the byte really lies, and how many follow in its allocation; null for an address that nobody was given. */
char *fake_find(cu_address address, uint64_t *bytes);
/* Is this memory page-locked? */
bool fake_is_pinned(const void *host, uint64_t bytes);

/* --- fake_stream.cpp -------------------------------------------------------------------------------------------------- */

struct cu_stream_ {
    std::thread thread;
    std::mutex lock;
    std::condition_variable changed;
    std::deque<std::function<cu_result()>> work;
    bool is_busy = false, is_ending = false;
};
/* Takes effect later; what comes behind a failure is dropped. */
void fake_submit(cu_stream stream, std::function<cu_result()> work);

/* --- fake_graph.cpp --------------------------------------------------------------------------------------------------- */

/* One copy that may run, with both ends checked. */
cu_result fake_copy(const cu_copy &copy);

#endif
