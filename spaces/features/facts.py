"""Numbers of a stage that differ between two schedules, as sentences.

A fact only says what differs. What it costs is the matter of a cost model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from attrs import frozen

from spaces.features.features import Features
from spaces.features.in_kernels import kernel_of
from spaces.features.records import KernelFeatures, LoopFeatures, StageFeatures, total
from spaces.features.structure_features import parallel_iterations
from spaces.model.formulas.symbolic import SymbolicNumber, as_array
from spaces.model.schedules.domain_order import LoopKind
from spaces.model.schedules.schedule import StageOf

LEAST_RATIO = 1.005
"""Numbers that are closer to each other are written without their ratio."""


@frozen
class Fact:
    """A number or a text about a stage.

    Attributes:
        says: what a schedule does, with ``{}`` for the value, and ``{s}`` for the ending of the
            plural: ``evaluates it {} time{s}``.
        read: the value; features have ints, floats or arrays of one number.
    """

    says: str
    read: Callable[[Features, StageFeatures], SymbolicNumber | str]

    def difference(
        self, first: tuple[Features, StageFeatures], second: tuple[Features, StageFeatures]
    ) -> str:
        """A sentence with both values; empty if they are equal."""
        return difference(self.says, self.read(*first), self.read(*second))


def difference(says: str, first: SymbolicNumber | str, second: SymbolicNumber | str) -> str:
    """``The first evaluates it 12 times, the second 4 (3.00 times as many in the first).``; empty
    if the values are equal, or look equal.
    """
    if isinstance(first, str) or isinstance(second, str):
        if first == second:
            return ""
        return f"The first {says.format(first)}, the second {second}."
    one, other = float(as_array(first)), float(as_array(second))
    if as_text(one) == as_text(other):
        return ""
    told = says.format(as_text(one), s="" if one == 1 else "s")
    return f"The first {told}, the second {as_text(other)}{_in_proportion(one, other)}."


def _in_proportion(first: float, second: float) -> str:
    """`` (3.00 times as many in the first)``; empty if the proportion says nothing."""
    least, most = sorted((first, second))
    if least <= 0 or most / least < LEAST_RATIO:
        return ""
    where = "first" if first > second else "second"
    return f" ({as_ratio(most / least)} times as many in the {where})"


def as_ratio(ratio: float) -> str:
    """A ratio with three digits, or all digits before the point."""
    return f"{ratio:,.{2 if ratio < 10 else 1 if ratio < 100 else 0}f}"


def as_text(number: float) -> str:
    """A count with commas between thousands; an average with four digits."""
    return f"{number:,.0f}" if number.is_integer() else f"{number:,.4g}"


def _level(features: Features, stage: StageFeatures) -> str:
    return f"at {features.schedule.of(stage.func).compute}"


def _kernel_of(features: Features, stage: StageFeatures) -> str:
    kernel = kernel_of(stage)
    return "outside all kernels" if kernel is None else f"in the kernel of {StageOf(*kernel)}"


def _redundant_values(features: Features, stage: StageFeatures) -> SymbolicNumber:
    """Only the pure definition computes each value that its consumers need."""
    return 0 if stage.index else features.func(stage.func).redundant


def _parallel_loops(stage: StageFeatures) -> tuple[LoopFeatures, ...]:
    """The parallel loops that a stage gives their names."""
    return tuple(
        loop
        for loop in stage.own
        if loop.kind is LoopKind.PARALLEL and loop.key[:2] == (stage.func, stage.index)
    )


def _loops(features: Features, stage: StageFeatures) -> str:
    """``(parallel yo 32, xo 8, vectorized xi 16)``: the loops around a stage, outermost first."""
    shown = []
    for loop in stage.loops:
        kind = "" if loop.kind is LoopKind.SERIAL else f"{loop.kind} "
        owner = "" if loop.func == stage.func else f"{loop.func}."
        shown.append(f"{kind}{owner}{loop.loop} {as_text(float(as_array(loop.trips)))}")
    return f"({', '.join(shown)})"


LEVEL = Fact("computes it {}", _level)
KERNEL = Fact("computes it {}", _kernel_of)
EVALUATIONS = Fact("evaluates it {} time{s}", lambda features, stage: stage.points)
REDUNDANT = Fact("repeats {} evaluation{s}", _redundant_values)
OPERATIONS = Fact(
    "takes {} operation{s} for one evaluation",
    lambda features, stage: stage.work.operations.total,
)
CALLS = Fact(
    "calls foreign code {} time{s}",
    lambda features, stage: 0 if stage.work.code is None else stage.visits,
)
READS = Fact(
    "reads {} value{s} for one evaluation",
    lambda features, stage: total(access.reads for access in stage.work.accesses),
)
LANES = Fact("has {} vector lane{s}", lambda features, stage: stage.lanes)
TASKS = Fact(
    "has {} parallel task{s} around it", lambda features, stage: parallel_iterations(stage)
)
ALLOCATIONS = Fact(
    "allocates it {} time{s}", lambda features, stage: features.func(stage.func).allocations
)
STORAGE = Fact(
    "takes {} byte{s} for one of its allocations",
    lambda features, stage: features.func(stage.func).allocation_bytes,
)
STORES = Fact("stores {} of its values", lambda features, stage: features.func(stage.func).stores)
LOADS = Fact("loads {} value{s} of stored Funcs", Features.loads_of_funcs)
STARTS = Fact(
    "starts its parallel loops {} time{s}",
    lambda features, stage: total(
        loop.runs / loop.positive_trips for loop in _parallel_loops(stage)
    ),
)
ITERATIONS = Fact(
    "runs {} iteration{s} of its parallel loops",
    lambda features, stage: total(loop.runs for loop in _parallel_loops(stage)),
)
LOOPS = Fact("has the loops {}", _loops)


def read_storage(
    first: tuple[Features, StageFeatures], second: tuple[Features, StageFeatures]
) -> Iterator[str]:
    """Sentences about the storage of the Funcs that a stage reads in both schedules."""
    for buffer in first[1].work.buffers:
        one, other = first[0].computed(buffer), second[0].computed(buffer)
        is_read = buffer != first[1].func and buffer in second[1].work.buffers
        if is_read and one is not None and other is not None:
            says = f"takes {{}} byte{{s}} for one allocation of {buffer}, which it reads"
            yield difference(says, one.allocation_bytes, other.allocation_bytes)


def kernel_facts(first: Features, second: Features, name: tuple[str, int]) -> Iterator[str]:
    """Sentences about a kernel that both schedules have."""
    one, other = _kernel(first, name), _kernel(second, name)
    if one is None or other is None:
        return
    yield difference("starts {} block{s}", one.blocks, other.blocks)
    yield difference("has {} thread{s} in a block", one.threads, other.threads)
    yield difference(
        "takes {} byte{s} of shared memory in a block", one.shared_bytes, other.shared_bytes
    )
    points, others = _points(first, name), _points(second, name)
    for stage in dict.fromkeys((*points, *others)):
        says = f"evaluates {stage} {{}} time{{s}} in this kernel"
        yield difference(says, points.get(stage, 0), others.get(stage, 0))


def _kernel(features: Features, name: tuple[str, int]) -> KernelFeatures | None:
    return next((k for k in features.kernels if (k.func, k.stage) == name), None)


def _points(features: Features, kernel: tuple[str, int]) -> dict[StageOf, SymbolicNumber]:
    """The evaluations of each stage in a kernel."""
    inside = (stage for stage in features.stages if kernel_of(stage) == kernel)
    return {StageOf(stage.func, stage.index): stage.points for stage in inside}


def absence(which: str, features: Features, func: str) -> str:
    """Why a schedule computes no stage of a Func."""
    if any(function.name == func for function in features.pipeline.functions):
        return f"The {which} inlines {func}."
    return f"The {which} has no Func {func}."
