"""Copies of inlined Funcs: reads at the same coordinates share one."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from spaces.apps.gallery.catalog import GALLERY
from spaces.constraints.devices.device import device
from spaces.constraints.legality.verify import verify
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.inlined import without_inlined
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.var import Var
from spaces.model.expressions.expr import Call, Expr, Op, as_expr
from spaces.model.expressions.types import Int32
from spaces.model.schedules.schedule import Schedule

X = Var("x")
CPU = device("cpu")


def _chain(stages: int, *shifts: Callable[[Expr], Expr]) -> Pipeline:
    """Stages; each reads the one before at some coordinates."""
    source: ImageParam | Func = ImageParam(Int32, 1, "image")
    for number in range(stages):
        func = Func(f"f{number}")
        func[X] = sum((source[shift(X)] for shift in shifts), start=as_expr(0))
        source = func
    return pipeline(source)


def _read(pipe: Pipeline) -> set[Expr]:
    """The coordinates at which the output reads the image if all Funcs are inlined."""
    (output,) = without_inlined(pipe, frozenset(f.name for f in pipe.functions))
    return {call.args[0] for call in output.stages[0].calls if isinstance(call, Call)}


def test_a_stencil_of_stencils_reads_each_point_once() -> None:
    read = _read(_chain(8, lambda x: x - 1, lambda x: x, lambda x: x + 1))
    assert read == {X + n if n > 0 else X - -n if n else X for n in range(-8, 9)}


def test_the_terms_of_a_pointwise_chain_are_rebuilt_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each definition contains all before it, and takes them over as they are."""
    stages, rebuilt, rebuild = 60, list[Expr](), Op.with_children

    def counted(node: Op, children: tuple[Expr, ...]) -> Expr:
        rebuilt.append(node)
        return rebuild(node, children)

    pipe = _chain(stages, lambda x: x)
    monkeypatch.setattr(Op, "with_children", counted)
    assert _read(pipe) == {X}
    assert stages < len(rebuilt) < 4 * stages


def test_offsets_that_wrap_add_up() -> None:
    (read,) = _read(_chain(2, lambda x: x + (2**31 - 1)))
    assert read is X + -2


@pytest.mark.parametrize("name", ["bitonic_sort_8", "heat_2d", "masked_jacobi", "sound_waves"])
def test_what_is_shared_is_legal_however_often_it_is_read(name: str) -> None:
    pipe = GALLERY[name].pipeline()
    assert verify(pipe, Schedule.default(pipe), CPU).legal


def test_copies_at_different_coordinates_are_too_many() -> None:
    apart = _chain(20, lambda x: x / 2, lambda x: x / 3)
    (found,) = verify(apart, Schedule.default(apart), CPU).violations
    assert (found.rule, found.func) == ("call.inline-size", "f2")
    assert found.values["reads"] == 2**17
    shared = _chain(20, lambda x: x + 2, lambda x: x + 3)
    assert verify(shared, Schedule.default(shared), CPU).legal
