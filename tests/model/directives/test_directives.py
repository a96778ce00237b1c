"""Directives on schedules, compared with what Halide makes of the same directives."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.rdom import RDom
from spaces.model.algorithm.var import Var
from spaces.model.directives.directives import Directives, schedule
from spaces.model.expressions.definition_error import DefinitionError
from spaces.model.nest.loopnest import loop_nest
from spaces.model.schedules.domain_order import (
    DomainOrder,
    Fuse,
    LoopKind,
    OrderedLoop,
    Split,
    Tail,
)
from spaces.model.schedules.schedule import INLINE, ROOT, Fold, LoopLevel, MemoryType, Schedule
from spaces.model.writing.text import format_schedule, parse_schedule
from tests.draw_counts import examples
from tests.model.pipelines import X, Y, Z, blur, box

BLUR, BOX = blur(), box()


def cube() -> Func:
    f = Func("f")
    f[X, Y, Z] = X + Y + Z
    return f


CUBE = pipeline(cube())


def order(directives: Directives) -> DomainOrder:
    return directives.schedule.of(directives.selected).stages[directives.stage]


def shown(directives: Directives) -> str:
    """Loops outermost first, kinds other than serial before the name."""
    return " ".join(
        loop.name if loop.kind is LoopKind.SERIAL else f"{loop.kind}:{loop.name}"
        for loop in order(directives).loops
    )


def test_default_schedules() -> None:
    default = Schedule.default(BOX)
    assert [(f.name, str(f.compute), str(f.store)) for f in default.funcs] == [
        ("repeat_edge", "inline", "inline"),
        ("blur_x", "inline", "inline"),
        ("hist", "root", "root"),
        ("blur_y", "root", "root"),
    ]
    assert default.of("hist").stages[0].names == ("y", "x")
    assert default.of("hist").stages[1].names == ("y", "x", "r.y", "r.x")


@pytest.mark.parametrize(
    ("directives", "loops"),
    [
        (schedule(CUBE).split(X, "xo", "xi", 8), "z y xo xi"),
        (schedule(CUBE).parallel(X).split(X, "xo", "xi", 8), "z y parallel:xo parallel:xi"),
        # Halide: the fused loop stands where the inner one stood and keeps its kind.
        (schedule(CUBE).fuse(X, Z, "t"), "y t"),
        (schedule(CUBE).fuse(Z, X, "t"), "t y"),
        (schedule(CUBE).parallel(Z).fuse(X, Z, "t"), "y t"),
        (schedule(CUBE).parallel(X).fuse(X, Z, "t"), "y parallel:t"),
        (schedule(CUBE).reorder(Z, X), "x y z"),
        (schedule(CUBE).reorder(Y, X), "z x y"),
        (schedule(CUBE).tile(X, Y, "xi", "yi", 8, 4), "z y x yi xi"),
        (schedule(CUBE).tile(X, Y, "xo", "yo", "xi", "yi", 8, 4), "z yo xo yi xi"),
        (schedule(CUBE).tile(X, Y, Z, "a", "b", "c", 8, 4, 2), "z y x c b a"),
        (schedule(CUBE).vectorize(X, 8), "z y x vectorized:x_v"),
        (schedule(CUBE).unroll(Y, 2), "z y unrolled:y_u x"),
        (schedule(CUBE).parallel(Z, 4), "parallel:z z_p y x"),
        (schedule(CUBE).parallel(Z).serial(Z), "z y x"),
        (schedule(CUBE).gpu_tile(X, "xo", "xi", 8), "z y gpu_block:xo gpu_thread:xi"),
        (
            schedule(CUBE).gpu_tile(X, Y, "xi", "yi", 8, 4),
            "z gpu_block:y gpu_block:x gpu_thread:yi gpu_thread:xi",
        ),
        (
            schedule(CUBE).gpu_tile(X, Y, Z, "a", "b", "c", "d", "e", "f", 8, 4, 2),
            "gpu_block:c gpu_block:b gpu_block:a gpu_thread:f gpu_thread:e gpu_thread:d",
        ),
        (schedule(CUBE).gpu_blocks(Y, Z).gpu_threads(X), "gpu_block:z gpu_block:y gpu_thread:x"),
        (schedule(CUBE).loops(X, OrderedLoop("q", LoopKind.PARALLEL)), "parallel:q x"),
    ],
)
def test_loops(directives: Directives, loops: str) -> None:
    assert shown(directives) == loops


def test_records_of_splits_and_fuses() -> None:
    made = schedule(CUBE).tile(X, Y, "xi", "yi", 8, "ty", Tail.ROUND_UP).fuse("x", "y", "t")
    assert order(made).splits == (
        Split("x", "x", "xi", 8, Tail.ROUND_UP),
        Split("y", "y", "yi", "ty", Tail.ROUND_UP),
        Fuse("x", "y", "t"),
    )
    assert order(schedule(CUBE).split(X, X, "xi", Var("n"), "guard_with_if")).splits == (
        Split("x", "x", "xi", "n", Tail.GUARD_WITH_IF),
    )


def test_what_is_written_is_recorded_even_if_senseless() -> None:
    assert shown(schedule(CUBE).parallel("q")) == "parallel:q z y x"
    assert shown(schedule(CUBE).reorder("q", Z)) == "z q y x"
    assert shown(schedule(CUBE).split("q", "a", "b", 0)) == "z y x a b"
    assert shown(schedule(CUBE).split(X, Y, Y, 4)) == "z y y y"
    assert shown(schedule(CUBE).reorder(X, X)) == "z y x x"


# Each row as Halide 21's print_loop_nest places g, read by f.
LEVELS = [
    (lambda g: g.compute_at("f", X), "f.x", "f.x"),
    (lambda g: g.compute_at("f", X).compute_root().compute_at("f", Y), "f.y", "f.y"),
    (lambda g: g.store_root().compute_root().compute_at("f", Y), "f.y", "root"),
    (lambda g: g.compute_root().store_root().compute_at("f", Y), "f.y", "root"),
    (lambda g: g.store_at("f", Y).compute_at("f", X).compute_at("f", Y), "f.y", "f.y"),
    (lambda g: g.compute_at("f", Y).store_at("f", Y).compute_at("f", X), "f.x", "f.y"),
    (lambda g: g.store_at("f", Y).compute_root(), "root", "f.y"),
    (lambda g: g.compute_at("f", X).compute_inline(), "inline", "inline"),
]


@pytest.mark.parametrize(("directives", "compute", "store"), LEVELS)
def test_storage_follows_until_it_is_placed(directives: Any, compute: str, store: str) -> None:
    x, y = X, Y
    g, f = Func("g"), Func("f")
    g[x, y] = x * y
    f[x, y] = g[x, y] + g[x, y + 1]
    found = directives(schedule(pipeline(f)).func(g)).schedule.of("g")
    assert (str(found.compute), str(found.store)) == (compute, store)


def test_a_base_with_storage_elsewhere_keeps_it() -> None:
    base = schedule(BLUR).func("blur_x").compute_at("blur_y", X).store_root().schedule
    again = schedule(BLUR, base).func("blur_x").compute_at("blur_y", Y).schedule.of("blur_x")
    assert (again.compute, again.store) == (LoopLevel("blur_y", "y"), ROOT)


def test_memory_and_folds() -> None:
    made = schedule(BLUR).func("blur_x").store_in("stack").fold_storage(Y, 4)
    made = made.fold_storage(X, 8).fold_storage(Y, 2)
    found = made.schedule.of("blur_x")
    assert found.memory is MemoryType.STACK
    assert found.folds == (Fold("x", 8), Fold("y", 2))
    assert found.compute == INLINE


def test_directives_change_only_the_selected_stage() -> None:
    made = schedule(BOX).func("hist").update().vectorize(X, 8)
    default = Schedule.default(BOX)
    assert made.schedule.of("hist").stages[0] == default.of("hist").stages[0]
    assert made.schedule.of("hist").stages[1].names == ("y", "x", "x_v", "r.y", "r.x")
    assert made.schedule.of("blur_y") == default.of("blur_y")
    assert schedule(BOX).schedule == default


def test_rvars_are_named_by_their_objects() -> None:
    r = RDom([(0, 3), (0, 3)], "r")
    made = schedule(BOX).func("hist").update(0).unroll(r.x).reorder(X, r.y)
    assert shown(made) == "y r.y x unrolled:r.x"
    alone = RDom([(0, 3)], "r")
    assert shown(schedule(BOX).func("hist").update(0).unroll(alone)) == shown(
        schedule(BOX).func("hist").update(0).unroll("r.x")
    )


@pytest.mark.parametrize(
    ("mistake", "error", "message"),
    [
        (lambda: schedule(BLUR).func("blur"), KeyError, "no Func 'blur' to schedule"),
        (lambda: schedule(BOX).func("hist").update(1), IndexError, "has 1 update stage;"),
        (lambda: schedule(BLUR).split(X, X, "xi", 2.5), TypeError, "2.5 is not a factor"),
        (lambda: schedule(BLUR).split(3, X, "xi", 2), TypeError, "3 is not a name"),
        (lambda: schedule(BLUR).tile(X, Y, 8), TypeError, "tile takes x, y"),
        (lambda: schedule(BLUR).tile(X, Y, 8, 8, "xi", "yi"), TypeError, "tile takes x, y"),
        (lambda: schedule(BLUR).gpu_tile(X, 8), TypeError, "gpu_tile takes"),
        (
            lambda: schedule(BLUR).split(X, X, "xi", 2, "ragged"),
            ValueError,
            "'ragged' is no Tail; there are auto, round_up",
        ),
        (
            lambda: schedule(BLUR).store_in("gpu"),
            ValueError,
            "'gpu' is no MemoryType; there are auto",
        ),
        (
            lambda: schedule(BLUR).reorder(X, RDom([(0, 3), (0, 3)], "r")),
            DefinitionError,
            r"RDom r has 2 dimensions; use one of them, as in r\.x",
        ),
    ],
)
def test_mistakes(mistake: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        mistake()


_DIRECTIVES = ["split", "fuse", "reorder", "parallel", "unroll", "vectorize", "tile"]


@st.composite
def legal_steps(draw: st.DrawFn) -> list[tuple[str, tuple[Any, ...]]]:
    """Directives that Halide accepts on ``cube``. Inner loops are not split or fused further:
    Halide does not print loops of one iteration.
    """
    loops, constant, steps = ["x", "y", "z"], list[str](), list[tuple[str, tuple[Any, ...]]]()
    for number in range(draw(st.integers(1, 6))):
        name = draw(st.sampled_from(_DIRECTIVES))
        a, b = draw(st.permutations(loops))[:2] if len(loops) > 1 else (loops[0], loops[0])
        inner = [f"i{number}", f"j{number}"]
        whole = not {a, b} & set(constant)
        if name == "split" and a not in constant:
            steps.append((name, (a, a, inner[0], 4)))
            loops.append(inner[0])
            constant.append(inner[0])
        elif name == "tile" and a != b and whole:
            steps.append((name, (a, b, *inner, 4, 4)))
            loops += inner
            constant += inner
        elif name == "fuse" and a != b and whole:
            steps.append((name, (a, b, inner[0])))
            loops = [n for n in loops if n not in (a, b)] + [inner[0]]
        elif name == "reorder":
            count = draw(st.integers(1, len(loops)))
            steps.append((name, tuple(draw(st.permutations(loops))[:count])))
        elif name == "parallel" or (name in ("unroll", "vectorize") and a in constant):
            steps.append((name, (a,)))
    return steps


@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=legal_steps())
def test_loops_are_those_that_halide_makes(
    capfd: pytest.CaptureFixture[str], steps: list[tuple[str, tuple[Any, ...]]]
) -> None:
    hl = pytest.importorskip("halide", reason="the peer is an optional dependency")
    peer, ours = hl.Func("f"), schedule(CUBE)
    x, y, z = (hl.Var(n) for n in "xyz")
    peer[x, y, z] = x + y + z
    for name, args in steps:
        getattr(peer, name)(*(hl.Var(a) if isinstance(a, str) else a for a in args))
        ours = getattr(ours, name)(*args)
    capfd.readouterr()
    peer.print_loop_nest()
    printed = "".join(capfd.readouterr())
    loops = re.findall(r"^ +(for|parallel|vectorized|unrolled) (?:[\w$.]*\.)?(\w+)", printed, re.M)
    assert shown(ours) == " ".join(n if kind == "for" else f"{kind}:{n}" for kind, n in loops)


def test_directives_tell_what_they_are_not() -> None:
    directives: Any = schedule(blur())
    with pytest.raises(AttributeError, match=r"no directive 'comput_root' \(is compute_root meant"):
        directives.comput_root()
    with pytest.raises(AttributeError, match=r"write \.schedule after the last"):
        directives.funcs  # noqa: B018
    with pytest.raises(TypeError, match=r"a Schedule, not a Directives; .* \.schedule is that of"):
        format_schedule(directives, blur())
    with pytest.raises(TypeError, match=r"a Schedule, not a Directives; .* \.schedule is that of"):
        loop_nest(blur(), directives)


def test_a_loop_renamed_is_as_if_made_under_that_name() -> None:
    base = schedule(CUBE)
    renamed = base.split("x", "x", "xi", 8).parallel("x").prefetch("f", "x", "x").rename("x", "xo")
    again = renamed.split("xi", "xj", "xi", 2).rename("xi", "lane").vectorize("lane")
    plain = base.split("x", "xo", "xi", 8).parallel("xo").prefetch("f", "xo", "xo")
    assert again == plain.split("xi", "xj", "lane", 2).vectorize("lane")
    fused = base.fuse("x", "y", "t").never_partition("t").rename("t", "xy")
    assert fused == base.fuse("x", "y", "xy").never_partition("xy")
    text = "f.tile(x, y, xi, yi, 8, 4).rename(y, strip).parallel(strip)"
    assert parse_schedule(text, CUBE) == parse_schedule(
        "f.tile(x, y, x, strip, xi, yi, 8, 4).parallel(strip)", CUBE
    )


@pytest.mark.parametrize("name", ["x", "xo", "nowhere"])
def test_dimensions_and_loops_that_are_no_more_have_no_other_names(name: str) -> None:
    made = schedule(CUBE).split("y", "yo", "yi", 4).split("z", "xo", "zi", 2).fuse("xo", "zi", "t")
    with pytest.raises(TypeError, match=f"names {name} of f, which no split, tile or fuse"):
        made.rename(name, "other")


@pytest.mark.parametrize("name", ["y", "xi", "xj"])
def test_a_loop_is_not_renamed_to_a_name_that_another_has(name: str) -> None:
    made = schedule(CUBE).split("x", "xo", "xi", 8).split("xi", "xj", "xk", 2)
    with pytest.raises(TypeError, match=f"rename gives xo of f the name {name}, "):
        made.rename("xo", name)
    assert made.rename("xo", "x") == schedule(CUBE).split("x", "x", "xi", 8).split(
        "xi", "xj", "xk", 2
    )
    assert made.rename("xo", "xo") == made


@pytest.mark.parametrize(
    ("text", "loops"),
    [
        ("vectorize(x, 8).vectorize(x, 4)", "z y x vectorized:x_v2 vectorized:x_v"),
        ("unroll(x, 8).unroll(x, 4)", "z y x unrolled:x_u2 unrolled:x_u"),
        ("parallel(y, 8).parallel(y, 2)", "z parallel:y parallel:y_p2 y_p x"),
    ],
)
def test_a_loop_is_split_twice_by_its_kind(text: str, loops: str) -> None:
    made = parse_schedule(f"f.{text}", CUBE)
    found = [
        loop.name if loop.kind == "serial" else f"{loop.kind}:{loop.name}"
        for loop in made.of("f").stages[0].loops
    ]
    assert " ".join(found) == loops
    written = format_schedule(made, CUBE)
    assert text in written
    assert parse_schedule(written, CUBE) == made
