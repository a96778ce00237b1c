"""C headers for object files: a C program calls a pipeline with them and makes threads for its
parallel loops.

The argument words of a pipeline's function (see ``codegen``) are the members of a plain struct.
Each member has 8 bytes or an alignment of 8 bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from spaces.backend.access import AccessMode
from spaces.backend.ir.program import BufferParameter, LoopProgram, ScalarParameter
from spaces.backend.ir.walk import messages
from spaces.backend.llvm.accesses import OUTSIDE, types_of
from spaces.backend.llvm.codegen import entry_name, identifier, report_words
from spaces.backend.llvm.module import ILL_SIZED, OUT_OF_MEMORY
from spaces.backend.llvm.runtime.jobs import LINE_BYTES, POOL_BYTES
from spaces.model.expressions.types import Int32, Type

RUNTIME = "spaces_runtime"
"""The name, without suffix, of the files that all pipelines share."""


def pipeline_header(program: LoopProgram, access_mode: AccessMode = AccessMode.PLAIN) -> str:
    """The header of one pipeline's object file.

    Args:
        program: the pipeline, after any lowering pass.
        access_mode: the access mode of its code.
    """
    name = entry_name(program.name)
    guard = f"{name.upper()}_H"
    members = [m for b in program.buffers for m in _buffer(b)]
    members += [_scalar(s) for s in program.scalars]
    members += ["int64_t *report;"] if report_words(program, access_mode) else []
    body = "\n".join(f"    {line}" for line in members) or "    int64_t none;"
    return f"""\
/* Pipeline {_comment(program.name)}. Link with {RUNTIME}.o, the threads library and the mathematics
 * library: cc main.c {program.name}.o {RUNTIME}.o -lpthread -lm; C11 or C++11. */
#ifndef {guard}
#define {guard}

#include "{RUNTIME}.h"

#ifdef __cplusplus
extern "C" {{
#endif

/* For each image and output: its element at the least coordinates, then its dimensions, innermost
 * first; the innermost has stride 1. No output overlaps another buffer. */
struct {name}_arguments {{
{body}
}};

/* Computes the outputs over the ranges of their dimensions. The pool's threads execute parallel
 * loops; with a null pool, the calling thread executes them alone. Several threads may call it at
 * the same time. Returns 0; or {OUT_OF_MEMORY} if there is no memory for intermediate values.
 * Returns {ILL_SIZED} and computes nothing if an extent is below {_least_extents(program)}, a
 * coordinate does not fit int32_t, or an innermost dimension of more than one element has another
 * stride than 1.
 * Returns the number of the first condition below that does not hold, and then computes nothing.
 * The int32_t numbers of a condition are mathematical integers: they do not overflow.
{_size_checks(program)}{_stops(program)}{_accesses(program, access_mode)} */
int32_t {name}(spaces_pool *pool, const struct {name}_arguments *arguments);

#ifdef __cplusplus
}}
#endif

