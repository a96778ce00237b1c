"""CUDA C text: the records that a printer makes, and the ways to compile and run them.

========================  =======================================================================
`kernel`                  the records: a module (text and kernels) and the steps of its host program
`plan`                    the steps of one call, checked once; `plan_buffers` checks its buffers
`program`                 the meaning of the steps, once for every executor; copies made lazily
`printer`                 kernels of a GPU program -> a module; `expressions`, `c_text`, `helpers`
                          and `names` print their parts
`uniform`                 takes arithmetic on sizes and blocks out of kernels; `number_ends` says
                          what cannot wrap, `sums` takes sums apart
`host`                    the host part of a GPU program -> the steps of one call; `host_part` is
                          what the CPU computes of it
`nvrtc`                   text -> CUBIN, PTX and the resources of each kernel; needs no GPU
`host_build`              text -> a library or a program for the CPU, over the headers `shim*.h`
`emulator`                an executor on the CPU, thread orders chosen by the caller
`sanitizers`              the same in a process of its own, under a sanitizer of g++
`launch`                  an executor on a GPU
`gpu`                     what it shares between calls: `memory_pool`, `loaded_modules`, `faults`
`ready_plan`              the launches of a plan with all but their pointers; `scratch` lays out the
                          memory of a plan
`foreign_arrays`          arrays of other libraries on a GPU
`relayout`                copies of those that kernels cannot use in place
`kernel_cache`            compiled kernels on disk
`drivers`                 the calls of the CUDA driver, by one of two packages
`errors`                  what they raise, all under `CudaError`
========================  =======================================================================

All executors run the same text, so a test on a CPU runs exactly the text that a GPU gets::

    module = CudaModule(text, (Kernel("scale_kernel", params, block=(256, 1, 1)),))
    steps = (LaunchStep("scale_kernel", grid=(ceil(n / 256), 1, 1), arguments=("x", "y", "n")),)
    Emulator(order="reverse").run(module, steps, {"x": x, "y": y}, {"n": n})     # y is filled
    SanitizedEmulator("address,undefined").run(module, steps, buffers, scalars)  # or raises
    compile_cuda(text, "sm_80").kernels["scale_kernel"].registers
    GpuExecutor().run(module, steps, buffers, scalars)

**How a printer writes the text**

1. One translation unit with no ``#include``: NVRTC finds no standard headers. Types are those of
   `kernel.CTYPES` (``signed char`` ... ``unsigned long long``, ``float``, ``double``, ``bool``).
2. A kernel begins with its record's `Kernel.declaration`:
   ``extern "C" __global__ void __launch_bounds__(THREADS) name(PARAMETERS)``. A buffer is
   ``const T* __restrict__ name`` if the kernel only reads it and ``T* __restrict__ name`` if it
   writes it. A scalar is passed by value. The emulator refuses a text whose parameters differ from
   the record's.
3. Names: no C library function (``exp``, ``index``), no name of CUDA, nothing that begins with
   ``shim``. A suffix (``blur_y_kernel``) is safe.
4. Helpers are ``static __device__ inline`` functions, or templates of such functions, without
   shared memory or barriers.
5. A buffer argument points at the first element of dense memory in C order: the last axis of the
   NumPy array is contiguous, whatever strides the caller's array has. Memory of an `AllocStep`
   begins undefined (the emulator fills it with 0xFF, which is NaN in floats). Where a helper
   accesses the whole word around a shorter element, `CudaModule.granule` says so, and executors
   allocate whole words.
6. Shared memory is static, at function scope of the kernel: ``__shared__ float tile[18][18];``.
   More than 48 KB must be dynamic: the text begins with `kernel.DYNAMIC_SHARED_PRELUDE`, the kernel
   says ``DYNAMIC_SHARED(bytes);`` once, casts from ``bytes``, and its record has
   ``dynamic_shared_bytes``.
7. All threads of a block reach a ``__syncthreads()``, or none: no early ``return`` before one.
   Besides barriers, threads of a block communicate only through atomic functions on words of 32 and
   64 bits. A shorter element is changed as a part of its word. There are no warp intrinsics.
8. ``threadIdx`` and the like are unsigned; convert to ``int`` before subtracting. Signed overflow
   is undefined, in the emulator too: do wrapping arithmetic in an unsigned type. Integer ``/`` and
   ``%`` truncate.
9. The compiler contracts nothing: write ``fmaf`` for a fused operation. Infinities and NaN are
   spelled ``__int_as_float(0x7f800000)``. A float outside an integer type's range is converted by
   ``__float2int_rz`` and its kin, never by a cast.
10. A text may call ``<math.h>`` and `shim_math.h`: ``min`` and ``max`` of two operands of one type,
   ``rsqrtf``, ``__fdiv_rn``, ``__mulhi``, ``__ldg``, ...
"""
