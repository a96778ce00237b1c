"""Records as JSON: nothing lost, sharing kept, and garbage refused with sentences."""

from __future__ import annotations

import contextlib
import copy
import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.param import Param
from spaces.model.algorithm.pipeline import Function, Image, Pipeline, ReductionVar, Scalar, Stage
from spaces.model.algorithm.var import Var
from spaces.model.expressions import functions as fn
from spaces.model.expressions.expr import Const, Expr, as_expr, cast
from spaces.model.expressions.types import SCALAR_TYPES, Float32, Int32, Type, UInt8
from spaces.model.nest.tree import RootNode, schedule_tree
from spaces.model.schedules.domain_order import (
    DomainOrder,
    Fuse,
    LoopKind,
    OrderedLoop,
    Split,
    Tail,
)
from spaces.model.schedules.schedule import Fold, FuncSchedule, LoopLevel, MemoryType, Schedule
from spaces.model.writing.serialize import DocumentError, from_json, to_json
from tests.draw_counts import is_thorough
from tests.drawn_pipelines import stencil_pipelines
from tests.model.directives.random_directives import schedules
from tests.model.pipelines import X, Y, blur, box, diamond

BLUR, BOX = blur(), box()


def every_operator() -> Pipeline:
    """A pipeline with every operator and type, a data-dependent read, and a parameter."""
    image = ImageParam(UInt8, 2, "input")
    gain = Param(Float32, "gain", default=math.inf)
    f = Func("f")
    value: Expr = image[fn.clamp(cast(Int32, image[X, Y]), 0, 7), Y]
    total = cast("float64", 0)
    for name in SCALAR_TYPES:
        if name != "bool":
            total = total + cast("float64", fn.abs(cast(name, value)) % 3)
    for function in (fn.sqrt, fn.sin, fn.cos, fn.tan, fn.exp, fn.log, fn.floor, fn.ceil):
        total = total + function(gain.as_expr())
    total = total + fn.pow(gain, as_expr(1e-45)) / -0.0 - math.nan
    wanted = ((X < Y) & (X <= 3)) | ~(X > Y) | (X >= Y) | (X == Y) | (X != 3)
    f[X, Y] = fn.select(wanted, fn.min(total, 0.1), fn.max(total, math.inf))
    return pipeline(f, "all of it", estimates={f: [(2, 30), 20], image: [8, 8]})


@settings(max_examples=100 if is_thorough() else 18)
@given(schedules(BOX))
def test_schedules_survive(schedule: Schedule) -> None:
    read = from_json(to_json(schedule), Schedule)
    assert read == schedule
    # Enumerations are strings, so that equality alone would let a plain string pass.
    for func in read.funcs:
        assert type(func.memory) is MemoryType
        for order in func.stages:
            assert all(type(loop.kind) is LoopKind for loop in order.loops)
            assert all(type(s.tail) is Tail for s in order.splits if isinstance(s, Split))


@given(stencil_pipelines())
def test_pipelines_survive(algorithm: Pipeline) -> None:
    assert from_json(to_json(algorithm), Pipeline) == algorithm


@pytest.mark.parametrize("algorithm", [BLUR, BOX, diamond(), every_operator()])
def test_these_pipelines_survive(algorithm: Pipeline) -> None:
    read = from_json(to_json(algorithm, indent=2), Pipeline)
    assert read == algorithm
    assert to_json(read) == to_json(algorithm)


def test_every_kind_of_record_survives() -> None:
    stage = BOX.function("hist").stages[1]
    records: list[Any] = [
        Type("uint", 8, 4),
        Type("uint", 1),
        Type("uint", 1, 4),
        *stage.rvars,
        stage,
        BOX.function("hist"),
        Image("i", Float32, 3),
        Scalar("a", Float32, 1.5),
        Scalar("b", Int32, 3),
        Scalar("c", Int32),
        Scalar("d", Float32, -math.inf),
        *every_operator().estimates,
        Split("x", "xo", "xi", "tx", Tail.ROUND_UP),
        Fuse("x", "y", "t"),
        OrderedLoop("x", LoopKind.GPU_BLOCK),
        LoopLevel("f", "x"),
        Fold("y", 4),
        DomainOrder(
            (Fuse("x", "y", "t"), Split("t", "a", "b", 8)), (OrderedLoop("a"), OrderedLoop("b"))
        ),
        FuncSchedule("f", (DomainOrder(),), folds=(Fold("y", "n"),)),
        schedule_tree(BOX, Schedule.default(BOX)),
        *stage.calls,
        stage.values[0],
    ]
    for record in records:
        assert from_json(to_json(record), type(record)) == record
    assert isinstance(from_json(to_json(Scalar("a", Float32, 1.0)), Scalar).default, float)
    nan = from_json(to_json(Scalar("a", Float32, math.nan)), Scalar).default
    assert nan is not None
    assert math.isnan(nan)


