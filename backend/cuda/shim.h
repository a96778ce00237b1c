// Runs CUDA C text on the CPU: include this file before the text and compile with g++ (C++14).
//
// The threads of a block run as fibers, one at a time, in an order that the caller chooses; a
// barrier is a switch to the next thread. Blocks run one after another. A race between threads
// therefore shows as a result that changes with the order, or, in a build with -fsanitize=thread,
// as a report: the sanitizer sees each thread as a separate fiber, and only barriers (and the ends
// of a block) order two threads.
//
// It adds to the text's meaning, to make mistakes visible:
//   - shared memory is filled with 0xFF (NaN in every float) before each block;
//   - a barrier that only some threads of a block reach is an error with a message;
//   - in hardened text, an access outside of the obtained memory ends the launch.
// It leaves out warps, textures, constant memory, and blocks that race.
#pragma once

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
// The scheduler itself must be invisible to the thread sanitizer, which would otherwise report the
// scheduler's own data that all fibers share.
#define SHIM_QUIET __attribute__((no_sanitize_thread, noinline))
#else
#define SHIM_QUIET
#endif

// ---- Words of the language --------------------------------------------------------------------

#define __global__
#define __device__
#define __host__
#define __launch_bounds__(...)
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __align__(n) __attribute__((aligned(n)))
// A separate section gives shared memory a beginning and an end, which poisoning needs.
#define __shared__ static __attribute__((section("shim_shared"), aligned(16)))
#define DYNAMIC_SHARED(name) unsigned char* const name = shim::dynamic_shared
#define __syncthreads() shim::barrier(__COUNTER__, __LINE__)
#define threadIdx (shim::index_of_thread())
#define blockIdx (shim::block_index)
#define blockDim (shim::block_dim)
#define gridDim (shim::grid_dim)

#define CHECKED(type, name, memory, bytes, buffer) \
    const shim::Checked<type> name = {memory, (long long)(bytes), buffer}
#define GIVEN_BYTES(argument) (shim::launch->nbytes[argument])
// The existing bytes of a part of the dynamic shared memory.
#define PART_BYTES(start, bytes) \
    ((start) + (bytes) <= shim::launch->dynamic_shared_bytes \
         ? (long long)(bytes) \
         : (long long)shim::launch->dynamic_shared_bytes - (long long)(start))
#define POISONED(array) memset(array, 0xFF, sizeof array)

extern "C" char __start_shim_shared[] __attribute__((weak, visibility("hidden")));
extern "C" char __stop_shim_shared[] __attribute__((weak, visibility("hidden")));

