"""Every directive at every loop that is along no dimension of its Func, or not along that alone.
These are loops of one thread, loops that are fused with those of another Func, and loops of a Func
that ``rfactor`` adds.

``verify`` gives a verdict on each: what is illegal names a rule; what is legal is written and read
again, proven, lowered, and computes the reference on the fuzzer's machines.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cache
from itertools import product

import numpy as np
import pytest
from attrs import define, field, frozen

from spaces import (
    Batch,
    Func,
    ImageParam,
    Int32,
    Param,
    RDom,
    Schedule,
    ScheduleSyntaxError,
    Var,
    cost_model,
    device,
    format_schedule,
    from_json,
    parse_schedule,
    pipeline,
    prove,
    repair,
    to_json,
    verify,
)
from spaces.constraints.legality.verdict import CheckedSchedule, Illegal
from spaces.constraints.obligations.decide import Decider
from spaces.constraints.obligations.records import Obligation, Proven
from spaces.constraints.proofs.prove import obligations
from spaces.constraints.reasoning.solvers import BY_STEPS
from spaces.model.formulas.smt import NO_TIMEOUT
from spaces.model.schedules.domain_order import Tail
from tests.backend.guarded import guarded
from tests.differential.cases import Case
from tests.differential.check import Fuzzer, refused
from tests.differential.oracle import Oracle
from tests.differential.subjects import EXACT, Subject
from tests.draw_counts import every, examples

X, Y = Var("x"), Var("y")

_SIZES = (((0, 8), (0, 4)), ((-3, 7), (2, 5)), ((1, 21), (-4, 9)))
"""The ranges of the outputs of each size."""


def sums() -> list[Func]:
    """A sum of what one Func has computed, which begins with what another has."""
    row, p, r = ImageParam(Int32, 1, "im"), Param(Int32, "p", default=5), RDom([(0, 6)], "r")
    g, h, f = Func("g"), Func("h"), Func("f")
    g[X] = row[X] * 3 + p
    h[X] = row[X + 1] - p
    f[X] = h[X] + 1
    f[X] += g[X + r] * row[r]
    return [f]


def pair() -> list[Func]:
    """Two Funcs whose loops one may fuse, and one that both read."""
    row, p = ImageParam(Int32, 2, "im"), Param(Int32, "p", default=5)
    g, f, k = Func("g"), Func("f"), Func("k")
    g[X, Y] = row[X, Y] * 3 + p
    f[X, Y] = g[X, Y] + 1
    k[X, Y] = g[X, Y] - g[X + 1, Y]
    return [f, k]


COMPILED_EVERY = 20
"""Of legal schedules those whose number this divides are compiled and run, and proven at once."""

TRIED_EVERY = 2 * every(1) - 1
"""Of all schedules those whose number this divides are tried: all, or one of seven."""

PROVEN_EVERY, PRICED_EVERY = every(2), 4
"""Of the tried schedules those whose number this divides are proven, if they are legal, or have
costs.
"""

LEGAL, ENDS = examples(30, fewest=8) // 2, examples(15) // 2
"""At least so many schedules of a place are legal; at least so many things become of schedules."""

MODELS = {"cpu": ("weighted", "reuse"), "sm_80": ("weighted", "occupancy")}


@frozen
class LoopCase:
    """A stage whose loop ``loop`` directives name, beside its loop ``other``, after those of
    ``base``; it reads ``producer``.
    """

    algorithm: Callable[[], list[Func]]
    target: str
    base: str
    stage: str
    loop: str
    other: str
    producer: str = "g"


SINGLE = ".gpu_single_thread();"
THREADS = f"g.compute_root(){SINGLE}f{SINGLE}f.update(0){SINGLE}"
TILES = "g.compute_root().gpu_tile(x, xi, 4);f.gpu_tile(x, xi, 4);f.update(0).gpu_tile(x, xi, 4);"
ONCE = "g.compute_root();f.serial(__block);k.serial(__block).compute_with(f, __block);"
FACTORED = "g.compute_root();f.update(0).rfactor(r.x, u);"
TOGETHER = "g.compute_root();k.compute_with(f, {});"
PLACES = (
    *(LoopCase(sums, "sm_80", THREADS, "f.update(0)", n, "x") for n in ("__block", "__thread")),
    *(LoopCase(sums, "sm_80", THREADS, "f", n, "x", "h") for n in ("__block", "__thread")),
    LoopCase(sums, "sm_80", TILES, "f.update(0)", "__thread", "xi"),
    LoopCase(sums, "cpu", "g.compute_root();", "f", "__thread", "x", "h"),
    LoopCase(sums, "cpu", "g.compute_root();", "f.update(0)", "__thread", "x"),
    *(LoopCase(pair, "cpu", TOGETHER.format("x"), s, "x", "y") for s in ("f", "k")),
    *(LoopCase(pair, "cpu", TOGETHER.format("y"), s, "y", "x") for s in ("f", "k")),
    LoopCase(pair, "cpu", ONCE, "f", "__block", "y"),
    LoopCase(sums, "cpu", FACTORED, "f_intm.update(0)", "u", "x"),
)


def _directives(at: LoopCase) -> Iterator[str]:
    """Directives of the stage's that name its loop, one or a few at once."""
    loop, other = at.loop, at.other
    for tail, factor in product(Tail, (1, 3)):
        name = tail.qualified
        yield f"unroll({loop}, {factor}, {name})"
    for tail in Tail:
        name = tail.qualified
        yield f"vectorize({loop}, 4, {name})"
        yield f"fuse({other}, {loop}, t).split(t, t, u1, 3, {name})"
        yield f"fuse({loop}, {other}, t).split(t, t, u1, 3, {name})"
    for kind in ("serial", "parallel", "vectorize", "unroll", "gpu_blocks", "gpu_threads"):
        yield f"{kind}({loop})"
        yield f"atomic().{kind}({loop})"
        yield f"split({loop}, a, b, 2).{kind}(a)"
        yield f"split({loop}, a, b, 2).{kind}(b)"
        yield f"split({loop}, a, b, 2).split(b, b, c, 2).{kind}(c)"
        yield f"fuse({loop}, {other}, t).{kind}(t)"
        yield f"specialize(p > 3).{kind}({loop})"
    yield f"parallel({loop}, 2)"
    yield f"atomic().vectorize({loop}, 4)"
    yield f"fuse({loop}, {other}, {other})"
    yield f"fuse({other}, {loop}, {other})"
    yield f"fuse({loop}, {loop}, t)"
    yield f"reorder({loop}, {other})"
    yield f"reorder({other}, {loop})"
    yield f"tile({loop}, {other}, a, b, 2, 2)"
    yield f"tile({other}, {loop}, a, b, 2, 2)"
    yield f"gpu_tile({loop}, a, 2)"
    yield f"partition({loop}, Partition::Always)"
    yield f"never_partition({loop})"
    yield f"split({loop}, {loop}, u1, 2).always_partition({loop}, u1)"
    yield f"rename({loop}, k1)"
    yield f"split({loop}, {loop}, u1, 2).rename({loop}, k1)"
    yield f"split({loop}, {loop}, u1, 2).rename(u1, {loop})"
    for bound in ("Clamp", "GuardWithIf", "NonFaulting"):
        for inside, origin in ((loop, loop), (loop, other), (other, loop)):
            yield f"prefetch(im, {inside}, {origin}, 1, PrefetchBoundStrategy::{bound})"
    yield f"split({loop}, {loop}, u1, 3).prefetch({at.producer}, u1, u1, 2)"
    yield f"specialize(p > 3).split({loop}, {loop}, u1, 2)"
    yield f"compute_with({at.producer}, {loop})"
    yield f"rfactor({loop}, w)"
    yield f"rfactor(r.x, w).split({loop}, {loop}, u1, 2)"
    for name in ("fold_storage", "align_storage", "bound_extent", "bound_storage"):
        yield f"{name}({loop}, 4)"