def test_a_document_is_plain() -> None:
    assert json.loads(to_json(OrderedLoop("x"))) == {
        "is": "OrderedLoop",
        "version": 1,
        "value": {"name": "x", "kind": "serial"},
    }
    x = Var("x")
    assert json.loads(to_json(Stage((x,), (x + cast("uint8", 3),)))) == {
        "is": "Stage",
        "version": 1,
        "nodes": [
            {"type": "int32", "var": "x"},
            {"type": "int32", "const": 3},
            {"type": "int32", "op": "add", "args": [0, 1]},
        ],
        "value": {"args": [0], "values": [2], "rvars": [], "predicates": []},
    }


def test_shared_expressions_stay_shared() -> None:
    doubled: Expr = as_expr(X)
    for _ in range(200):
        doubled = doubled + doubled
    text = to_json(Stage((X,), (doubled,)))
    assert len(json.loads(text)["nodes"]) == 201
    assert from_json(text, Stage).values[0] is doubled


def test_deep_expressions_need_no_deep_stack() -> None:
    deep: Expr = as_expr(X)
    for _ in range(20_000):
        deep = deep + 1
    assert from_json(to_json(Stage((X,), (deep,))), Stage).values[0] is deep


def refusal(text: str, type_: type[Any] = Schedule) -> str:
    with pytest.raises(DocumentError) as caught:
        from_json(text, type_)
    return str(caught.value)


def changed(record: object, *path: str | int, to: object) -> str:
    """The document of ``record`` with the value at ``path`` replaced (or deleted, by ...)."""
    document = json.loads(to_json(record))
    *parents, last = path
    place: Any = document
    for step in parents:
        place = place[step]
    if to is ...:
        del place[last]
    else:
        place[last] = to
    return json.dumps(document)


FUNC = ("value", "funcs", 0)
DEFAULT = Schedule.default(BLUR)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[1]", '"is", "version" and "value"'),
        (changed(DEFAULT, "version", to=...), '"is", "version" and "value"'),
        (
            changed(DEFAULT, "version", to=2),
            "has version 2 of the format; this library reads",
        ),
        (changed(DEFAULT, "version", to=True), "has version true of"),
        (changed(DEFAULT, "version", to=[1]), "has version a list of"),
        (to_json(BLUR), "holds 'Pipeline', not a Schedule"),
        (changed(DEFAULT, "author", to=3), "no key author"),
        (changed(DEFAULT, *FUNC, to=3), "value.funcs[0]: Expected an object"),
        (changed(DEFAULT, *FUNC, "name", to=3), "value.funcs[0].name: Expected a string"),
        (changed(DEFAULT, *FUNC, "name", to=...), "value.funcs[0].name: This field is missing"),
        (changed(DEFAULT, *FUNC, "color", to=3), "value.funcs[0]: There is no field color"),
        (
            changed(DEFAULT, *FUNC, "memory", to="attic"),
            "'attic' is not a MemoryType; those are auto",
        ),
        (changed(DEFAULT, *FUNC, "stages", to="abc"), "Expected a list"),
        (
            changed(DEFAULT, *FUNC, "stages", 0, "splits", to=[{"is": "Twist"}]),
            'splits[0]: Expected an object whose "is" is one of Split, Fuse',
        ),
        (
            changed(DEFAULT, *FUNC, "folds", to=[{"dimension": "x", "factor": 2.5}]),
            "folds[0].factor: Expected a whole number or a string, not 2.5",
        ),
        (
            changed(DEFAULT, *FUNC, "folds", to=[{"dimension": "x", "factor": True}]),
            "folds[0].factor: Expected a whole number or a string",
        ),
    ],
)
def test_garbage_in_schedules(text: str, part: str) -> None:
    assert part in refusal(text)