namespace shim {

struct Index {
    unsigned x, y, z;
};

enum Order : int { FORWARD = 0, REVERSE = 1, SHUFFLED = 2 };

// One launch. `entry` calls the kernel with `arguments`.
struct Launch {
    const char* kernel;
    void (*entry)(void** arguments);
    Index grid, block;
    unsigned dynamic_shared_bytes;
    int order;
    uint64_t seed;
    void** arguments;
    const uint64_t* nbytes;  // the size of each argument's memory
};

static Index thread_index, block_index, block_dim, grid_dim;
static unsigned char* dynamic_shared;

#if defined(__SANITIZE_THREAD__)
SHIM_QUIET static Index index_of_thread() { return thread_index; }
#else
static inline const Index& index_of_thread() { return thread_index; }
#endif

// ---- Fibers -----------------------------------------------------------------------------------

constexpr size_t stack_bytes = 256 * 1024;
constexpr size_t guard_bytes = 64 * 1024;  // a multiple of every page size in use
constexpr unsigned max_threads = 1024;

struct Fiber {
    void* stack_pointer;
    const void* stack_low;
    size_t stack_size;
    void* fake_stack;  // of the address sanitizer
    void* sanitizer;   // of the thread sanitizer
};

SHIM_QUIET static void fiber_main();

#if defined(__x86_64__) && !defined(SHIM_UCONTEXT)
// Saves the registers that the System V ABI keeps across a call, then continues where `to` stopped.
extern "C" void shim_switch(void** from, void* to) __attribute__((visibility("hidden")));
asm(".text\n"
    ".type shim_switch, @function\n"
    "shim_switch:\n"
    "    pushq %rbp\n    pushq %rbx\n    pushq %r12\n"
    "    pushq %r13\n    pushq %r14\n    pushq %r15\n"
    "    movq %rsp, (%rdi)\n"
    "    movq %rsi, %rsp\n"
    "    popq %r15\n    popq %r14\n    popq %r13\n"
    "    popq %r12\n    popq %rbx\n    popq %rbp\n"
    "    ret\n"
    ".size shim_switch, .-shim_switch\n");

SHIM_QUIET static void prepare_stack(Fiber& fiber, unsigned) {
    uintptr_t top = (uintptr_t)fiber.stack_low + fiber.stack_size;
    void** stack = (void**)(top - 56);  // 8 before a multiple of 16, as behind a call
    stack[0] = nullptr;                 // fiber_main never returns
    *--stack = (void*)&fiber_main;
    stack -= 6;  // the saved registers
    memset(stack, 0, 6 * sizeof(void*));
    fiber.stack_pointer = stack;
}

SHIM_QUIET static inline void switch_stack(Fiber& from, Fiber& to) {
    shim_switch(&from.stack_pointer, to.stack_pointer);
}
#else
#include <ucontext.h>
static ucontext_t contexts[max_threads + 1];

SHIM_QUIET static void prepare_stack(Fiber& fiber, unsigned number) {
    ucontext_t* context = &contexts[number];
    getcontext(context);
    context->uc_stack.ss_sp = (void*)fiber.stack_low;
    context->uc_stack.ss_size = fiber.stack_size;
    context->uc_link = nullptr;
    makecontext(context, fiber_main, 0);
    fiber.stack_pointer = context;
}

SHIM_QUIET static inline void switch_stack(Fiber& from, Fiber& to) {
    swapcontext((ucontext_t*)from.stack_pointer, (ucontext_t*)to.stack_pointer);
}
#endif

SHIM_QUIET static void switch_fiber(Fiber& from, Fiber& to) {
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(&from.fake_stack, to.stack_low, to.stack_size);
#endif
#if defined(__SANITIZE_THREAD__)
    __tsan_switch_to_fiber(to.sanitizer, __tsan_switch_to_fiber_no_sync);
#endif
    switch_stack(from, to);
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(from.fake_stack, nullptr, nullptr);
#endif
}

// ---- The threads of the running block ---------------------------------------------------------

enum State : int { READY, WAITING, FINISHED, STOPPED };

struct Thread {
    State state;
    int barrier;  // the __syncthreads() of the text at which it waits
    int line;     // and the line of it
};

static const Launch* launch;
static Fiber scheduler, fibers[max_threads];
static Thread threads[max_threads];
static unsigned current, prepared_fibers;
// Barriers of odd and of even number use different sync objects: with one, a thread that is late
// to leave a barrier would also be ordered after the steps of an early thread behind it.
static char sync_objects[2], sync_start, sync_end;
static unsigned generation;

SHIM_QUIET static void barrier(int number, int line) {
    Thread& thread = threads[current];
    Fiber& fiber = fibers[current];
    thread.state = WAITING;
    thread.barrier = number;
    thread.line = line;
#if defined(__SANITIZE_THREAD__)
    unsigned parity = generation & 1;
    __tsan_release(&sync_objects[parity]);
#endif
    switch_fiber(fiber, scheduler);
#if defined(__SANITIZE_THREAD__)
    __tsan_acquire(&sync_objects[parity]);
#endif
}

// ---- Memory whose accesses are tested ----------------------------------------------------------

// The access that ended the launch, if `buffer` is not null.
struct Outside {
    const char* buffer;
    long long index, element_bytes, bytes;
};
static Outside outside;

// The thread stops here; the scheduler never switches back to it.
__attribute__((noinline, cold)) SHIM_QUIET static void stop_outside(const Outside& access) {
    outside = access;
    threads[current].state = STOPPED;
    switch_fiber(fibers[current], scheduler);
}

template <class T> struct Checked {
    T* memory;
    long long bytes;
    const char* buffer;
    T& operator[](long long index) const {
        const long long size = (long long)sizeof(T);
        if (index < 0 || index >= bytes / size) stop_outside({buffer, index, size, bytes});
        return memory[index];
    }
};

// Each round runs one kernel thread; the scheduler switches to it again for each block.
SHIM_QUIET static void fiber_main() {
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(nullptr, &scheduler.stack_low, &scheduler.stack_size);
#endif
    for (;;) {
#if defined(__SANITIZE_THREAD__)
        __tsan_acquire(&sync_start);
#endif
        launch->entry(launch->arguments);
#if defined(__SANITIZE_THREAD__)
        __tsan_release(&sync_end);
#endif
        threads[current].state = FINISHED;
        switch_fiber(fibers[current], scheduler);
    }
}

SHIM_QUIET static void prepare_fibers(unsigned count) {
#if !(defined(__x86_64__) && !defined(SHIM_UCONTEXT))
    scheduler.stack_pointer = &contexts[max_threads];
#endif
#if defined(__SANITIZE_THREAD__)
    scheduler.sanitizer = __tsan_get_current_fiber();
#endif
    for (; prepared_fibers < count; ++prepared_fibers) {
        Fiber& fiber = fibers[prepared_fibers];
        // Staggered by a few lines, so that the tops of all stacks do not share one cache set.
        size_t stagger = (prepared_fibers % 32) * 128;
        char* low = (char*)mmap(nullptr, guard_bytes + stack_bytes, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (low == MAP_FAILED) {
            fprintf(stderr, "no memory for the stacks of a block's threads\n");
            abort();
        }
        mprotect(low, guard_bytes, PROT_NONE);
        fiber.stack_low = low + guard_bytes;
        fiber.stack_size = stack_bytes - stagger;
#if defined(__SANITIZE_THREAD__)
        fiber.sanitizer = __tsan_create_fiber(0);
#endif
    }
    // New fibers for each launch: a launch that ended in an error left its fibers inside a kernel.
    for (unsigned number = 0; number < count; ++number) prepare_stack(fibers[number], number);
}

// ---- Orders -----------------------------------------------------------------------------------

SHIM_QUIET static inline uint64_t next_random(uint64_t& state) {  // splitmix64
    uint64_t z = (state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

SHIM_QUIET static void permute(unsigned* items, unsigned count, int order, uint64_t& random) {
    for (unsigned i = 0; i < count; ++i) items[i] = order == REVERSE ? count - 1 - i : i;
    if (order != SHUFFLED) return;
    for (unsigned i = count; i > 1; --i) {
        unsigned j = (unsigned)(next_random(random) % i);
        unsigned item = items[i - 1];
        items[i - 1] = items[j];
        items[j] = item;
    }
}

// ---- Blocks -----------------------------------------------------------------------------------

// Byte by byte and volatile: the red zones of the address sanitizer lie between the arrays, and a
// memset over them would be reported.
__attribute__((no_sanitize("address", "thread", "undefined"))) SHIM_QUIET static void
poison_shared() {
    if (__start_shim_shared) {
        for (volatile uint64_t* word = (volatile uint64_t*)__start_shim_shared;
             (char*)(word + 1) <= __stop_shim_shared; ++word)
            *word = ~(uint64_t)0;
        size_t whole = (size_t)(__stop_shim_shared - __start_shim_shared) / 8 * 8;
        for (volatile char* byte = __start_shim_shared + whole; byte < __stop_shim_shared; ++byte)
            *byte = (char)0xFF;
    }
    for (unsigned i = 0; i < launch->dynamic_shared_bytes; ++i)
        ((volatile unsigned char*)dynamic_shared)[i] = 0xFF;
}

SHIM_QUIET static Index index_in_block(unsigned thread) {
    unsigned row = thread / block_dim.x;
    return {thread % block_dim.x, row % block_dim.y, row / block_dim.y};
}

// Describes the first thread, and a thread that did not reach the same barrier.
SHIM_QUIET static void describe_divergence(unsigned first, unsigned other, char* message, size_t size) {
    char states[2][160];
    unsigned pair[2] = {first, other};
    for (int i = 0; i < 2; ++i) {
        Index index = index_in_block(pair[i]);
        const Thread& thread = threads[pair[i]];
        int used = snprintf(states[i], sizeof states[i], "thread (%u, %u, %u) ", index.x, index.y,
                            index.z);
        if (thread.state == FINISHED)
            snprintf(states[i] + used, sizeof states[i] - used, "has returned");
        else
            snprintf(states[i] + used, sizeof states[i] - used, "waits at the barrier on line %d",
                     thread.line);
    }
    snprintf(message, size, "kernel %s, block (%u, %u, %u): %s while %s", launch->kernel,
             block_index.x, block_index.y, block_index.z, states[0], states[1]);
}

// True when every thread finished; otherwise `message` says which threads diverged.
SHIM_QUIET static bool run_block(uint64_t& random, char* message, size_t size) {
    static unsigned order[max_threads];
    unsigned count = block_dim.x * block_dim.y * block_dim.z;
    for (unsigned i = 0; i < count; ++i) threads[i].state = READY;
    poison_shared();
    generation = 0;
#if defined(__SANITIZE_THREAD__)
    __tsan_release(&sync_start);
#endif
    permute(order, count, launch->order, random);
    for (;; ++generation) {
        for (unsigned i = 0; i < count; ++i) {
            current = order[i];
            thread_index = index_in_block(current);
            switch_fiber(scheduler, fibers[current]);
            if (threads[current].state == STOPPED) {
                snprintf(message, size, "%s %lld %lld %lld", outside.buffer, outside.index,
                         outside.element_bytes, outside.bytes);
                return false;
            }
        }
        const Thread& first = threads[0];
        for (unsigned i = 1; i < count; ++i) {
            const Thread& other = threads[i];
            bool together = first.state == other.state &&
                            (first.state == FINISHED || first.barrier == other.barrier);
            if (!together) {
                describe_divergence(0, i, message, size);
                return false;
            }
        }
        if (first.state == FINISHED) break;
        if (launch->order == SHUFFLED) permute(order, count, SHUFFLED, random);
    }
#if defined(__SANITIZE_THREAD__)
    __tsan_acquire(&sync_end);
#endif
    return true;
}

SHIM_QUIET static Index index_in_grid(uint64_t block) {
    uint64_t row = block / grid_dim.x;
    return {(unsigned)(block % grid_dim.x), (unsigned)(row % grid_dim.y),
            (unsigned)(row / grid_dim.y)};
}

// Runs every block. A shuffled order visits them by a stride coprime to their number: all of them
// once, in an order that differs by seed, without a table of their size.
SHIM_QUIET static bool run_grid(const Launch& what, char* message, size_t size) {
    launch = &what;
    outside = {};
    grid_dim = what.grid;
    block_dim = what.block;
    dynamic_shared = nullptr;
    if (what.dynamic_shared_bytes &&
        posix_memalign((void**)&dynamic_shared, 128, what.dynamic_shared_bytes) != 0)
        abort();
    prepare_fibers(block_dim.x * block_dim.y * block_dim.z);
    uint64_t random = what.seed;
    uint64_t count = (uint64_t)grid_dim.x * grid_dim.y * grid_dim.z;
    uint64_t stride = 1, offset = 0;
    if (what.order == SHUFFLED) {
        offset = next_random(random) % count;
        auto divisor = [](uint64_t a, uint64_t b) {
            while (b) { uint64_t rest = a % b; a = b; b = rest; }
            return a;
        };
        do stride = 1 + next_random(random) % count; while (divisor(stride, count) != 1);
    }
    bool finished = true;
    for (uint64_t i = 0; i < count && finished; ++i) {
        uint64_t block = (uint64_t)(((unsigned __int128)i * stride + offset) % count);
        block_index = index_in_grid(what.order == REVERSE ? count - 1 - i : block);
        finished = run_block(random, message, size);
    }
    free(dynamic_shared);
    return finished;
}

// ---- Declarations for the code generated after the text ---------------------------------------

struct Entry {
    const char* kernel;
    void (*call)(void** arguments);
};

template <class A, class B> struct Same { static constexpr bool value = false; };
template <class A> struct Same<A, A> { static constexpr bool value = true; };

}  // namespace shim

#include "shim_math.h"

// The options of sanitizer builds, set here rather than in the environment.
#if defined(__SANITIZE_ADDRESS__)
extern "C" const char* __asan_default_options() {
    return "detect_leaks=0:redzone=2048";  // wide, so that a miss by a row still hits one
}
#endif
#if defined(__SANITIZE_THREAD__)
extern "C" const char* __tsan_default_options() {
    return "halt_on_error=1:atexit_sleep_ms=0";
}
#endif
