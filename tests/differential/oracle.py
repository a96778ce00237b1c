"""What a schedule does when nobody verifies it: the nest run over shadow memory, and lowering."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from attrs import define, field
from numpy.typing import NDArray

from spaces import LoopKind, LoopNest, Schedule, evaluate, loop_nest
from spaces.backend.lowering.cpu.passes import lower
from spaces.backend.lowering.gpu.passes import lower_gpu
from spaces.backend.lowering.start import start
from spaces.model.expressions.expr import Const
from spaces.model.formulas.algebra import evaluate as number
from tests.differential.gpu_machine import GpuMachine
from tests.differential.python_code import same
from tests.differential.rounding import EXACTLY, Tolerance, spread
from tests.differential.shadow import Picture, Shadow, ShadowMemory, Storage, TooLong, Trouble
from tests.differential.subjects import EXACT, ODD, Ranges, Subject

GPU_KINDS = (LoopKind.GPU_BLOCK, LoopKind.GPU_THREAD)

_MOST_COPIES = 64
"""Copies and lanes that unchecked lowering is asked to make."""


@define
class Oracle:
    """What is right about one subject; values of the reference are kept by size."""

    subject: Subject
    pictures: dict[str, Picture] = field(init=False)
    _expected: dict[int, Mapping[str, NDArray[Any]]] = field(init=False, factory=dict)

    def __attrs_post_init__(self) -> None:
        places = self.subject.places
        self.pictures = {
            name: Picture(name, values, places[name])
            for name, values in self.subject.images.items()
        }

    def expected(self, size: int) -> Mapping[str, NDArray[Any]]:
        """The outputs of the reference."""
        if size not in self._expected:
            subject = self.subject
            sizes = subject.sizes(size)
            self._expected[size] = evaluate(subject.pipeline, subject.images, sizes=sizes)
        return self._expected[size]

    def arrays(self, size: int) -> dict[str, Ranges]:
        """The range of every output, of each of its components, and of every image."""
        sizes = self.subject.sizes(size)
        functions = map(self.subject.pipeline.function, self.subject.pipeline.outputs)
        return sizes | {buffer: sizes[f.name] for f in functions for buffer in f.buffers}

    def values(self, size: int) -> dict[str, int | float]:
        """Size variables and scalar parameters."""
        found: dict[str, int | float] = {
            f"{buffer}.{part}.{d}": value
            for buffer, ranges in self.arrays(size).items()
            for d, limits in enumerate(ranges)
            for part, value in zip(("min", "extent"), limits, strict=True)
        }
        return found | {s.name: s.default or 0 for s in self.subject.pipeline.scalars}

    def device_values(self, size: int) -> dict[str, int | float]:
        """The same, and the strides of dense arrays."""
        values = self.values(size)
        for buffer, ranges in self.arrays(size).items():
            stride = 1
            for d, (_, extent) in enumerate(ranges):
                values[f"{buffer}.stride.{d}"] = stride
                stride *= extent
        return values

    def run_shadow(
        self, shadow: Shadow, size: int, limits: Mapping[str, Tolerance] | None = None
    ) -> None:
        """Run a nest at a size; ``limits`` are tolerances of what is not to be exact.

        Raises:
            Trouble: something is wrong with it, or its outputs are not those of the reference.
            TooLong: it takes too many steps.
        """
        for negative in (False, True):
            memory = ShadowMemory(negative)
            outputs = shadow.run(self.values(size), self.pictures, memory)
            for name, output in outputs.items():
                buffers = self.subject.pipeline.function(name).buffers
                wanted = [self.expected(size)[buffer] for buffer in buffers]
                allowed = [(limits or {}).get(buffer, EXACTLY) for buffer in buffers]
                self._compare(output, wanted, allowed, memory)
            if not memory.found:
                return

    def run_gpu(
        self, machine: GpuMachine, size: int, limits: Mapping[str, Tolerance] | None = None
    ) -> None:
        """Run the program of a GPU at a size, with tolerances as of :meth:`run_shadow`.

        Raises:
            Trouble: something is wrong with it, or its outputs are not those of the reference.
            TooLong: it takes too many steps.
        """
        values, expected = self.device_values(size), self.expected(size)
        images = {name: picture.values for name, picture in self.pictures.items()}
        elements = {name: wanted.size for name, wanted in expected.items()}
        for negative in (False, True):
            memory = ShadowMemory(negative)
            found = machine.run(values, images, elements, memory)
            for name, wanted in expected.items():
                allowed = spread((limits or {}).get(name, EXACTLY), wanted).reshape(-1).tolist()
                if not all(map(_is_near, found[name], wanted.reshape(-1).tolist(), allowed)):
                    kind, why = next(iter(memory.found.items()), ("wrong value", ""))
                    raise Trouble(kind, f"{name} is not as it should be. {why}")
            if not memory.found:
                return

    def _compare(
        self,
        output: Storage,
        wanted: list[NDArray[Any]],
        allowed: list[Tolerance],
        memory: ShadowMemory,
    ) -> None:
        lows = [low for low, _, _ in reversed(output.limits)]
        found = {at: value for at, value, _, _ in output.places.values()}
        parts = [_elements(array.tolist(), array.ndim) for array in wanted]
        limits = [
            [limit for _, limit in _elements(spread(limit, array).tolist(), array.ndim)]
            for limit, array in zip(allowed, wanted, strict=True)
        ]
        for each, near in zip(zip(*parts, strict=True), zip(*limits, strict=True), strict=True):
            indices, values = each[0][0], tuple(value for _, value in each)
            value = values if len(values) > 1 else values[0]
            at = tuple(low + i for low, i in zip(lows, indices, strict=True))[::-1]
            if at not in found:
                raise Trouble("never computed", f"{output.name}{at} is not written")
            given = found[at] if len(values) > 1 else (found[at],)
            if not all(map(_is_near, given, values, near)):
                kind, why = next(iter(memory.found.items()), ("wrong value", ""))
                raise Trouble(kind, f"{output.name}{at} is {found[at]}, not {value}. {why}")


def _is_near(found: Any, wanted: Any, limit: float) -> bool:
    return same(found, wanted) or math.isinf(limit) or 0 < abs(found - wanted) <= limit


def _elements(values: Any, dimensions: int) -> list[tuple[tuple[int, ...], Any]]:
    if dimensions == 0:
        return [((), values)]
    return [
        ((i, *rest), value)
        for i, part in enumerate(values)
        for rest, value in _elements(part, dimensions - 1)
    ]


def evidence(oracle: Oracle, schedule: Schedule) -> str:
    """What goes wrong with a schedule that is run without being verified; empty where nothing was
    seen to.
    """
    pipeline = oracle.subject.pipeline
    try:
        nest = loop_nest(pipeline, schedule)
        shadow = Shadow(nest)
    except Exception as error:  # whatever it is, it is the crash that was claimed
        return f"no nest: {type(error).__name__}"
    for size in (EXACT, ODD):
        try:
            if size == EXACT or _is_accepted(oracle, nest, size):
                oracle.run_shadow(shadow, size)
        except Trouble as trouble:
            return trouble.kind
        except TooLong:
            break
        except Exception as error:
            return f"crash: {type(error).__name__}"
    return _lowering(nest)


def _is_accepted(oracle: Oracle, nest: LoopNest, size: int) -> bool:
    """Whether a call of that size meets all that the program requires."""
    values = {n: v for n, v in oracle.values(size).items() if isinstance(v, int)}
    return all(number(r.condition, values) for r in start(nest).size_checks)


def _lowering(nest: LoopNest) -> str:
    loops = [
        loop
        for placement in nest.placements.values()
        for stage in placement.stages
        for loop in (*placement.path, *stage.loops)
    ]
    copied = {
        loop.var.name: int(loop.extent.value)
        for loop in loops
        if loop.kind in (LoopKind.UNROLLED, LoopKind.VECTORIZED) and isinstance(loop.extent, Const)
    }
    if math.prod(max(1, copies) for copies in copied.values()) > _MOST_COPIES:
        return ""
    try:
        if any(loop.kind in GPU_KINDS for loop in loops):
            lower_gpu(nest)
        else:
            lower(nest)
    except Exception as error:
        return f"no program: {type(error).__name__}"
    return ""
