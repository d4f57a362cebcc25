/* fiber.cpp — fibers: by hand on x86-64, with ucontext elsewhere. AddressSanitizer is told of each change of stacks. */
#include "fiber.h"

#include <sys/mman.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

static const uint64_t stack_bytes = 256 * 1024; /* touched pages only are real */

char *fiber_stack_new() {
    void *stack = mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return stack == MAP_FAILED ? nullptr : static_cast<char *>(stack);
}

/* --- What AddressSanitizer is told ------------------------------------------------------------------------------------------------ */

#if defined(__SANITIZE_ADDRESS__)
/* Of the thread itself, which is told when it is left for the first time. Fibers come and go only from there. */
static thread_local const void *thread_stack;
static thread_local size_t thread_stack_bytes;

static void *tell_leaving(const fiber *to) {
    void *fake = nullptr;
    __sanitizer_start_switch_fiber(&fake, to->stack != nullptr ? to->stack : thread_stack, to->stack != nullptr ? stack_bytes : thread_stack_bytes);
    return fake;
}

static void tell_arrival(bool is_fiber, void *fake) {
    __sanitizer_finish_switch_fiber(fake, is_fiber ? &thread_stack : nullptr, is_fiber ? &thread_stack_bytes : nullptr);
}

/* A fiber goes without returning from its functions, and somebody else gets its stack. */
static void tell_stack_is_free(char *stack) {
    __asan_unpoison_memory_region(stack, stack_bytes);
}
#else
static void tell_stack_is_free(char *) {}
static void *tell_leaving(const fiber *) { return nullptr; }
static void tell_arrival(bool, void *) {}
#endif

void fiber_stack_free(char *stack) {
    tell_stack_is_free(stack); /* for whoever gets these pages next */
    munmap(stack, stack_bytes);
}

extern "C" [[noreturn]] void emu_fiber_arrive(void (*entry)(void *), void *argument);

/* The first function on a new stack. */
void emu_fiber_arrive(void (*entry)(void *), void *argument) {
    tell_arrival(true, nullptr);
    entry(argument);
    __builtin_trap();
}

/* --- The change itself -------------------------------------------------------------------------------------------------------------- */

#if FIBER_UCONTEXT

static void start(unsigned entry_low, unsigned entry_high, unsigned argument_low, unsigned argument_high) {
    const uint64_t entry = static_cast<uint64_t>(entry_high) << 32 | entry_low;
    const uint64_t argument = static_cast<uint64_t>(argument_high) << 32 | argument_low;
    emu_fiber_arrive(reinterpret_cast<void (*)(void *)>(entry), reinterpret_cast<void *>(argument));
}

void fiber_begin(fiber *self, char *stack, void (*entry)(void *), void *argument) {
    const uint64_t e = reinterpret_cast<uint64_t>(entry), a = reinterpret_cast<uint64_t>(argument);
    self->stack = stack;
    tell_stack_is_free(stack);
    getcontext(&self->context);
    self->context.uc_stack.ss_sp = stack;
    self->context.uc_stack.ss_size = stack_bytes;
    self->context.uc_link = nullptr;
    makecontext(&self->context, reinterpret_cast<void (*)()>(start), 4, static_cast<unsigned>(e), static_cast<unsigned>(e >> 32),
                static_cast<unsigned>(a), static_cast<unsigned>(a >> 32));
}

static void change_stacks(fiber *from, fiber *to) {
    swapcontext(&from->context, &to->context);
}

#else

/* Saves what a call must keep, changes the stack and comes back on the other side. */
extern "C" void emu_fiber_swap(void **save, void *load);
__asm__(".text\n"
        ".type emu_fiber_swap, @function\n"
        "emu_fiber_swap:\n"
        "    pushq %rbp\n    pushq %rbx\n    pushq %r12\n    pushq %r13\n    pushq %r14\n    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    popq %r15\n    popq %r14\n    popq %r13\n    popq %r12\n    popq %rbx\n    popq %rbp\n"
        "    ret\n"
        ".size emu_fiber_swap, . - emu_fiber_swap\n");

/* Where a new fiber arrives: its entry was left in r12, the argument in r13. */
extern "C" void emu_fiber_start();
__asm__(".text\n"
        ".type emu_fiber_start, @function\n"
        "emu_fiber_start:\n"
        "    movq %r12, %rdi\n"
        "    movq %r13, %rsi\n"
        "    callq emu_fiber_arrive@PLT\n"
        "    ud2\n"
        ".size emu_fiber_start, . - emu_fiber_start\n");

void fiber_begin(fiber *self, char *stack, void (*entry)(void *), void *argument) {
    void **top = reinterpret_cast<void **>(stack + stack_bytes) - 9;
    tell_stack_is_free(stack);
    top[0] = nullptr;                                      /* r15 */
    top[1] = nullptr;                                      /* r14 */
    top[2] = argument;                                     /* r13 */
    top[3] = reinterpret_cast<void *>(entry);              /* r12 */
    top[4] = nullptr;                                      /* rbx */
    top[5] = nullptr;                                      /* rbp */
    top[6] = reinterpret_cast<void *>(emu_fiber_start);    /* where ret goes, with the stack at a multiple of 16 */
    self->stack = stack;
    self->top = top;
}

static void change_stacks(fiber *from, fiber *to) {
    emu_fiber_swap(&from->top, to->top);
}

#endif

void fiber_switch(fiber *from, fiber *to) {
    void *const fake = tell_leaving(to);
    change_stacks(from, to);
    tell_arrival(from->stack != nullptr, fake);
}
