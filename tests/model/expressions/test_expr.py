"""Expressions: one node for each structure, comparisons, hashing, pickling and printing."""

from __future__ import annotations

import copy
import math
import pickle
import threading
import weakref

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spaces import Bool, Expr, Float32, Float64, Int32, UInt8, Var, cast
from spaces.model.expressions import functions as fn
from spaces.model.expressions import interning
from spaces.model.expressions.expr import Call, Const, Variable, as_expr, constant, walk
from spaces.model.expressions.rewrite import rewrite, substitute, variables

X, Y = Var("x"), Var("y")


@st.composite
def exprs(draw: st.DrawFn) -> Expr:
    """Small int32 expressions."""
    leaf = st.one_of(st.sampled_from([X, Y]), st.integers(-3, 3).map(as_expr))
    pool = [draw(leaf), draw(leaf)]
    for _ in range(draw(st.integers(0, 5))):
        a, b = draw(st.sampled_from(pool)), draw(st.sampled_from(pool))
        pool.append(
            draw(
                st.sampled_from(
                    [
                        *(a + b, a - b, a * b, a / b, a % b, fn.min(a, b), fn.max(a, b)),
                        *(fn.select(a < b, a, b), cast(Int32, cast(UInt8, a))),
                        Call(Int32, "f", (a, b)),
                    ]
                )
            )
        )
    return pool[-1]


def test_same_structure_is_the_same_object() -> None:
    assert X + 1 is X + 1
    assert Var("x") is X
    assert X + 1 is not X + 2
    assert Call(Int32, "f", (X,)) is Call(Int32, "f", (X,))
    assert constant(1, Int32) is not constant(1, UInt8)
    assert Const(Float32, 1) is Const(Float32, 1.0)
    assert constant(-0.0, Float32) is not constant(0.0, Float32)
    assert constant(math.nan, Float32) is constant(math.nan, Float32)


@given(exprs(), exprs())
def test_equality_is_identity_of_structure(a: Expr, b: Expr) -> None:
    assert bool(a == b) is (a is b)
    assert bool(a != b) is (a is not b)
    assert (a == b).type == Bool
    assert len({a, b}) == (1 if a is b else 2)
    assert ((a, 1) == (b, 1)) is (a is b)


def test_comparison_with_a_promoted_twin_is_not_equality() -> None:
    narrow, wide = constant(4, UInt8), constant(4, Int32)
    assert not bool(narrow == wide)
    assert bool(narrow != wide)
    assert not bool(constant(0.1, Float32) == constant(0.1, Float64))


@given(exprs())
def test_copies_are_the_same_object(expr: Expr) -> None:
    assert pickle.loads(pickle.dumps(expr)) is expr
    assert copy.deepcopy(expr) is expr
    assert copy.copy(expr) is expr


@given(exprs())
def test_walk_visits_operands_first_and_once(expr: Expr) -> None:
    seen: list[Expr] = []
    for node in walk(expr):
        assert all(any(c is s for s in seen) for c in node.children)
        assert all(node is not s for s in seen)
        seen.append(node)
    assert seen[-1] is expr


@given(exprs())
def test_rewriting_nothing_and_there_and_back(expr: Expr) -> None:
    assert rewrite(expr, lambda n: n) is expr
    swapped = substitute(expr, {"x": Y, "y": X})
    assert substitute(swapped, {"x": Y, "y": X}) is expr
    in_order = (node.name for node in walk(expr) if isinstance(node, Variable))
    assert variables(expr) == tuple(dict.fromkeys(in_order))


def test_nodes_without_users_are_forgotten_when_many_others_were_made(monkeypatch) -> None:
    monkeypatch.setattr(interning, "_MOST_RECENT", 1000)
    interning._recent.clear()
    used, forgotten = X * 12345 + 679, weakref.ref(X * 12345 + 678)
    digest = used.digest
    assert forgotten() is X * 12345 + 678  # unused, but kept for a while
    for i in range(1000):
        X * 54321 + i
    assert forgotten() is None
    assert X * 12345 + 679 is used
    assert used.digest == digest
    assert len(interning._recent) <= 1000


def test_a_sweep_forgets_nodes_with_all_that_only_they_have() -> None:
    deep = X
    for i in range(50):
        deep = deep * 3 + (70_000 + i)
    inner, many = weakref.ref(deep.children[0]), len(interning._table)
    del deep
    interning._recent.clear()
    interning._sweep()
    assert inner() is None
    assert len(interning._table) <= many - 100