def test_all_mistakes_are_told() -> None:
    text = changed(DEFAULT, *FUNC, to={"name": 1, "stages": [], "memory": "?", "x": 2})
    assert len(refusal(text).splitlines()) == 4


NODE = ("nodes", 0)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        (changed(BLUR, "nodes", to=3), "nodes must be a list"),
        (changed(BLUR, *NODE, to=3), "Node 0: it must be an object"),
        (changed(BLUR, *NODE, to={"var": "x"}), "Node 0: it must have a type"),
        (changed(BLUR, *NODE, "type", to="int3x"), "'int3x' is not an element type"),
        (changed(BLUR, *NODE, "type", to="quux8"), "'quux8' is not an element type"),
        (changed(BLUR, *NODE, to={"type": "int32", "cast": 0}), "number of an earlier node"),
        (changed(BLUR, *NODE, to={"type": "uint8", "const": 256}), "256 is not a value of uint8"),
        (changed(BLUR, *NODE, to={"type": "uint8", "const": "1"}), "'1' is not a value of uint8"),
        (changed(BLUR, *NODE, to={"type": "int32", "op": "nand", "args": []}), "not an operator"),
        (changed(BLUR, *NODE, to={"type": "int32", "op": "add", "args": []}), "add of () does not"),
        (changed(BLUR, "value", "functions", 0, "stages", 0, "values", to=[999]), "one of"),
        (changed(BLUR, "value", "functions", 0, "stages", 0, "values", to=[0]), "gives int32"),
        (changed(BLUR, "value", "outputs", to=["gone"]), "'gone' is not a Func"),
        (changed(BLUR, "value", "images", to=[]), "calls 'input', which is neither"),
        (changed(BLUR, "value", "images", 0, "dimensions", to=3), "with other dimensions"),
        (changed(BLUR, "value", "functions", 0, "name", to="blur_y"), "used 2 times"),
        (changed(BLUR, "value", "functions", 0, "args", to=["y", "x"]), "not at its Vars"),
        (changed(BLUR, "value", "functions", 0, "stages", to=[]), "has no definition"),
        (changed(BLUR, "value", "estimates", 0, "ranges", to=[]), "does not fit a buffer"),
        (
            changed(BLUR, "value", "estimates", 0, "ranges", to=[[0, 1, 2], [0, 1]]),
            "ranges[0]: Expected a list of 2, not of 3",
        ),
    ],
)
def test_garbage_in_pipelines(text: str, part: str) -> None:
    assert part in refusal(text, Pipeline)


_garbage = st.sampled_from([None, True, -1, 0, 10**9, 2.5, "", "x", [], {}, [[]], {"is": "Split"}])


@settings(max_examples=100 if is_thorough() else 18)
@given(st.data(), st.sampled_from([BLUR, Schedule.default(BOX)]))
def test_any_change_is_read_or_refused(data: st.DataObject, record: object) -> None:
    document = json.loads(to_json(record))
    place: Any = document
    for _ in range(data.draw(st.integers(0, 6))):
        keys = sorted(place) if isinstance(place, dict) else list(range(len(place)))
        inner = [k for k in keys if isinstance(place[k], dict | list) and place[k]]
        if not inner:
            break
        place = place[data.draw(st.sampled_from(inner))]
    keys = sorted(place) if isinstance(place, dict) else list(range(len(place)))
    place[data.draw(st.sampled_from(keys))] = copy.deepcopy(data.draw(_garbage))
    with contextlib.suppress(DocumentError):
        read = from_json(json.dumps(document), type(record))
        assert from_json(to_json(read), type(record)) == read
        return
    assert refusal(json.dumps(document), type(record)).endswith(".")


def test_what_is_no_record_is_not_written() -> None:
    image = ImageParam(UInt8, 1, "input")
    for record in (object(), Stage((X,), (image[X],))):
        with pytest.raises(DocumentError, match="cannot be written"):
            to_json(record)


def test_expressions_of_another_kind_are_refused() -> None:
    x = Var("x")
    assert "Expected a Const" in refusal(to_json(x).replace("Variable", "Const"), Const)
    assert isinstance(from_json(to_json(ReductionVar("r", x, x + 1)), ReductionVar).extent, Expr)
    assert from_json(to_json(BOX.functions[0]), Function) == BOX.functions[0]
    assert from_json(to_json(schedule_tree(BLUR, DEFAULT)), RootNode).children