def _levels(at: LoopCase) -> Iterator[str]:
    """What says of another Func that it is computed or stored at the loop."""
    (func, *_), loop, other, name = at.stage.split("."), at.loop, at.other, at.producer
    for level in (loop, "Var::outermost()"):
        for place in (f"compute_at({func}, {level})", f"store_root().compute_at({func}, {level})",
                      f"store_at({func}, {level}).compute_at({func}, {other})",
                      f"compute_at({func}, {other}).hoist_storage({func}, {level})"):  # fmt: skip
            yield f"{name}.{place}"
            yield f"{name}.{place}.gpu_threads(x)"
            yield f"{name}.{place}.serial(__thread).unroll(__thread, 2)"
            yield f"{name}.{place}; {at.stage}.split({loop}, {loop}, u1, 2)"


def texts(at: LoopCase) -> list[str]:
    """The schedules that are tried at a place."""
    named = [f"{at.stage}.{text}" for text in _directives(at)]
    outside = [text.replace(at.loop, "Var::outermost()") for text in named[::7]]
    return [at.base + text for text in (*named, *_levels(at), *outside)]


@define
class Prover:
    """Proves what schedules have to meet, in limited steps of the solver, so that a busy computer
    proves as much as another. Most obligations of a schedule are those of others too, and are
    decided once.
    """

    _decider: Decider = field(factory=lambda: Decider(NO_TIMEOUT, attempts=BY_STEPS))
    _proven: set[Obligation] = field(factory=set)

    def unproven(self, verdict: CheckedSchedule) -> list[Obligation]:
        """The obligations of a schedule that nothing proves."""
        new = [o for o in obligations(verdict) if o not in self._proven]
        self._proven.update(o for o in new if isinstance(self._decider.decide(o), Proven))
        return [o for o in new if o not in self._proven]


