"""Nests with a mistake are refuted with a real counterexample: the nest fails there in a literal
run, or arithmetic on the numbers shows the clash.
"""

from __future__ import annotations

import attrs
import pytest

import spaces
from spaces import Counterexample, Expr, LoopKind, LoopNest, Refuted, prove
from spaces.constraints.examples import algorithms
from spaces.constraints.obligations.assumptions import assumptions
from spaces.constraints.obligations.sites import Subject
from spaces.constraints.proofs.trace import trace
from spaces.model.formulas.algebra import evaluate
from spaces.model.formulas.interval import Interval
from spaces.model.nest.loopnest import Allocate, Compute, walk_nest
from tests.constraints.proofs import broken
from tests.constraints.proofs.broken import blur, nest_of, polynomial, scan, window
from tests.model.nest.nest_interpreter import NestError, run_nest


def rows() -> LoopNest:
    """The blur with a sliding window of rows."""
    return nest_of(blur(), lambda d: d.func("blurx").store_root().compute_at("out", "y"))


def refuted(nest: LoopNest, kind: str) -> list[Counterexample]:
    """The counterexamples to the obligations of one kind."""
    found = prove(nest).refuted
    return [
        p.outcome.counterexample
        for p in found
        if p.obligation.kind == kind and isinstance(p.outcome, Refuted)
    ]


def run(nest: LoopNest, sizes: dict[str, int]) -> None:
    (output,) = nest.pipeline.outputs
    count = len(nest.pipeline.function(output).args)
    whole = {f"{output}.min.{d}": 0 for d in range(count)} | sizes
    run_nest(nest, whole, lambda name, at: 1 + sum(x * x + 3 * x for x in at))


UNSOUND = {
    "an allocation too small": (
        "bounds",
        "blurx",
        broken.shrunk(nest_of(blur(), lambda d: d.func("blurx").compute_root()), "blurx", 0),
    ),
    "an allocation of too few rows": (
        "bounds",
        "blurx",
        broken.shrunk(nest_of(blur(), lambda d: d.func("blurx").compute_root()), "blurx", 1),
    ),
    "a guard dropped": (
        "bounds",
        "out",
        broken.unguarded(
            nest_of(blur(), lambda d: d.split("x", "x", "xi", 8, "guard_with_if")), "out"
        ),
    ),
    "a row not computed": (
        "coverage",
        "blurx",
        broken.shortened(
            nest_of(blur(), lambda d: d.func("blurx").compute_at("out", "y")), "blurx", "y"
        ),
    ),
    "a column of tiles not computed": (
        "coverage",
        "blurx",
        broken.shortened(
            nest_of(blur(), lambda d: d.func("blurx").compute_root().split("x", "x", "xi", 4)),
            "blurx",
            "x",
        ),
    ),
    "a window moved too far": (
        "sliding",
        "blurx",
        broken.with_target(rows(), "blurx", 1, lambda i: (i.min + 1, i.max)),
    ),
    "a guard too strict": (
        "coverage",
        "blurx",
        broken.stricter(
            nest_of(
                blur(),
                lambda d: d.func("blurx").compute_root().split("x", "x", "xi", 4, "guard_with_if"),
            ),
            "blurx",
        ),
    ),
    "a producer left out where its reader runs": (
        "coverage",
        "p",
        broken.computed_seldom(
            nest_of(
                broken.siblings(),
                lambda d: (
                    d.func("g")
                    .compute_root()
                    .func("f")
                    .compute_root()
                    .compute_with("g", "y")
                    .func("p")
                    .compute_at("f", "y")
                ),
            ),
            "p",
        ),
    ),
    "a fold factor too small": (
        "folding",
        "blurx",
        nest_of(
            blur(),
            lambda d: d.func("blurx").store_root().compute_at("out", "y").fold_storage("y", 2),
        ),
    ),
    "columns folded that the next row reads": (
        "folding",
        "f",
        nest_of(
            window(),
            lambda d: d.func("f").store_root().compute_at("out", "x").fold_storage("x", 3),
        ),
    ),
}


@pytest.mark.parametrize("name", UNSOUND)
def test_a_mistake_is_refuted_and_shows_when_the_nest_runs(name: str) -> None:
    kind, buffer, nest = UNSOUND[name]
    found = [c for c in refuted(nest, kind) if c.buffer == buffer]
    assert found
    for example in found:
        assert all(0 <= v <= 8 for n, v in example.sizes.items() if "extent" in n)
        with pytest.raises(NestError, match=rf"{buffer}\("):
            run(nest, example.sizes)


def test_nothing_is_refuted_before_the_mistake_is_made() -> None:
    for nest in (
        rows(),
        nest_of(blur(), lambda d: d.split("x", "x", "xi", 8, "guard_with_if")),
        nest_of(window(), lambda d: d.func("f").store_root().compute_at("out", "x")),
        nest_of(polynomial(), lambda d: d.update(0).reorder("r.x", "r.y", "y", "x")),
    ):
        report = prove(nest)
        assert len(report.proven) == len(report.proofs) > 5


