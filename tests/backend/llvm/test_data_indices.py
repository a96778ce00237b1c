"""Coordinates calculated from data: sums of int32 numbers wrap in compiled code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from spaces.backend.compile import compile_cpu
from spaces.backend.compile_gpu import compile_gpu
from spaces.constraints.devices.device import device
from spaces.constraints.legality.verdict import CheckedSchedule
from spaces.constraints.legality.verify import verify
from spaces.constraints.proofs.prove import prove
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.var import Var
from spaces.model.directives.directives import Directives, schedule
from spaces.model.expressions import functions as fn
from spaces.model.expressions.expr import Expr
from spaces.model.expressions.types import Int32

X = Var("x")
IMAGE = ImageParam(Int32, 1, "im")
DATA = np.array([2**31 - 1, -(2**31), 2**30, -1, 0, 7, 123456789, -987654321], np.int32)

PLACES: dict[str, tuple[Callable[[Expr], Expr], Callable[[Any], Any]]] = {
    "hash": (lambda v: (v * 1103515245 + 12345) / 65536 % 16, lambda v: hashed(v)),
    "twice": (lambda v: fn.clamp(v + v, 0, 15), lambda v: np.clip(v + v, 0, 15)),
    "square": (lambda v: fn.min(fn.max(v * v, 2), 9), lambda v: np.clip(v * v, 2, 9)),
    "larger": (lambda v: fn.select(v + 1 > v, 3, 4), lambda v: np.where(v + 1 > v, 3, 4)),
    "between": (lambda v: fn.max(fn.min(v - 1, v + 1), 0) % 5, lambda v: between(v)),
}


def hashed(v: Any) -> Any:
    return (v * np.int32(1103515245) + np.int32(12345)) // 65536 % 16


def between(v: Any) -> Any:
    return np.maximum(np.minimum(v - 1, v + 1), 0) % 5


ORDERS: dict[str, Callable[[Directives], Directives]] = {
    "plain": lambda s: s,
    "vectorized": lambda s: s.func("out").vectorize("x", 4),
}


def reading(place: Callable[[Expr], Expr]) -> Directives:
    table, out = Func("table"), Func("out")
    table[X] = X * 10
    out[X] = table[place(IMAGE[X])]
    return schedule(pipeline(out)).func("table").compute_root()


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", PLACES)
def test_compiled_code_reads_where_numbers_have_wrapped(name: str, order: str) -> None:
    place, meant = PLACES[name]
    chosen = ORDERS[order](reading(place))
    checked = verify(chosen.pipeline, chosen.schedule, device("cpu"))
    assert isinstance(checked, CheckedSchedule), checked
    with np.errstate(over="ignore"):
        wanted = meant(DATA) * 10
    found = compile_cpu(checked).run({"im": DATA}, sizes={"out": (8,)})["out"]
    assert found.tolist() == wanted.tolist()
    report = prove(checked)
    assert not report.refuted
    assert all(p.obligation.kind != "bounds" for p in report.unknown)


@pytest.mark.parametrize("name", PLACES)
def test_kernels_read_there_too(name: str) -> None:
    place, meant = PLACES[name]
    start = reading(place).func("table").gpu_tile("x", "xo", "xi", 4)
    chosen = start.func("out").gpu_tile("x", "xo", "xi", 4)
    checked = verify(chosen.pipeline, chosen.schedule, device("sm_80"))
    assert isinstance(checked, CheckedSchedule), checked
    with np.errstate(over="ignore"):
        wanted = meant(DATA) * 10
    found = compile_gpu(checked).run({"im": DATA}, sizes={"out": (8,)})["out"]
    assert found.tolist() == wanted.tolist()
