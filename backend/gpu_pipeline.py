"""A pipeline compiled for a GPU: its CUDA C text, and its calls with arrays of CPUs and GPUs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from attrs import evolve, field, frozen

from spaces.backend.access import AccessError, AccessMode, Side
from spaces.backend.arguments import (
    NO_IMAGES,
    Arguments,
    Scalars,
    Sizes,
    bound,
    holds,
    whole_numbers,
)
from spaces.backend.arrays.given import given_arrays
from spaces.backend.buffers import kept_buffers, poison
from spaces.backend.compiled_card import CompiledCard
from spaces.backend.cuda.emulator import Emulator
from spaces.backend.cuda.executors import present_executor
from spaces.backend.cuda.host import HostProgram, host_program
from spaces.backend.cuda.host_part import HostFunction
from spaces.backend.cuda.kernel import CudaKernel
from spaces.backend.cuda.nvrtc import KernelResources, compile_cuda
from spaces.backend.cuda.printer import PrintedProgram
from spaces.backend.cuda.program import CudaExecutor
from spaces.backend.cuda.sanitizers import SanitizedEmulator
from spaces.backend.gpu_arrays import GpuArrays
from spaces.backend.ir.host import GpuProgram
from spaces.backend.ir.text import program_text
from spaces.backend.lazy_value import LazyValue
from spaces.backend.llvm.operators import FloatMode
from spaces.backend.lowering.gpu.passes import (
    GPU_PASSES,
    gpu_stages,
)
from spaces.backend.lowering.passes import START
from spaces.backend.preconditions import check_sizes, size_error
from spaces.constraints.legality.preconditions import Precondition
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.amounts import amount
from spaces.model.expressions.definitions import expanded
from spaces.model.formulas.algebra import evaluate
from spaces.model.memo import Memo
from spaces.model.nest.loopnest import loop_nest
from spaces.model.schedules.cases import cases
from spaces.model.schedules.schedule import Schedule

_TESTING = (Emulator, SanitizedEmulator)
"""The executors that test the accesses of hardened code."""


CALLS = 16
"""For this many different sizes and parameters a pipeline keeps what it runs."""


@frozen(eq=False, repr=False)
class GpuPipeline(CompiledCard):
    """The CUDA text of one pipeline under one schedule, and the host program that runs it. A
    pickled one is verified and compiled again where it arrives.

    Attributes:
        pipeline: the algorithm.
        schedule: the schedule.
        arch: the architecture that :meth:`resources` compiles for, as ``sm_80``.
        programs: the kernels and the host program before printing, one for each case of the
            schedule. A schedule without specializations has one case.
        preconditions: the conditions that the schedule puts on sizes; empty if it is not verified.
        access_mode: whether the code tests its accesses of memory; only emulators do so.
    """

    pipeline: Pipeline
    schedule: Schedule
    arch: str
    programs: tuple[GpuProgram, ...]
    preconditions: tuple[Precondition, ...]
    access_mode: AccessMode
    _compile_again: Callable[[], GpuPipeline]
    """What a copy in another process calls: it verifies and compiles the pipeline there."""
    _printed: PrintedProgram
    _parts: Mapping[str, HostFunction]
    _beside_empty_outputs: LazyValue[GpuPipeline]
    """The pipeline for calls in which some outputs are empty and others are not."""
    _unset: frozenset[str] = field(init=False)
    """The arrays of outputs that a call writes wholly: their values before do not count."""
    _recent: Memo[tuple[GpuProgram, HostProgram]] = field(init=False, factory=lambda: Memo(CALLS))
    """What runs for the last values of sizes and parameters."""

    @_unset.default
    def _found_unset(self) -> frozenset[str]:
        return frozenset(self.pipeline.output_arrays) - kept_buffers(self.pipeline)

    def __repr__(self) -> str:
        kernels = amount(len(self.kernels), "kernel")
        return f"<GpuPipeline {self.pipeline.name} for {self.arch}, {kernels}>"

    @property
    def float_mode(self) -> FloatMode:
        """How far results of float arithmetic may differ on a GPU."""
        return self._printed.module.float_mode

    @property
    def source(self) -> str:
        """The CUDA C text."""
        return self._printed.module.source

    @property
    def kernels(self) -> tuple[CudaKernel, ...]:
        """The kernels with name, parameters, block size and shared memory, in order of launch, case
        by case.
        """
        return self._printed.module.kernels

    def program_text(self, after: str = START) -> str:
        """The loop program after the lowering pass of that name, for each case of the schedule.

        Raises:
            KeyError: there is no such pass; the message lists the passes.
        """
        if after not in (START, *GPU_PASSES):
            names = ", ".join((START, *GPU_PASSES))
            raise KeyError(f"There is no pass {after!r}; there are {names}.")
        texts = []
        for case in cases(self.schedule):
            if not case.failure:
                nest = loop_nest(self.pipeline, case.schedule, case.assumptions)
                where = " and ".join(map(str, case.assumptions))
                texts += [f"where {where}:"] if where else []
                texts.append(program_text(gpu_stages(nest)[after]))
        return "\n".join(texts)

    def resources(self) -> Mapping[str, KernelResources]:
        """Registers, spills and shared memory of each kernel by name, as the compiler counts them.

        Raises:
            CudaUnavailable: the compiler's library is not here.
        """
        return compile_cuda(self.source, self.arch, float_mode=self.float_mode).kernels

    def run(
        self,
        inputs: Mapping[str, Any] = NO_IMAGES,
        params: Scalars | None = None,
        sizes: Sizes | None = None,
        out: Mapping[str, Any] | None = None,
        *,
        executor: CudaExecutor | None = None,
        stream: object = None,
    ) -> dict[str, Any]:
        """Computes every output. Takes the arguments of
        :meth:`spaces.backend.compile.CompiledPipeline.run`, and arrays in the memory of a GPU:
        those of CuPy, PyTorch, JAX, pycuda and all others with ``__cuda_array_interface__`` or
        ``__dlpack__``. Kernels use them in place if their last axis has no gaps and no axis is
        reversed; others are copied on the GPU, as an image is whose memory an output shares.

        Where an array of the call is on the GPU, outputs that are not in ``out`` are, too: each a
        :class:`~spaces.backend.arrays.device_array.DeviceArray`, which those libraries take
        without a copy. Otherwise they are NumPy arrays.

        **Order.** The work of a call stands in one stream. It waits for the streams that the arrays
        name, and they wait for it. If all arrays are on the GPU, the call returns before the
        kernels end. Later work of these streams then sees the results, and an error of a kernel is
        raised by a later call that waits. If an array is not on the GPU, the call returns when all
        is done.

        Args:
            inputs: an array for each image.
            params: values of scalar parameters.
            sizes: the size of each output.
            out: arrays to write outputs to.
            executor: what runs the kernels. The default is the first GPU of this machine. Without a
                GPU, and for hardened code, it is the emulator.
            stream: the stream of the work: one of CuPy, PyTorch or pycuda, any object with
                ``__cuda_stream__``, or the driver's number. The default is the stream of
                ``executor``: CUDA's default stream, unless :meth:`GpuExecutor.on` chose another.
                CUDA's default stream waits for work that other streams were asked for before, and
                they wait for it, except for streams made non-blocking. Arrays of some libraries,
                such as PyTorch, do not name a stream: give the one in which you use them.

        Raises:
            ArgumentError: the arguments do not fit the pipeline; the message names all arrays that
                do not.
            SizeError: they do not fit the schedule: tails, or what it reads of an image.
            CudaError: a launch failed.
            AccessError: hardened code meant to touch memory that is not its own.
            ValueError: the code is hardened, and ``executor`` does not test accesses.
        """
        return self.prepare(inputs, params, sizes, out, executor=executor, stream=stream)()

    def prepare(
        self,
        inputs: Mapping[str, Any] = NO_IMAGES,
        params: Scalars | None = None,
        sizes: Sizes | None = None,
        out: Mapping[str, Any] | None = None,
        *,
        executor: CudaExecutor | None = None,
        stream: object = None,
    ) -> PreparedGpuRun:
        """A run with checked arguments that you can repeat many times. Takes the arguments of
        :meth:`run`. Each call reads what the images then hold, except for NumPy arrays that are
        copied because of their strides, or because an output shares their memory.

        Raises:
            ArgumentError: the arguments do not fit the pipeline.
            SizeError: they do not fit the schedule.
            ValueError: the code is hardened, and ``executor`` does not test accesses.
        """
        runner = self._executor() if executor is None else executor
        runner = runner if stream is None else runner.on(stream)
        self._check_runner(runner)
        given = given_arrays(self.pipeline, inputs, out, runner.reader)
        arguments = bound(self.pipeline, given, params, sizes)
        arrays = GpuArrays.make(self.pipeline, arguments, given, runner, self.access_mode)
        if not any(arrays.has_elements):
            return PreparedGpuRun(lambda: None, arrays)
        compiled = self if all(arrays.has_elements) else self._beside_empty_outputs()
        return PreparedGpuRun(compiled._prepared(arguments, arrays, runner), arrays)

    def _prepared(
        self, arguments: Arguments, arrays: GpuArrays, runner: CudaExecutor
    ) -> Callable[[], None]:
        """What computes the outputs of arguments that fit the pipeline."""
        values = arrays.values(arguments)
        program, host = self._for_values(values, arguments)
        given = arrays.buffers(self.pipeline, arguments)

        def compute() -> None:
            shared = host.arrays()
            if self.access_mode is AccessMode.HARDENED:
                for array in shared.values():
                    poison(array)
            try:
                runner.follow(self._printed.module, host.planned, {**given, **shared}, self._unset)
            except AccessError as error:
                sides = error.outside.sides or self._sides(program, error.func, values)
                raise AccessError(evolve(error.outside, sides=sides)) from None

        return compute

    def _check_runner(self, runner: CudaExecutor) -> None:
        if self.access_mode is AccessMode.HARDENED and not isinstance(runner, _TESTING):
            raise ValueError(
                f"{type(runner).__name__} does not test accesses of memory; run hardened code on "
                f"{' or '.join(kind.__name__ for kind in _TESTING)}, or compile it plain."
            )

    def _executor(self) -> CudaExecutor:
        """What runs the kernels where a call does not say; only emulators test accesses."""
        return Emulator() if self.access_mode is AccessMode.HARDENED else present_executor()

    def _for_values(
        self, values: Mapping[str, int | float], arguments: Arguments
    ) -> tuple[GpuProgram, HostProgram]:
        """What runs for some values of sizes and parameters; recent ones are kept.

        Raises:
            SizeError: the values fail a precondition or a size check.
        """
        key = tuple(values.items())
        known = self._recent.find(key)
        if known is not None:
            return known.value
        check_sizes(self.preconditions, arguments)
        program = self.at(values)
        self._check(program, arguments)
        host = host_program(program.body, self._printed, self._parts, values)
        return self._recent.keep(key, (program, host)).value

    __call__ = run

    def __reduce__(self) -> tuple[Any, ...]:
        """The parts of the CPU are machine code, which serves one process, so a copy of the
        pipeline is compiled where it arrives.
        """
        return self._compile_again, ()

    def _sides(
        self, program: GpuProgram, buffer: str, values: Mapping[str, int | float]
    ) -> tuple[Side, ...]:
        """How device memory stands for coordinates; empty if that is not known."""
        found = {b.name: b.dimensions for b in program.buffers}
        if buffer in found:
            names = [
                [f"{buffer}.{part}.{d}" for part in ("min", "extent", "stride")]
                for d in range(found[buffer])
            ]
            return tuple(Side(*(int(values[name]) for name in side)) for side in names)
        known = whole_numbers(values)
        dimensions = program.dimensions.get(buffer, ())
        formulas = [(d.min, d.extent, d.stride) for d in dimensions]
        if not all(f.names <= known.keys() for side in formulas for f in side):
            return ()  # loops of the host change them
        return tuple(Side(*(evaluate(f, known) for f in side)) for side in formulas)

    def at(self, values: Mapping[str, int | float]) -> GpuProgram:
        """The program that runs for these values of sizes and parameters. Conditions may contain
        strides: they are the strides in device memory, where arrays lie without gaps.
        """
        *chosen, last = self.programs
        for program in chosen:
            if all(holds(condition, values) for condition in program.assumptions):
                return program
        return last

    def _check(self, program: GpuProgram, arguments: Arguments) -> None:
        """Refuses a call that fails a size check of the program."""
        values = {**arguments.sizes(), **whole_numbers(arguments.scalars)}
        asked = {expanded(p.condition) for p in self.pipeline.promises}  # checked before
        for check in program.size_checks:
            if check.condition in asked:
                continue
            if not evaluate(check.condition, values):
                raise size_error(check, arguments)


@frozen(eq=False)
class PreparedGpuRun:
    """A pipeline and the arrays that kernels run on. Each call computes the outputs again."""

    _compute: Callable[[], None]
    _arrays: GpuArrays

    def __call__(self) -> dict[str, Any]:
        """Runs and returns the outputs, the same arrays each time. If all arrays are on the GPU, it
        returns before the kernels end.

        Raises:
            CudaError: a launch failed.
            AccessError: hardened code meant to touch memory that is not its own.
        """
        with self._arrays.in_place():
            self._compute()
        self._arrays.outputs.results()
        return dict(self._arrays.results)