@cache
def prover() -> Prover:
    """That of all places."""
    return Prover()


@cache
def oracle(algorithm: Callable[[], list[Func]]) -> Oracle:
    """The reference of an algorithm, on images and sizes of its own."""
    plain = pipeline(algorithm())
    places = {i.name: ((-60, 150), (-60, 150))[: i.dimensions] for i in plain.images}
    outputs = tuple(
        {n: extents[: len(plain.function(n).args)] for n in plain.outputs} for extents in _SIZES
    )
    rng = np.random.default_rng(3)
    shapes = {name: tuple(extent for _, extent in reversed(p)) for name, p in places.items()}
    images = {n: guarded(rng.integers(-60, 60, s, dtype=np.int32))[0] for n, s in shapes.items()}
    return Oracle(Subject("", plain, images, dict.fromkeys(images, 3), places, outputs))


@pytest.mark.parametrize("at", PLACES, ids=lambda at: f"{at.stage} {at.loop} {at.target}")
def test_what_is_legal_is_right_and_what_is_not_names_a_rule(at: LoopCase) -> None:
    """Some of both are at each place."""
    known = oracle(at.algorithm)
    became = [_tried(known, at, *numbered) for numbered in enumerate(texts(at)[::TRIED_EVERY], 1)]
    assert became.count("legal") >= LEGAL
    assert len(set(became)) > ENDS


def _tried(known: Oracle, at: LoopCase, number: int, text: str) -> str:
    """What became of a schedule: "legal", the rules that it breaks, or how its text is refused."""
    built, target = known.subject.pipeline, device(at.target)
    try:
        schedule = parse_schedule(text, built)
    except ScheduleSyntaxError as error:
        return str(error)
    assert from_json(to_json(schedule), Schedule) == schedule
    assert parse_schedule(format_schedule(schedule, built), built) == schedule
    case = Case(0, number, "", at.target, schedule)
    verdict = verify(built, schedule, target)
    if isinstance(verdict, Illegal):
        outcome = refused(case, "", verdict)
        assert not outcome.mismatch, f"{text}: {outcome.mismatch}"
        if number % 48 == 0:
            found = repair(built, schedule, target, seconds=0.1)
            assert found.schedule is not None
            assert verify(built, found.schedule, target)
        return " ".join(outcome.rules)
    fuzzer = Fuzzer(0, compiled_every=COMPILED_EVERY, proven_every=COMPILED_EVERY)
    outcome = fuzzer.judge_legal(case, known, verdict)
    assert not outcome.mismatch, f"{text}: {outcome.mismatch}"
    if number % PROVEN_EVERY == 0:
        unproven = prover().unproven(verdict)
        assert not unproven, f"{text}: {unproven[0]}"
    if number % COMPILED_EVERY == 0:
        proofs = prove(verdict, timeout_ms=NO_TIMEOUT, seconds=math.inf).proofs
        assert all(isinstance(p.outcome, Proven) for p in proofs), text
    if number % PRICED_EVERY == 0:
        assert_priced(known, at, schedule, text)
    return "legal"


def assert_priced(known: Oracle, at: LoopCase, schedule: Schedule, text: str) -> None:
    """Asserts that cost models have a number for a schedule."""
    built = known.subject.pipeline
    sizes = {name: int(value) for name, value in known.values(EXACT).items()}
    batch = Batch.of(built, schedule, sizes=sizes)
    for name in MODELS[at.target]:
        costs = cost_model(name, device(at.target)).cost(batch)
        assert not np.isnan(costs).any(), f"{text}: {name}"
