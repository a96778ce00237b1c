/* Lets a program choose the context and the stream of Halide's CUDA runtime, and read its errors.
   The prototypes are those of HalideRuntime.h and HalideRuntimeCuda.h. */

#include <stdbool.h>
#include <stdio.h>

typedef int (*acquire_t)(void *, void **, bool);
typedef int (*release_t)(void *);
typedef int (*stream_t)(void *, void *, void **);
typedef void (*error_t)(void *, const char *);

extern acquire_t halide_set_cuda_acquire_context(acquire_t);
extern release_t halide_set_cuda_release_context(release_t);
extern stream_t halide_set_cuda_get_stream(stream_t);
extern error_t halide_set_error_handler(error_t);
extern int halide_reuse_device_allocations(void *, bool);

static void *chosen_context, *chosen_stream;
static char message[2048];

static int acquire(void *user, void **context, bool create) { *context = chosen_context; return 0; }
static int release(void *user) { return 0; }
static int stream(void *user, void *context, void **found) { *found = chosen_stream; return 0; }
static void failed(void *user, const char *text) { snprintf(message, sizeof message, "%s", text); }

/* Device memory that a run gives back stays for the next one, as ours does. */
void bench_begin(void *context, void *of_launches) {
    chosen_context = context;
    chosen_stream = of_launches;
    halide_set_cuda_acquire_context(acquire);
    halide_set_cuda_release_context(release);
    halide_set_cuda_get_stream(stream);
    halide_set_error_handler(failed);
    halide_reuse_device_allocations(0, true);
}

const char *bench_message(void) { return message; }