def test_a_coordinate_outside_its_allocation_is_named() -> None:
    nest = broken.shrunk(nest_of(blur(), lambda d: d.func("blurx").compute_root()), "blurx", 0)
    (storage,) = [n for n in walk_nest(nest.body) if isinstance(n, Allocate)]
    found = refuted(nest, "bounds")
    assert len(found) == 4  # the write, and the reads of three rows
    for example in found:
        values = example.sizes | example.iteration
        first = evaluate(storage.mins[0], values)
        assert example.coordinate[0] == first + evaluate(storage.extents[0], values)


def test_an_output_that_is_not_computed_everywhere_is_refuted() -> None:
    nest = broken.shortened(nest_of(blur()), "out", "y")
    (example,) = refuted(nest, "coverage")
    outputs, _ = run_nest(
        nest, {"out.min.0": 0, "out.min.1": 0} | example.sizes, lambda name, at: 1
    )
    assert example.coordinate not in outputs["out"]
    assert all(0 <= x < example.sizes[f"out.extent.{d}"] for d, x in enumerate(example.coordinate))


def test_a_window_that_slides_along_a_parallel_loop_is_refuted() -> None:
    nest = broken.of_kind(rows(), "out", "y", LoopKind.PARALLEL)
    (example,) = refuted(nest, "sliding")
    # Read in a later iteration, computed in an earlier one.
    row = example.iteration["out.s0.y"]
    assert row > 0
    assert example.coordinate[1] in (row - 1, row)
    assert refuted(nest, "race")


def places(nest: LoopNest, func: str, stage: int, example: Counterexample) -> list[list[int]]:
    """The places that a stage writes in the two iterations of a counterexample."""
    (site,) = [
        n
        for n in walk_nest(nest.body)
        if isinstance(n, Compute) and (n.func, n.stage) == (func, stage)
    ]
    first = example.sizes | example.iteration
    return [[evaluate(a, v) for a in site.args] for v in (first, first | example.other)]


def test_a_parallel_reduction_races() -> None:
    nest = nest_of(polynomial(), lambda d: d.update(0).parallel("r.y"))
    found = refuted(nest, "race")
    assert len(found) == 2  # with another write, and with a read
    for example in found:
        first, second = places(nest, "s", 1, example)
        assert first == second == list(example.coordinate)
        assert example.iteration["s.s1.r.y"] != example.other["s.s1.r.y"]


def test_rows_in_a_circle_race_along_a_parallel_loop() -> None:
    nest = nest_of(
        blur(),
        lambda d: d.parallel("y")
        .func("blurx").store_root().compute_at("out", "y").fold_storage("y", 3),
    )  # fmt: skip
    assert not refuted(nest, "folding")  # in order it would be right
    (first, *_) = refuted(nest, "race")
    one, two = places(nest, "blurx", 0, first)
    assert one != two
    assert one[0] == two[0]
    assert (one[1] - two[1]) % 3 == 0


@pytest.mark.parametrize(
    ("step", "kind", "races_found"),
    [
        pytest.param(-1, LoopKind.VECTORIZED, True, id="lanes read what earlier ones write"),
        pytest.param(1, LoopKind.VECTORIZED, False, id="lanes read before later ones write"),
        pytest.param(1, LoopKind.PARALLEL, True, id="threads have no order"),
        pytest.param(8, LoopKind.PARALLEL, False, id="threads read elsewhere"),
    ],
)
def test_races_of_a_scan(step: int, kind: LoopKind, races_found: bool) -> None:
    whole = nest_of(scan(step), lambda d: d.func("f").compute_root())
    nest = broken.of_kind(whole, "f", "r.x", kind)
    found = refuted(nest, "race")
    assert bool(found) is races_found
    for example in found:
        writes, reads = example.iteration["f.s1.r.x"], example.other["f.s1.r.x"]
        assert writes == reads + step == example.coordinate[0]


def test_a_reduction_in_another_order_is_refuted() -> None:
    nest = nest_of(polynomial(), lambda d: d.update(0).reorder("r.y", "r.x", "x", "y"))
    (example,) = refuted(nest, "order")
    first, second = example.iteration, example.other
    assert first["s.s1.x"] == second["s.s1.x"]
    assert (first["s.s1.r.x"], first["s.s1.r.y"]) < (second["s.s1.r.x"], second["s.s1.r.y"])
    assert (first["s.s1.r.y"], first["s.s1.r.x"]) > (second["s.s1.r.y"], second["s.s1.r.x"])


def test_an_update_applied_twice_is_refuted() -> None:
    nest = nest_of(polynomial(), lambda d: d.update(0).split("x", "x", "xi", 4, "shift_inwards"))
    found = refuted(nest, "order")
    first, second = places(nest, "s", 1, found[0])
    assert first == second
    assert found[0].iteration["s.s1.x"] != found[0].other["s.s1.x"]


