"""The table of ``docs/halide.md`` about directives that few schedules need says what is so."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from attrs import frozen

pytest.importorskip("halide", reason="Halide's Python package is not installed")

import halide as hl

from spaces import (
    AppliedOtherwiseError,
    CheckedSchedule,
    Emulator,
    apply,
    compile_cpu,
    compile_gpu,
    device,
    format_schedule,
    from_halide,
    parse_schedule,
    prove,
    read_hlpipe,
    verify,
)
from spaces.constraints.examples.catalogue import ADVICE_EXAMPLES, EXAMPLES
from tests.differential.additions import with_constructs
from tests.differential.gpu_schedules import gpu_schedule
from tests.differential.quick_code import quick_code, quick_kernels
from tests.differential.schedule_constructs import schedule_constructs
from tests.differential.schedules import cpu_schedule
from tests.differential.subjects import subject
from tests.differential.universe import universe
from tests.halide_corpus.directives import ROWS, Row

x, y, xi, yi, u = (hl.Var(name) for name in ("x", "y", "xi", "yi", "u"))

WIDTH, HEIGHT = 32, 16


@frozen
class Funcs:
    """A chain of three Funcs: ``out`` reads ``mid`` and ``inner``, and ``mid`` reads ``inner``."""

    data: Any
    inner: Any
    mid: Any
    out: Any

    @staticmethod
    def made() -> Funcs:
        data = hl.ImageParam(hl.Int(32), 2, "data")
        inner, mid, out = hl.Func("inner"), hl.Func("mid"), hl.Func("out")
        inner[x, y] = x * 7 + y
        mid[x, y] = data[x, y] ^ inner[x, y]
        out[x, y] = mid[x, y] + mid[x, y + 1] + inner[x + 1, y]
        return Funcs(data, inner, mid, out)


@frozen
class Reduction(Funcs):
    """``out`` has the place of the largest value of each row, of equal ones the last; if the places
    are compared, too, the first.
    """

    @staticmethod
    def made(compares_places: bool = False) -> Reduction:
        data = hl.ImageParam(hl.Int(32), 2, "data")
        inner, out = hl.Func("inner"), hl.Func("out")
        r = hl.RDom([(0, WIDTH)], "r")
        inner[y] = (hl.i32(-1), hl.i32(99))
        value, (most, place) = data[r, y] & 3, (inner[y][0], inner[y][1])
        if compares_places:
            better = (value > most) | ((value == most) & (r < place))
            inner[y] = (hl.select(better, value, most), hl.select(better, r, place))
        else:
            inner[y] = (hl.max(most, value), hl.select(most > value, place, r))
        out[x, y] = inner[y][0] * 100 + inner[y][1] + x
        return Reduction(data, inner, None, out)


def asynchronous(f: Funcs) -> None:
    f.inner.compute_root()
    f.mid.compute_at(f.out, y).async_()


def ring_buffer(f: Funcs) -> None:
    f.inner.compute_root()
    f.mid.compute_at(f.out, y).hoist_storage_root().ring_buffer(3)


def memoize(f: Funcs) -> None:
    f.inner.compute_root().memoize()
    f.mid.compute_root()


def hoist_storage_root(f: Funcs) -> None:
    f.inner.compute_at(f.out, y).hoist_storage_root()
    f.mid.compute_at(f.out, y).hoist_storage_root()


def specialize(f: Funcs) -> None:
    f.inner.compute_root()
    f.mid.compute_at(f.out, xi)
    wide = f.out.specialize(f.data.dim(0).extent() >= WIDTH)
    wide.split(x, x, xi, 8).parallel(y)
    f.out.split(x, x, xi, 4)


def wrapper_of_wrapper(f: Funcs) -> None:
    f.inner.compute_root()
    f.mid.compute_root()
    f.inner.in_([f.mid, f.out]).compute_root().vectorize(x, 4).in_(f.out).compute_at(f.out, y)


def wrapper_of_clone(f: Funcs) -> None:
    f.inner.compute_root()
    f.mid.compute_root()
    f.inner.clone_in(f.mid).compute_root().in_(f.mid).compute_at(f.mid, y)


def factored(f: Funcs) -> None:
    ro, ri = hl.RVar("ro"), hl.RVar("ri")
    f.inner.compute_root().update().split(f.inner.rvars(0)[0], ro, ri, 8)
    partial = f.inner.update().rfactor(ro, u)
    partial.compute_root().update().parallel(u)


def _tiles(f: Funcs) -> None:
    f.out.gpu_tile(x, y, xi, yi, 8, 4)


def asynchronous_kernel(f: Funcs) -> None:
    _tiles(f)
    f.inner.compute_root()
    f.mid.compute_root().gpu_tile(x, y, xi, yi, 8, 4, hl.TailStrategy.GuardWithIf).async_()


def ring_in_kernel(f: Funcs) -> None:
    f.out.split(x, x, xi, 8).gpu_blocks(x).gpu_threads(xi)
    f.out.reorder(xi, y, x)
    f.inner.compute_root()
    f.mid.compute_at(f.out, y).hoist_storage(f.out, x).ring_buffer(2).gpu_threads(x)


def memoized_beside_kernels(f: Funcs) -> None:
    _tiles(f)
    f.inner.compute_root().memoize()


def hoisted_of_kernel(f: Funcs) -> None:
    f.out.split(y, y, yi, 4).split(x, x, xi, 8).reorder(xi, yi, x, y)
    f.out.gpu_blocks(x).gpu_threads(xi, yi)
    f.inner.compute_root()
    f.mid.compute_at(f.out, y).hoist_storage_root().gpu_tile(x, y, xi, yi, 8, 4)


def lanes(f: Funcs) -> None:
    f.out.tile(x, y, xi, yi, 16, 4).gpu_blocks(x, y).gpu_threads(yi).gpu_lanes(xi)
    f.mid.compute_at(f.out, x).gpu_threads(x, y)


def specialized_kernels(f: Funcs) -> None:
    wide = f.out.specialize(f.data.dim(0).extent() >= WIDTH)
    wide.gpu_tile(x, y, xi, yi, 16, 2)
    f.out.gpu_tile(x, y, xi, yi, 8, 4)
    f.mid.compute_at(f.out, x).gpu_threads(x, y)


def wrapper_in_block(f: Funcs) -> None:
    _tiles(f)
    f.inner.compute_root()
    first = f.inner.in_(f.out).compute_at(f.out, x).gpu_threads(x, y)
    first.in_(f.out).compute_at(f.out, xi)


def wrapper_of_clone_in_block(f: Funcs) -> None:
    _tiles(f)
    f.inner.compute_root()
    f.mid.compute_root().gpu_tile(x, y, xi, yi, 8, 4, hl.TailStrategy.GuardWithIf)
    clone = f.inner.clone_in(f.mid).compute_root()
    clone.in_(f.mid).compute_at(f.mid, x).gpu_threads(x, y)


def factored_kernel(f: Funcs) -> None:
    _tiles(f)
    ro, ri = hl.RVar("ro"), hl.RVar("ri")
    f.inner.compute_root().update().split(f.inner.rvars(0)[0], ro, ri, 8)
    partial = f.inner.update().rfactor(ro, u).compute_root()
    partial.gpu_tile(y, u, yi, xi, 4, 4).update().gpu_blocks(y).gpu_threads(u)


Directives = Callable[[Funcs], None]

ON_CPU: dict[str, Directives] = {
    "async": asynchronous,
    "ring_buffer": ring_buffer,
    "memoize": memoize,
    "hoist_storage_root": hoist_storage_root,
    "gpu_lanes": lanes,
    "specialize": specialize,
    "in": wrapper_of_wrapper,
    "clone_in": wrapper_of_clone,
    "rfactor": factored,
}
ON_GPU: dict[str, Directives] = {
    "async": asynchronous_kernel,
    "ring_buffer": ring_in_kernel,
    "memoize": memoized_beside_kernels,
    "hoist_storage_root": hoisted_of_kernel,
    "gpu_lanes": lanes,
    "specialize": specialized_kernels,
    "in": wrapper_in_block,
    "clone_in": wrapper_of_clone_in_block,
    "rfactor": factored_kernel,
}
RUNS = [(name, kind) for name in ROWS for kind in ("cpu", "sm_80")]


def built(name: str, directives: Directives | None) -> Funcs:
    funcs = Reduction.made() if name == "rfactor" else Funcs.made()
    if directives is not None:
        directives(funcs)
    return funcs


def scheduled(name: str, kind: str) -> Funcs:
    return built(name, (ON_CPU if kind == "cpu" else ON_GPU)[name])


@pytest.mark.parametrize(("name", "kind"), RUNS)
def test_it_comes_in_is_kept_as_text_and_goes_back(name: str, kind: str) -> None:
    out = scheduled(name, kind).out
    live = from_halide(out)
    assert read_hlpipe(hl.serialize_pipeline(hl.Pipeline([out]))).schedule == live.schedule
    text = format_schedule(live.schedule, live.pipeline)
    assert parse_schedule(text, live.pipeline) == live.schedule
    plain = from_halide(built(name, None).out)
    if name == "rfactor":  # in Halide the factored Func is one of the pipeline
        assert len(live.pipeline.functions) == len(plain.pipeline.functions) + 1
        reduced = "inner.update(0).split(r, ro, ri, 8).rfactor(ro, u).update(0).parallel(u)"
        sent = parse_schedule(f"inner.compute_root()\n{reduced}", plain.pipeline)
        known = apply(sent, built(name, None).out)
        assert known.pipeline == from_halide(scheduled(name, "cpu").out).pipeline
    else:
        assert f".{name}(" in text
        assert apply(live.schedule, built(name, None).out).schedule == live.schedule


def values(plain: Funcs, checked: CheckedSchedule, width: int) -> None:
    """Asserts that our code gives the values that Halide computes without a schedule."""
    given = np.random.default_rng(width).integers(0, 99, (HEIGHT + 1, WIDTH), dtype=np.int32)
    if not isinstance(plain, Reduction):  # which reads whole rows
        given = np.ascontiguousarray(given[:, :width])
    plain.data.set(hl.Buffer(given))
    wanted = np.array(plain.out.realize([width, HEIGHT]))
    sizes = {"out": ((0, width), (0, HEIGHT))}
    if checked.device.name == "cpu":
        with quick_code():
            ours = compile_cpu(checked)({"data": given}, sizes=sizes)["out"]
    else:
        runner = Emulator("shuffled", seed=width)
        with quick_kernels():
            ours = compile_gpu(checked).run({"data": given}, sizes=sizes, executor=runner)["out"]
    np.testing.assert_array_equal(ours, wanted, strict=True)


@pytest.mark.parametrize(("name", "kind"), RUNS)
def test_its_code_gives_the_values_of_halide_or_a_rule_refuses_it(name: str, kind: str) -> None:
    row = ROWS[name]
    refused = row.cpu if kind == "cpu" else row.gpu
    live = from_halide(scheduled(name, kind).out)
    verdict = verify(live.pipeline, live.schedule, device(kind))
    if refused:
        assert {one.rule for one in verdict.violations} == {refused}, str(verdict)
        return
    assert isinstance(verdict, CheckedSchedule), str(verdict)
    report = prove(verdict, seconds=30)
    assert len(report.proven) == len(report.proofs) > 0, str(report)
    for width in (WIDTH, 16):
        values(built(name, None), verdict, width)


def test_a_level_that_one_specialization_lacks_is_refused_on_both_sides() -> None:
    funcs = built("specialize", None)
    funcs.mid.compute_at(funcs.out, xi)
    funcs.inner.compute_root()
    funcs.out.specialize(funcs.data.dim(0).extent() >= WIDTH).split(x, x, xi, 8)
    live = from_halide(funcs.out)
    verdict = verify(live.pipeline, live.schedule, device("cpu"))
    assert [one.rule for one in verdict.violations] == ["call.compute-level"]
    with pytest.raises(hl.HalideError, match="invalid location"):
        funcs.out.compile_jit()


@pytest.mark.parametrize("kind", ["cpu", "sm_80"])
def test_an_argmax_that_compares_places_is_factored_here_alone(kind: str) -> None:
    """Halide takes its operator for one that is not associative."""
    out = Reduction.made(compares_places=True).out
    program = from_halide(out)
    inner = "inner.compute_root().update(0).split(r, ro, ri, 8, GuardWithIf).rfactor({{ri, u}})"
    text = f"{inner}.compute_root().update(0).reorder(u, ro, y)"
    if kind == "sm_80":
        text = f"{text}.gpu_blocks(y).gpu_threads(u)"
    verdict = verify(program.pipeline, parse_schedule(text, program.pipeline), device(kind))
    assert isinstance(verdict, CheckedSchedule), str(verdict)
    assert len(prove(verdict, seconds=30).proven) > 0
    values(Reduction.made(compares_places=True), verdict, WIDTH)
    with pytest.raises(AppliedOtherwiseError, match="can't prove associativity"):
        apply(verdict.schedule, out)


def test_each_rule_has_an_example() -> None:
    known = {example.rule for example in (*EXAMPLES, *ADVICE_EXAMPLES)}
    for row in ROWS.values():
        refusing = {rule for rule in (row.cpu, row.gpu) if rule}
        assert refusing.union(row.rules) <= known, row.title


@pytest.mark.parametrize("row", ROWS.values(), ids=lambda row: row.construct)
def test_the_fuzzer_draws_it(row: Row) -> None:
    construct = row.construct
    assert construct in universe()
    rng, legal = random.Random(construct), 0
    draw, kind = (gpu_schedule, "sm_80") if row.cpu else (cpu_schedule, "cpu")
    aims = frozenset((construct,))
    for _ in range(200):
        drawn = subject(rng, rng.choice(("lookup", "diamond", "reduction", "volume"))).pipeline
        made = with_constructs(rng, drawn, draw(rng, drawn, aims), aims)
        if construct in schedule_constructs(made):
            legal += verify(drawn, made, device(kind)).legal
        if legal:
            break
    assert legal