#endif
"""


def _least_extents(program: LoopProgram) -> str:
    """The smallest extents, as words."""
    least = {buffer.least_extent for buffer in program.buffers if buffer.is_output}
    return "1" if least == {1} else "1 (of an output: below 0)"


def _buffer(buffer: BufferParameter) -> Iterator[str]:
    name, const = identifier(buffer.name), "" if buffer.is_output else "const "
    yield f"{const}{_c_type(buffer.type)} *{name};"
    if buffer.dimensions:
        yield f"spaces_dimension {name}_dimensions[{buffer.dimensions}];"


def _scalar(scalar: ScalarParameter) -> str:
    if scalar.type == Int32:
        return f"int64_t {identifier(scalar.name)}; /* an int32_t */"
    return f"SPACES_WORD {_c_type(scalar.type)} {identifier(scalar.name)};"


def _c_type(type: Type) -> str:
    if type.is_float:
        return "float" if type.bits == 32 else "double"
    if type.is_bool:
        return "uint8_t"
    return f"{'int' if type.is_int else 'uint'}{type.bits}_t"


def _size_checks(program: LoopProgram) -> str:
    lines = (f"{n}: {r.condition}" for n, r in enumerate(program.size_checks, start=1))
    return _indented(lines) or " *   (there are no conditions)"


def _stops(program: LoopProgram) -> str:
    stops = messages(program.body)
    if not stops:
        return ""
    lines = (f"{n}: {m}" for n, m in enumerate(stops, start=len(program.size_checks) + 1))
    text = "\n * Or the number of the assert that fails; the outputs are then undefined:\n"
    return text + _indented(lines) + _report_comment(program)


def _report_comment(program: LoopProgram) -> str:
    """Where a caller finds the values for the gaps of messages."""
    count = report_words(program)
    if not count:
        return ""
    return f"""
 * If report is not null, it points to {count} words, and the first of them is 0. If the message of
 * the failed assert has gaps, the first word becomes its number, and word n the value of gap {{n}}:
 * an integer as an int64_t, a float as a double."""


def _accesses(program: LoopProgram, access_mode: AccessMode) -> str:
    """The status of hardened code and its report of an access."""
    if access_mode is AccessMode.PLAIN:
        return ""
    names = ", ".join(_comment(name) for name in types_of(program))
    return f"""
 * Or {OUTSIDE} before it touches memory that it did not obtain; the outputs are then undefined.
 * If report is not null, it points to {report_words(program, access_mode)} words, and the first
 * of them is 0. The first word becomes {OUTSIDE}. The next words describe the access: its first
 * byte, its number of bytes, 0 for a read or 1 for a write. Then they describe the buffer: its
 * number, its first byte, the byte behind its last one, its element at the least coordinates, the
 * number of its known dimensions, and the min, extent and stride of each. Buffers are numbered from
 * 0:
 *   {names}
"""


def _indented(lines: Iterable[str]) -> str:
    return "\n".join(f" *   {_comment(line)}" for line in lines)


def _comment(text: str) -> str:
    """The text, changed so that it does not end a comment."""
    return re.sub(r"\*/", "* /", text)


RUNTIME_HEADER = f"""\
/* What all pipelines need; implemented in {RUNTIME}.o. */
#ifndef SPACES_RUNTIME_H
#define SPACES_RUNTIME_H

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
#define SPACES_WORD alignas(8)
extern "C" {{
#else
#define SPACES_WORD _Alignas(8)
#endif

/* One dimension of a buffer: its least coordinate, its extent, and its stride in elements. */
typedef struct {{
    int64_t min, extent, stride;
}} spaces_dimension;

void spaces_pool_init(void *shared, int32_t threads, int64_t key);
void spaces_pool_stop(void *shared);
void *spaces_worker(void *shared);

/* Gives kept scratch memory back to the C library. */
void spaces_scratch_release(void);

/* Threads that share the iterations of parallel loops. */
typedef struct {{
    char shared[{POOL_BYTES}]; /* first, aligned to {LINE_BYTES} bytes */
    pthread_key_t key;
    int32_t workers;
    pthread_t worker[];
}} spaces_pool;

/* Makes a pool of this many threads, the calling one included; null if the system refuses. */
static inline spaces_pool *spaces_pool_create(int32_t threads) {{
    if (threads < 1) return NULL;
    size_t size = sizeof(spaces_pool) + (size_t)threads * sizeof(pthread_t);
    size += -size % {LINE_BYTES};
    spaces_pool *pool = (spaces_pool *)aligned_alloc({LINE_BYTES}, size);
    if (!pool) return NULL;
    memset(pool, 0, size);
    if (pthread_key_create(&pool->key, NULL)) {{
        free(pool);
        return NULL;
    }}
    spaces_pool_init(pool->shared, threads, (int64_t)pool->key);
    while (pool->workers < threads - 1 &&
           !pthread_create(&pool->worker[pool->workers], NULL, spaces_worker, pool->shared))
        pool->workers++;
    return pool;
}}

/* Ends the threads; no pipeline may run on them afterwards. Null is fine. */
static inline void spaces_pool_destroy(spaces_pool *pool) {{
    if (!pool) return;
    spaces_pool_stop(pool->shared);
    while (pool->workers) pthread_join(pool->worker[--pool->workers], NULL);
    pthread_key_delete(pool->key);
    free(pool);
}}

#ifdef __cplusplus
}}
#endif

#endif
"""
