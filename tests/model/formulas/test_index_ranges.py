"""Regions of a table whose indices depend on data, checked against the indices that occur."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from spaces.backend.compile import compile_cpu
from spaces.backend.reference import evaluate
from spaces.constraints.devices.device import device
from spaces.constraints.legality.verdict import CheckedSchedule
from spaces.constraints.legality.verify import verify
from spaces.constraints.proofs.prove import prove
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.var import Var
from spaces.model.directives.directives import schedule
from spaces.model.expressions import functions as fn
from spaces.model.expressions import integer_functions as fixed
from spaces.model.expressions.expr import Const, Expr, cast
from spaces.model.expressions.types import Int16, Int32, UInt8

X = Var("x")
IMAGE, SIGNED = ImageParam(UInt8, 1, "im"), ImageParam(Int16, 1, "signed")
A, B, C, S = IMAGE[X], IMAGE[X + 1], IMAGE[X + 2], SIGNED[X]

INDICES: dict[str, tuple[Expr, int, int]] = {
    "byte": (A, 0, 255),
    "shift": (A >> 3, 0, 31),
    "mask": (A & 15, 0, 15),
    "bits of two": (cast(Int32, A) & S, 0, 255),
    "joined": ((A & 7) | ((B & 3) << 3), 0, 31),
    "turned": (A ^ 3, 0, 255),
    "wide": ((cast(Int32, A) << 2) | 3, 3, 1023),
    "difference": (fixed.absd(A >> 1, B >> 1), 0, 127),
    "saturated": (fixed.saturating_cast(UInt8, S), 0, 255),
    "extracted": (fixed.extract_bits(UInt8, A, 5), 0, 7),
    "average": (fixed.rounding_halving_add(A, B) >> 4, 0, 15),
    "blend": (fixed.lerp(A, B, C), 0, 255),
    "widened": (fixed.widening_add(A, B) / 2, 0, 255),
    "chain": (fn.select(A > 3, cast(UInt8, 1), A > 2, cast(UInt8, 7), cast(UInt8, 3)), 1, 7),
    "mux": (fn.mux(A & 1, [cast(UInt8, 3), cast(UInt8, 9)]), 3, 9),
    "count": (fixed.popcount(A), 0, 8),
    "sum": ((cast(Int32, A) >> 2) + (cast(Int32, B) >> 4), 0, 78),
    "likely": (fixed.likely(A) >> 5, 0, 7),
}
"""Indices, each with the smallest and the largest index of its region."""


def looked_up(index: Expr) -> tuple[CheckedSchedule, dict[str, np.ndarray]]:
    table, out = Func("table"), Func("out")
    table[X] = X * X + 1
    out[X] = table[index]
    algorithm = pipeline(out)
    chosen = schedule(algorithm).func("table").compute_root().schedule
    checked = verify(algorithm, chosen, device("cpu"))
    assert isinstance(checked, CheckedSchedule), checked
    generator = np.random.default_rng(2)
    pixels = {
        "im": generator.integers(0, 256, 400).astype(np.uint8),
        "signed": generator.integers(-(1 << 15), 1 << 15, 400).astype(np.int16),
    }
    return checked, {i.name: pixels[i.name] for i in algorithm.images}


@pytest.mark.parametrize("name", INDICES)
def test_regions_hold_every_read_and_are_tight(name: str) -> None:
    index, low, high = INDICES[name]
    checked, inputs = looked_up(index)
    (interval,) = checked.nest.placements["table"].demanded
    assert isinstance(interval.min, Const)
    assert isinstance(interval.max, Const)
    assert (interval.min.value, interval.max.value) == (low, high)
    sizes = {"out": (300,)}
    expected = evaluate(checked.pipeline, inputs, sizes=sizes)["out"]
    reached = np.sqrt(expected - 1)
    assert low <= reached.min()
    assert reached.max() <= high
    found = compile_cpu(checked).run(inputs, sizes=sizes)["out"]
    assert (found == expected).all()


@pytest.mark.parametrize("name", INDICES)
def test_proofs_show_that_reads_lie_in_the_allocation(name: str) -> None:
    report = prove(looked_up(INDICES[name][0])[0])
    assert len(report.proven) == len(report.proofs)


PLACES: list[tuple[Callable[[Expr], Expr], Callable[[int], int]]] = [
    (lambda x: x >> 1, lambda x: x // 2),
    (lambda x: (x << 1) + 1, lambda x: 2 * x + 1),
    (lambda x: x & 6, lambda x: x // 2 % 4 * 2),
    (lambda x: fixed.absd(x, 9), lambda x: max(x - 9, 9 - x)),
]


@pytest.mark.parametrize(("place", "meant"), PLACES)
def test_coordinates_are_shifted_and_masked(
    place: Callable[[Expr], Expr], meant: Callable[[int], int]
) -> None:
    first, out = Func("first"), Func("out")
    first[X] = SIGNED[X] * 2
    out[X] = first[place(X)]
    algorithm = pipeline(out)
    chosen = schedule(algorithm).func("first").compute_root().schedule
    checked = verify(algorithm, chosen, device("cpu"))
    assert isinstance(checked, CheckedSchedule)
    data = np.arange(64, dtype=np.int16)
    found = compile_cpu(checked).run({"signed": data}, sizes={"out": [(3, 20)]})["out"]
    assert found.tolist() == [2 * meant(x) for x in range(3, 23)]
