"""Compiles a pipeline under a schedule for the CPU, and runs it on NumPy arrays."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from attrs import define, field, frozen

from spaces.backend.access import AccessError, AccessMode
from spaces.backend.arguments import (
    NO_IMAGES,
    ArgumentError,
    Arguments,
    Array,
    RequirementError,
    Scalars,
    Sizes,
    bound,
)
from spaces.backend.arrays.given import given_arrays
from spaces.backend.buffers import Outputs, argument_words, image_arrays
from spaces.backend.compiled_card import CompiledCard
from spaces.backend.float_mode_of_regions import mode_of_regions
from spaces.backend.foreign import foreign_failure, foreign_symbols
from spaces.backend.ir.program import LoopProgram
from spaces.backend.ir.text import program_text
from spaces.backend.ir.walk import messages
from spaces.backend.lazy_value import LazyValue
from spaces.backend.llvm.accesses import OUTSIDE, reported_access
from spaces.backend.llvm.c_header import pipeline_header
from spaces.backend.llvm.codegen import entry_name, llvm_module, report_words
from spaces.backend.llvm.module import FOREIGN_FAILED, OUT_OF_MEMORY
from spaces.backend.llvm.operators import FloatMode
from spaces.backend.llvm.runtime.helpers import runtime_symbols
from spaces.backend.llvm.runtime.pools import ThreadPool, default_pool
from spaces.backend.lowering.cpu.passes import beside_empty_outputs, lower, lower_cases
from spaces.backend.preconditions import check_sizes, size_error
from spaces.backend.require_verified import require_verified
from spaces.constraints.devices.device import CpuDevice, Device
from spaces.constraints.legality.argument_checks import check_given
from spaces.constraints.legality.preconditions import Precondition, size_preconditions
from spaces.constraints.legality.verdict import Verdict
from spaces.constraints.legality.verify import verify
from spaces.machine_code import CompiledModule, compile_module
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.amounts import amount
from spaces.model.expressions.message import shown
from spaces.model.nest.loopnest import LoopNest, loop_nest
from spaces.model.recursion import in_one_chunk
from spaces.model.schedules.cases import cases, is_specialized
from spaces.model.schedules.schedule import Schedule

_no_words = (ctypes.c_int64 * 0)()

_Entry = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)


@define(eq=False, repr=False)
class CompiledPipeline(CompiledCard):
    """Machine code of one pipeline under one schedule. Safe to run from several threads at once. A
    pickled one is verified and compiled again where it arrives.

    Attributes:
        pipeline: the algorithm.
        schedule: the schedule.
        pool: the threads that execute parallel loops.
        preconditions: the conditions that the schedule puts on sizes; empty if it is not verified.
        access_mode: whether the code tests its accesses of memory.
    """

    pipeline: Pipeline
    schedule: Schedule
    pool: ThreadPool
    preconditions: tuple[Precondition, ...]
    access_mode: AccessMode
    _recipe: CpuRecipe
    _stages: Mapping[str, LoopProgram]
    _module: CompiledModule
    _complete: LazyValue[CompiledPipeline] | None
    """The code for all calls; None if this code is it. This code is for calls in which each output
    has elements.
    """
    _call: ctypes._CFunctionType = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._call = _Entry(self._module.address(entry_name(self.pipeline.name)))

    def __repr__(self) -> str:
        threads = amount(self.pool.threads, "thread")
        hardened = ", hardened" if self.access_mode is AccessMode.HARDENED else ""
        return f"<CompiledPipeline {self.pipeline.name} for the CPU, {threads}{hardened}>"

    def run(
        self,
        inputs: Mapping[str, Any] = NO_IMAGES,
        params: Scalars | None = None,
        sizes: Sizes | None = None,
        out: Mapping[str, Any] | None = None,
    ) -> dict[str, Array]:
        """Computes every output.

        Args:
            inputs: an array for each image, with dimension 0 as its last axis; any strides are
                fine. Arrays of other libraries in the memory of the CPU (``__dlpack__``) are not
                copied either.
            params: values of scalar parameters; those left out take their default.
            sizes: for each output the extent, or the (min, extent), of each dimension, innermost
                first. An output left out has the shape of its array in ``out``, with the mins of
                its estimate; or else the size that the pipeline says (``set_bounds``); or else its
                estimate. Name an image too to say where its coordinates begin; one left out begins
                at 0, or where its estimate begins if an output has its estimate.
            out: arrays to write outputs to, of NumPy or of another library; the run returns them.
                It makes a NumPy array for each other output.

        Raises:
            ArgumentError: the arguments do not fit the pipeline.
            SizeError: they do not fit the schedule: tails, or what it reads of an image.
            MemoryError: there is not enough memory for what the schedule stores.
            AccessError: hardened code meant to touch memory that is not its own.
        """
        return self.prepare(inputs, params, sizes, out)()

    __call__ = run

    def __reduce__(self) -> tuple[Any, ...]:
        """Machine code serves one kind of processor and one process, so a copy of the pipeline is
        compiled where it arrives.
        """
        return CpuRecipe.compiled, (self._recipe,)

    def prepare(
        self,
        inputs: Mapping[str, Any] = NO_IMAGES,
        params: Scalars | None = None,
        sizes: Sizes | None = None,
        out: Mapping[str, Any] | None = None,
    ) -> PreparedRun:
        """A run with checked arguments that you can repeat many times. Takes the arguments of
        :meth:`run`.

        Raises:
            ArgumentError: the arguments do not fit the pipeline.
            SizeError: they do not fit the schedule, as ``verify`` knows.
        """
        given = given_arrays(self.pipeline, inputs, out)
        arguments = bound(self.pipeline, given, params, sizes)
        outputs = Outputs.make(self.pipeline, arguments, given, self.access_mode)
        if outputs.have_elements():
            check_sizes(self.preconditions, arguments)
        elif not outputs.are_empty():
            return self._for_all_calls()._prepared(arguments, outputs)
        return self._prepared(arguments, outputs)

    def _prepared(self, arguments: Arguments, outputs: Outputs) -> PreparedRun:
        """A run on checked arguments."""
        images: Mapping[str, Array] = {}
        words = _no_words
        if not outputs.are_empty():
            images = image_arrays(self.pipeline, arguments, outputs.written)
            words = argument_words(self.pipeline, arguments, {**images, **outputs.written})
        report = (ctypes.c_int64 * report_words(self._program, self.access_mode))()
        if report and words is not _no_words:
            words = (ctypes.c_int64 * (len(words) + 1))(*words, ctypes.addressof(report))
        return PreparedRun(self, arguments, images, outputs, words, report)

    def call(self, words: ctypes.Array[ctypes.c_int64]) -> int:
        """Runs on argument words (see ``spaces.backend.llvm.codegen``) and returns the status."""
        status: int = self._call(self.pool.address, ctypes.addressof(words))
        return status

    @property
    def _program(self) -> LoopProgram:
        return list(self._stages.values())[-1]

    def refusal(
        self, status: int, report: ctypes.Array[ctypes.c_int64], arguments: Arguments
    ) -> ArgumentError | AccessError:
        """The error for a status that is not 0, from the report in ``report``."""
        if status == OUTSIDE:
            return AccessError(reported_access(self._program, report))
        count = len(self._program.size_checks)
        if status <= count:
            return size_error(self._program.size_checks[status - 1], arguments)
        message = messages(self._program.body)[status - 1 - count]
        kinds = ("d" if type.is_float else "Q" if type.is_uint else "q" for type in message.types)
        values = struct.unpack_from(f"=8x{''.join(kinds)}", bytes(report)) if message.types else ()
        texts = [shown(type, v) for type, v in zip(message.types, values, strict=True)]
        return RequirementError(message.filled(texts))

    def llvm_ir(self) -> str:
        """The optimised LLVM IR, for calls in which each output has elements."""
        return self._module.llvm_ir()

    def assembly(self) -> str:
        """The same machine code as assembly of the host."""
        return self._module.asm()

    @property
    def code_bytes(self) -> int:
        """The bytes of its machine code."""
        return self._module.code_bytes()

    def object_bytes(self) -> bytes:
        """The machine code for all calls as a relocatable object file, which C programs can link
        too.

        Besides the C library it needs the helpers of
        :func:`spaces.backend.llvm.runtime.helpers.runtime_object`.
        """
        return self._for_all_calls()._module.object_bytes()

    def c_header(self) -> str:
        """The C header of the object file."""
        return pipeline_header(self._for_all_calls()._program, self.access_mode)

    def _for_all_calls(self) -> CompiledPipeline:
        return self if self._complete is None else self._complete()

    def program_text(self, after: str = "start") -> str:
        """The loop program after the lowering pass of that name.

        Raises:
            KeyError: there is no such pass; the message lists the passes.
        """
        if after not in self._stages:
            raise KeyError(f"There is no pass {after!r}; there are {', '.join(self._stages)}.")
        return program_text(self._stages[after])


@frozen(eq=False)
class PreparedRun:
    """A pipeline and the arrays it runs on. Each call computes the outputs again.

    Each call reads the current values of the images. Exception: :meth:`CompiledPipeline.prepare`
    copies an image because of its strides, or because an output shares its memory; calls then read
    the copy.
    """

    _compiled: CompiledPipeline
    _arguments: Arguments
    _images: Mapping[str, Array]
    _outputs: Outputs
    _words: ctypes.Array[ctypes.c_int64]
    _report: ctypes.Array[ctypes.c_int64]

    def __call__(self) -> dict[str, Array]:
        """Runs and returns the outputs, the same arrays each time.

        Raises:
            SizeError: the arguments do not fit the schedule.
            RequirementError: a condition that the algorithm requires does not hold somewhere. The
                values of the outputs are then undefined.
            MemoryError: there is not enough memory for what the schedule stores.
            AccessError: hardened code meant to touch memory that is not its own.
        """
        self._report[:] = [0] * len(self._report)
        status = self._compiled.call(self._words) if len(self._words) else 0
        if status > 0 and len(self._report):
            status = self._report[0] or status
        name = self._compiled.pipeline.name
        if status == OUT_OF_MEMORY:
            raise MemoryError(
                f"Pipeline {name} found no memory for its intermediate values; "
                "compute them in smaller tiles, or ask for a smaller output."
            )
        if status == FOREIGN_FAILED:
            raise foreign_failure(name)
        if status != 0:
            raise self._compiled.refusal(status, self._report, self._arguments)
        return self._outputs.results()


@in_one_chunk
def compile_cpu(
    checked: Verdict,
    *,
    threads: int | None = None,
    float_mode: FloatMode = FloatMode.STRICT,
    access_mode: AccessMode = AccessMode.PLAIN,
) -> CompiledPipeline:
    """Compiles a pipeline under a verified schedule for the CPU of this process.

    Args:
        checked: what :func:`spaces.verify` returns for a schedule that is legal for a CPU.
        threads: how many threads execute parallel loops, the calling one included. The default is
            one for each usable core; all pipelines with the default share these threads.
        float_mode: how far float results may differ from the expressions as written.
        access_mode: whether the code tests its accesses of memory. If it does, a run raises
            :class:`~spaces.backend.access.AccessError` before it touches memory that is not its
            own.

    Raises:
        TypeError: ``checked`` is something else, such as a schedule that is not verified.
        ValueError: ``verify`` finds the schedule illegal, or judged it for a GPU; or ``threads`` is
            not between 1 and 1024.
    """
    legal = require_verified("compile_cpu", checked, CpuDevice)
    recipe = CpuRecipe(
        legal.pipeline, legal.schedule, legal.device, threads, float_mode, access_mode
    )
    return _compiled(recipe, lambda: legal.nest, size_preconditions(legal))


@in_one_chunk
def compile_cpu_unchecked(
    pipeline: Pipeline,
    schedule: Schedule,
    *,
    threads: int | None = None,
    float_mode: FloatMode = FloatMode.STRICT,
    access_mode: AccessMode = AccessMode.PLAIN,
) -> CompiledPipeline:
    """Compiles the loop nest of ``schedule`` as it is written, legal or not.

    Use it for tests, and to see what an illegal schedule computes. Code of an illegal schedule may
    give wrong values or touch memory that is not its own. The code checks only the sizes that its
    own tails need. :func:`compile_cpu` explains the other arguments.

    Raises:
        TypeError: ``pipeline`` or ``schedule`` is something else.
        ValueError: ``threads`` is not between 1 and 1024.
    """
    check_given("compile_cpu_unchecked", pipeline=pipeline, schedule=schedule)
    recipe = CpuRecipe(pipeline, schedule, None, threads, float_mode, access_mode)
    return _compiled(recipe, lambda: loop_nest(pipeline, schedule), ())


@frozen
class CpuRecipe:
    """What a pipeline is compiled from; ``device`` is None if its schedule is not verified."""

    pipeline: Pipeline
    schedule: Schedule
    device: Device | None
    threads: int | None
    float_mode: FloatMode
    access_mode: AccessMode

    def compiled(self) -> CompiledPipeline:
        """Compiles it for the CPU of this process.

        Raises:
            ValueError: the rules of this library find the schedule illegal.
        """
        if self.device is None:
            plain = partial(compile_cpu_unchecked, self.pipeline, self.schedule)
        else:
            plain = partial(compile_cpu, verify(self.pipeline, self.schedule, self.device))
        return plain(threads=self.threads, float_mode=self.float_mode, access_mode=self.access_mode)


def _compiled(
    recipe: CpuRecipe, nest: Callable[[], LoopNest], preconditions: tuple[Precondition, ...]
) -> CompiledPipeline:
    """Compiles a recipe; ``nest`` gives the loop nest of a schedule without specializations.

    If there are several outputs, the code for calls in which only some of them are empty is
    compiled at the first such call.
    """
    pipeline, schedule, mode = recipe.pipeline, recipe.schedule, recipe.access_mode
    if is_specialized(schedule):
        stages = lower_cases(pipeline, tuple(cases(schedule)), mode)
    else:
        stages = lower(nest(), mode)
    pool = default_pool() if recipe.threads is None else ThreadPool(recipe.threads)

    def compiled(
        stages: Mapping[str, LoopProgram], complete: LazyValue[CompiledPipeline] | None
    ) -> CompiledPipeline:
        program = list(stages.values())[-1]
        text = llvm_module(program, mode_of_regions((program,), recipe.float_mode), mode)
        module = compile_module(text, {**runtime_symbols(), **foreign_symbols(program)})
        return CompiledPipeline(
            pipeline, schedule, pool, preconditions, mode, recipe, stages, module, complete
        )

    @in_one_chunk
    def for_all_calls() -> CompiledPipeline:
        return compiled(beside_empty_outputs(stages, pipeline, schedule, mode), None)

    return compiled(stages, LazyValue(for_all_calls) if len(pipeline.outputs) > 1 else None)
