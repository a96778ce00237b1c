"""Compiles a pipeline so that its runs count the time of its Funcs."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Mapping

from attrs import define, field

from spaces.backend.access import AccessMode
from spaces.backend.compile import CompiledPipeline, CpuRecipe, compile_cpu
from spaces.backend.lazy_value import LazyValue
from spaces.backend.llvm.codegen import entry_name, llvm_module
from spaces.backend.llvm.counters import CounterKey, CounterTable, clock_name, table_name
from spaces.backend.llvm.operators import FloatMode
from spaces.backend.llvm.runtime.helpers import runtime_symbols
from spaces.backend.llvm.runtime.pools import ThreadPool, default_pool
from spaces.backend.lowering.cpu.passes import lower, lower_cases
from spaces.backend.profiling.periods import Periods, periods
from spaces.backend.require_verified import require_verified
from spaces.constraints.devices.device import CpuDevice
from spaces.constraints.legality.preconditions import size_preconditions
from spaces.constraints.legality.verdict import Verdict
from spaces.machine_code import CompiledModule, compile_module
from spaces.model.recursion import in_one_chunk
from spaces.model.schedules.cases import cases, is_specialized


@define(eq=False)
class ProfiledPipeline:
    """Machine code that counts.

    Attributes:
        compiled: runs it, like every compiled pipeline.
        periods: what it times.
        table: the meaning of its counters.
    """

    compiled: CompiledPipeline
    periods: Periods
    table: CounterTable
    _module: CompiledModule
    _words: ctypes.Array[ctypes.c_int64] = field(init=False)
    _clock: ctypes._CFunctionType = field(init=False)
    lock: threading.Lock = field(init=False, factory=threading.Lock)
    """Held while somebody runs it and reads the counters, which all runs share."""

    def __attrs_post_init__(self) -> None:
        entry = entry_name(self.compiled.pipeline.name)
        find = ctypes.CFUNCTYPE(ctypes.c_void_p)(self._module.address(table_name(entry)))
        words = ctypes.c_int64 * len(self.table.words)
        self._words = words.from_address(find())
        self._clock = ctypes.CFUNCTYPE(ctypes.c_int64)(self._module.address(clock_name(entry)))

    def clear(self) -> None:
        """Sets all counters to 0."""
        ctypes.memset(self._words, 0, ctypes.sizeof(self._words))

    def counts(self) -> Mapping[CounterKey, int]:
        """The counters."""
        return {key: self._words[number] for key, number in self.table.words.items()}

    def now(self) -> int:
        """The clock of the counters, in its own unit."""
        ticks: int = self._clock()
        return ticks


@in_one_chunk
def compile_profiled(
    checked: Verdict, *, threads: int | None = None, float_mode: FloatMode = FloatMode.STRICT
) -> ProfiledPipeline:
    """Compiles a pipeline under a verified schedule for the CPU of this process, with counters.

    Raises what :func:`~spaces.backend.compile.compile_cpu` does, and:

    Raises:
        BatchError: an output has no estimate, which decides what is timed.
    """
    legal = require_verified("profile", checked, CpuDevice)
    chosen = periods(legal)
    if is_specialized(legal.schedule):
        followed = tuple(cases(legal.schedule))
        stages = lower_cases(legal.pipeline, followed, timed=chosen.timed)
    else:
        stages = lower(legal.nest, timed=chosen.timed)
    program = list(stages.values())[-1]
    module = compile_module(llvm_module(program, float_mode), runtime_symbols())
    recipe = CpuRecipe(
        legal.pipeline, legal.schedule, legal.device, threads, float_mode, AccessMode.PLAIN
    )
    plain = LazyValue(lambda: compile_cpu(legal, threads=threads, float_mode=float_mode))
    compiled = CompiledPipeline(
        legal.pipeline,
        legal.schedule,
        default_pool() if threads is None else ThreadPool(threads),
        size_preconditions(legal),
        AccessMode.PLAIN,
        recipe,
        stages,
        module,
        plain,
    )
    return ProfiledPipeline(compiled, chosen, CounterTable.of(program), module)