def test_a_table_is_swept_when_most_of_it_is_gone(monkeypatch) -> None:
    monkeypatch.setattr(interning, "_table", {})
    monkeypatch.setattr(interning, "_FEW", 500)
    monkeypatch.setattr(interning, "_sweep_at", 0)
    monkeypatch.setattr(interning, "_MOST_RECENT", 100)
    most = 2 * len(interning._table) + 2000
    for i in range(4 * most):
        X * (i % 70 + 2) + (i // 70 + 1)
        assert len(interning._table) <= most
    assert len(interning._table) >= interning._sweep_at / 2


def test_threads_share_nodes() -> None:
    found: list[Expr] = []

    def build() -> None:
        expr: Expr = X
        for i in range(300):
            expr = expr * 3 + i
        found.append(expr)

    threads = [threading.Thread(target=build) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert all(f is found[0] for f in found)


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        (X + Y * 2, "x + y*2"),
        ((X + Y) * 2, "(x + y)*2"),
        (X - (Y - 1), "x - (y - 1)"),
        (X - Y - 1, "x - y - 1"),
        (X / 2 % 3, "x/2 % 3"),
        (fn.min(X, 3), "min(x, 3)"),
        ((X < 3) & (Y >= 1) | ~(X == Y), "x < 3 & y >= 1 | !(x == y)"),
        (cast(UInt8, X), "uint8(x)"),
        (Call(Int32, "f", (X + 1, Y)), "f(x + 1, y)"),
        (fn.select(X > 0, X, -1), "select(x > 0, x, -1)"),
        (X * -1, "x*(-1)"),
        (as_expr(True), "true"),
        (fn.sqrt(X), "sqrt(float32(x))"),
    ],
)
def test_printing(expr: Expr, text: str) -> None:
    assert str(expr).replace(" ", "") == text.replace(" ", "")


def test_integer_quotients_stay_integers_and_float_floors() -> None:
    assert X // 2 is X / 2
    half = cast(Float32, X) // 2
    assert half is fn.floor(cast(Float32, X) / 2)
    assert 7 // X is as_expr(7) / X


def test_conditions_have_no_truth_value() -> None:
    with pytest.raises(TypeError, match="use select"):
        bool(X < 3)
    with pytest.raises(TypeError, match="use select"):
        max(X, Y)
    with pytest.raises(TypeError, match="`x` has no truth value"):
        bool(X)


def test_an_object_that_is_not_an_expression_is_refused() -> None:
    with pytest.raises(TypeError, match="'s' of type str is not an expression"):
        as_expr("s")  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        X + "s"  # type: ignore[operator]
    with pytest.raises(TypeError, match="`&` combines two integers or two conditions"):
        X & (X > 1)
    with pytest.raises(TypeError, match="select needs a condition"):
        fn.select(X, 1, 2)


def test_constants_are_cast_at_once() -> None:
    assert cast(UInt8, 300) is constant(44, UInt8)
    assert cast("int8", 200) is constant(-56, cast("int8", 0).type)
    assert cast(Float32, 1) is constant(1.0, Float32)
    assert cast(Int32, X) is X
    assert isinstance(constant(0.1, Float32), Const)
    assert float(constant(0.1, Float32).value) == 0.10000000149011612


def test_variables_of_different_types_differ() -> None:
    assert Variable(UInt8, "x") is not X


def doubled(times: int) -> Expr:
    """``(x + 1) * 2**times``, made by ``times`` additions."""
    result = X + 1
    for _ in range(times):
        result = result + result
    return result


def test_texts_of_shared_parts_stay_short() -> None:
    assert str(doubled(2)) == "x + 1 + (x + 1) + (x + 1 + (x + 1))"
    whole, _, definitions = str(doubled(60)).partition(" where ")
    values: dict[str, int] = {"x": 4}
    for definition in definitions.split(", "):
        name, text = definition.split(" = ")
        values[name.replace("$", "t")] = eval(text.replace("$", "t"), {}, values)
    assert eval(whole.replace("$", "t"), {}, values) == 5 << 60
    assert len(definitions) < 60 * 20


def test_texts_of_long_sums_are_cut() -> None:
    total: Expr = X
    for _ in range(20_000):
        total = total + 1
    text = str(total)
    assert text.count("+ 1") == 20_000
    assert text.startswith("$")