def test_a_sum_that_is_added_to_twice_is_refuted() -> None:
    """The order is free, but each point counts once."""
    nest = nest_of(
        algorithms.total(),
        lambda d: d.func("s").compute_root().update(0).split("x", "x", "xi", 4, "shift_inwards"),
    )
    first, second = places(nest, "s", 1, refuted(nest, "order")[0])
    assert first == second


def test_an_update_before_its_pure_stage_is_refuted() -> None:
    nest = broken.stages_swapped(nest_of(polynomial()), "s")
    (example,) = refuted(nest, "coverage")
    assert example.buffer == "s"
    with pytest.raises(NestError, match=r"s\(.* before it is written"):
        run(nest, {"s.extent.0": 1, "s.extent.1": 1})


def test_a_stage_that_is_computed_again_is_refuted() -> None:
    """Another loop visits the same points; the ranges of the first loop do not show that."""
    nest = nest_of(polynomial())
    again = broken.last_stage_again(nest, "s")
    assert not prove(nest).refuted
    assert [e.buffer for e in refuted(again, "coverage")] == ["s"]


def test_an_output_that_nothing_produces_is_refuted() -> None:
    (example,) = refuted(attrs.evolve(nest_of(polynomial()), body=()), "coverage")[:1]
    assert example.buffer == "s"


def test_whole_tiles_of_an_update_may_reach_beyond_what_is_asked_for() -> None:
    """There they read values that no stage computed, and no Func reads their results."""
    algorithm = algorithms.total()
    whole = nest_of(
        algorithm, lambda d: d.func("s").compute_root().update(0).split("x", "x", "xi", 4)
    )
    report = prove(whole)
    assert report.proofs == report.proven
    subject = Subject(whole, assumptions(whole, None))
    assert trace(subject, {"out.extent.0": 1, "out.extent.1": 1}) == {}
    beyond = broken.shortened(whole, "s", "x")
    assert {c.buffer for c in refuted(beyond, "coverage")} == {"s"}


def test_storage_given_back_before_it_is_read_is_refuted() -> None:
    whole = nest_of(blur(), lambda d: d.func("blurx").compute_at("out", "y"))
    assert not refuted(whole, "coverage")
    found = refuted(broken.freed_early(whole, "blurx"), "coverage")
    assert [c.buffer for c in found] == ["blurx"] * 3


def test_a_value_of_another_coordinate_is_refuted() -> None:
    nest = broken.reading_elsewhere(nest_of(blur()), "out")
    (example,) = refuted(nest, "definition")
    assert example.buffer == "out"


def test_storage_in_the_wrong_loop_is_refuted() -> None:
    """A window of rows whose storage is allocated again for each row."""
    nest = broken.stored_inside(rows(), "blurx")
    (example,) = refuted(nest, "sliding")
    with pytest.raises(NestError, match=r"blurx\("):
        run(nest, example.sizes)


def test_a_value_that_is_read_before_it_is_computed_is_refuted() -> None:
    nest = broken.consumed_first(nest_of(blur(), lambda d: d.func("blurx").compute_root()), "blurx")
    examples = refuted(nest, "coverage")
    assert {e.buffer for e in examples} == {"blurx"}
    with pytest.raises(NestError, match=r"blurx\("):
        run(nest, examples[0].sizes)


def test_a_value_of_another_form_is_not_proven() -> None:
    for func in ("blurx", "out"):
        nest = nest_of(blur(), lambda d: d.func("blurx").compute_root())
        report = prove(broken.of_other_form(nest, func))
        left = {p.obligation.func for p in report.proofs if p not in report.proven}
        assert left == {func}


def newest_row(interval: Interval) -> tuple[Expr, Expr]:
    assert interval.max is not None
    return interval.max, interval.max


def test_a_window_that_is_never_filled_is_refuted() -> None:
    """Each iteration computes its newest row; no iteration computes the first two."""
    (example,) = refuted(broken.with_target(rows(), "blurx", 1, newest_row), "sliding")
    assert example.buffer == "blurx"


def test_a_counterexample_meets_every_condition_of_a_call():
    """The conditions of a call that mention an image limit Funcs, too, that depend on its size."""
    x = spaces.Var("x")
    other = spaces.ImageParam(spaces.UInt64, 1, "other")
    mirrored = spaces.boundary.mirror_image(other)
    f = spaces.Func("f")
    f[x] = mirrored[x * 3 + 3]
    pipeline = spaces.pipeline(f)
    text = """
        other.in(mirror_image).compute_at(mirror_image_in, __block).bound_extent(_0, 40);
        mirror_image.in().compute_root().serial(__thread).serial(__block);
    """
    schedule = spaces.parse_schedule(text, pipeline)
    checked = spaces.verify(pipeline, schedule, spaces.device("sm_90"))
    report = spaces.prove(checked)
    assert report.proofs
    assert not report.refuted
