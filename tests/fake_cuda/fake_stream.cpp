/* fake_stream.cpp — streams that do their work later, on a thread of their own, in order; and events in them. */
#include "fake_state.h"

#include <chrono>
#include <cstring>

static void run_stream(cu_stream stream) {
    std::unique_lock<std::mutex> hold(stream->lock);
    for (;;) {
        stream->changed.wait(hold, [stream] { return stream->is_ending || !stream->work.empty(); });
        if (stream->work.empty()) {
            return;
        }
        const std::function<cu_result()> work = std::move(stream->work.front());
        stream->work.pop_front();
        stream->is_busy = true;
        hold.unlock();
        const cu_result result = work();
        if (result != CU_OK) {
            fake_lose(result);
        }
        hold.lock();
        stream->is_busy = false;
        stream->changed.notify_all();
    }
}

void fake_submit(cu_stream stream, std::function<cu_result()> work) {
    std::lock_guard<std::mutex> hold(stream->lock);
    stream->work.push_back(std::move(work));
    stream->changed.notify_all();
}

cu_result cuStreamCreate(cu_stream *stream, uint32_t flags) {
    FAKE_ENTER(true);
    if (flags > CU_STREAM_NON_BLOCKING) {
        return CU_INVALID_VALUE;
    }
    *stream = new cu_stream_;
    (*stream)->thread = std::thread(run_stream, *stream);
    fake_count(1);
    return CU_OK;
}

cu_result cuStreamDestroy_v2(cu_stream stream) {
    {
        std::lock_guard<std::mutex> hold(stream->lock);
        stream->is_ending = true;
        stream->changed.notify_all();
    }
    stream->thread.join();
    delete stream;
    fake_count(-1);
    return CU_OK;
}

cu_result cuStreamSynchronize(cu_stream stream) {
    FAKE_ENTER(true);
    std::unique_lock<std::mutex> hold(stream->lock);
    stream->changed.wait(hold, [stream] { return stream->work.empty() && !stream->is_busy; });
    hold.unlock();
    return fake_lost();
}

/* --- Events ----------------------------------------------------------------------------------------------------------- */

struct cu_event_ {
    std::mutex lock;
    std::condition_variable changed;
    uint64_t n_pending = 0;
    std::chrono::steady_clock::time_point time;
};

cu_result cuEventCreate(cu_event *event, uint32_t flags) {
    FAKE_ENTER(true);
    if (flags != CU_EVENT_DEFAULT) {
        return CU_INVALID_VALUE;
    }
    *event = new cu_event_;
    fake_count(1);
    return CU_OK;
}

cu_result cuEventDestroy_v2(cu_event event) {
    delete event;
    fake_count(-1);
    return CU_OK;
}

cu_result cuEventRecord(cu_event event, cu_stream stream) {
    FAKE_ENTER(true);
    {
        std::lock_guard<std::mutex> hold(event->lock);
        event->n_pending++;
    }
    fake_submit(stream, [event] {
        std::lock_guard<std::mutex> hold(event->lock);
        event->time = std::chrono::steady_clock::now();
        event->n_pending--;
        event->changed.notify_all();
        return static_cast<cu_result>(CU_OK);
    });
    return CU_OK;
}

cu_result cuEventSynchronize(cu_event event) {
    FAKE_ENTER(true);
    std::unique_lock<std::mutex> hold(event->lock);
    event->changed.wait(hold, [event] { return event->n_pending == 0; });
    hold.unlock();
    return fake_lost();
}

cu_result cuEventElapsedTime(float *milliseconds, cu_event begin, cu_event end) {
    FAKE_ENTER(true);
    std::scoped_lock hold(begin->lock, end->lock);
    if (begin->n_pending > 0 || end->n_pending > 0) {
        return CU_NOT_READY;
    }
    *milliseconds = std::chrono::duration<float, std::milli>(end->time - begin->time).count();
    return CU_OK;
}

/* --- Copies ----------------------------------------------------------------------------------------------------------- */

cu_result cuMemcpyHtoDAsync_v2(cu_address to, const void *from, size_t bytes, cu_stream stream) {
    FAKE_ENTER(true);
    if (!fake_is_pinned(from, bytes)) {
        return CU_INVALID_VALUE;
    }
    fake_submit(stream, [=] {
        uint64_t room = 0;
        char *target = fake_find(to, &room);
        if (fake_lost() != CU_OK || target == nullptr || room < bytes) {
            return fake_lost() != CU_OK ? fake_lost() : static_cast<cu_result>(CU_ILLEGAL_ADDRESS);
        }
        std::memcpy(target, from, bytes);
        return static_cast<cu_result>(CU_OK);
    });
    return CU_OK;
}

cu_result cuMemcpyDtoHAsync_v2(void *to, cu_address from, size_t bytes, cu_stream stream) {
    FAKE_ENTER(true);
    if (!fake_is_pinned(to, bytes)) {
        return CU_INVALID_VALUE;
    }
    fake_submit(stream, [=] {
        uint64_t room = 0;
        const char *source = fake_find(from, &room);
        if (fake_lost() != CU_OK || source == nullptr || room < bytes) {
            return fake_lost() != CU_OK ? fake_lost() : static_cast<cu_result>(CU_ILLEGAL_ADDRESS);
        }
        std::memcpy(to, source, bytes);
        return static_cast<cu_result>(CU_OK);
    });
    return CU_OK;
}

/* One end of a copy, as host memory; null when there is nothing. */
static char *end_of_copy(uint32_t type, const void *host, cu_address device, uint64_t bytes) {
    uint64_t room = 0;
    if (type == CU_MEMORY_HOST) {
        return fake_is_pinned(host, bytes) ? const_cast<char *>(static_cast<const char *>(host)) : nullptr;
    }
    char *data = type == CU_MEMORY_DEVICE ? fake_find(device, &room) : nullptr;
    return room < bytes ? nullptr : data;
}

cu_result fake_copy(const cu_copy &copy) {
    const uint64_t bytes = copy.width_bytes;
    const char *from = end_of_copy(copy.from_type, copy.from_host, copy.from_device, bytes);
    char *to = end_of_copy(copy.to_type, copy.to_host, copy.to_device, bytes);
    if (from == nullptr || to == nullptr) {
        return CU_ILLEGAL_ADDRESS;
    }
    if (from < to + bytes && to < from + bytes) {
        return CU_INVALID_VALUE; /* the contract has no overlapping copies */
    }
    std::memcpy(to, from, bytes);
    return CU_OK;
}

cu_result cuMemcpy3DAsync_v2(const cu_copy *copy, cu_stream stream) {
    FAKE_ENTER(true);
    if (copy->height != 1 || copy->depth != 1 || copy->width_bytes == 0) {
        return CU_INVALID_VALUE;
    }
    fake_submit(stream, [own = *copy] { return fake_lost() != CU_OK ? fake_lost() : fake_copy(own); });
    return CU_OK;
}
