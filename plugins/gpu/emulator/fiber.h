/* fiber.h — a stack of its own for each work-item, and the switch between two.
 *
 * Threading: a fiber belongs to the thread that made it. Memory: the stack is mapped by fiber_stack_new and kept by the caller.
 */
#ifndef EMULATOR_FIBER_H
#define EMULATOR_FIBER_H
#include <cstdint>

#if !defined(__x86_64__)
#define FIBER_UCONTEXT 1
#include <ucontext.h>
#else
#define FIBER_UCONTEXT 0
#endif

struct fiber {
    char *stack;             /* null for the thread's own */
#if FIBER_UCONTEXT
    ucontext_t context;
#else
    void *top;               /* saved stack pointer */
#endif
};

/* Null when there is no memory. */
char *fiber_stack_new();
void fiber_stack_free(char *stack);

/* The first switch to *self calls entry(argument) on its stack; entry never returns. */
void fiber_begin(fiber *self, char *stack, void (*entry)(void *), void *argument);
void fiber_switch(fiber *from, fiber *to);

#endif
