"""Why one schedule costs more than another."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from functools import cache

import attrs
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray

import spaces
from spaces.apps.catalog import APPS
from spaces.features.features import Features
from tests.backend.cpu_schedules import cpu_schedules
from tests.cpus import FOUR_CORES
from tests.enumerate.pipelines import blur, chain, row_sums

CPU, GPU = FOUR_CORES, spaces.device("sm_80")
CPU_MODELS = ("reuse", "weighted", "learned", "hybrid")
GPU_MODELS = ("occupancy", "weighted", "roofline")

PIPELINES = (blur(64, 32), chain(48, 20), row_sums(40, 24))


def checked(
    pipeline: spaces.Pipeline, text: str, device: spaces.Device = CPU
) -> spaces.CheckedSchedule:
    verdict = spaces.verify(pipeline, spaces.parse_schedule(text, pipeline, 256), device)
    assert isinstance(verdict, spaces.CheckedSchedule), verdict
    return verdict


def by_hand(app: str, name: str, device: spaces.Device) -> spaces.CheckedSchedule:
    return checked(APPS[app].pipeline(), APPS[app].schedules[name].read_text(), device)


@cache
def gpu_schedules() -> tuple[spaces.CheckedSchedule, ...]:
    pipeline = blur(64, 32)
    space = spaces.ScheduleSpace(pipeline, GPU, spaces.Options.small(GPU))
    drawn = [spaces.verify(pipeline, one, GPU) for one in space.sample(8, seed=3)]
    return tuple(one for one in drawn if isinstance(one, spaces.CheckedSchedule))


@st.composite
def pairs(draw: st.DrawFn) -> tuple[spaces.CheckedSchedule, spaces.CheckedSchedule, str]:
    """Two legal schedules of a pipeline for a device, and the name of a model for it."""
    if draw(st.booleans()):
        both = st.sampled_from(gpu_schedules())
        return draw(both), draw(both), draw(st.sampled_from(GPU_MODELS))
    pipeline = draw(st.sampled_from(PIPELINES))
    first, second = (spaces.verify(pipeline, draw(cpu_schedules(pipeline)), CPU) for _ in range(2))
    assume(first.legal and second.legal)
    assert isinstance(first, spaces.CheckedSchedule)
    assert isinstance(second, spaces.CheckedSchedule)
    return first, second, draw(st.sampled_from(CPU_MODELS))


def cost_of(verdict: spaces.CheckedSchedule, model: str) -> float:
    batch = spaces.Batch.of(verdict.pipeline, verdict.schedule)
    return float(spaces.cost_model(model, verdict.device).cost(batch))


@given(pairs())
def test_the_differences_add_up_to_that_of_the_costs(
    pair: tuple[spaces.CheckedSchedule, spaces.CheckedSchedule, str],
) -> None:
    first, second, model = pair
    found = spaces.explain(first, second, model)
    one, other = cost_of(first, model), cost_of(second, model)
    assert (found.first, found.second) == (one, other)
    near = 1e-9 * max(one, other)
    assert math.fsum(part.difference for part in found.parts) == pytest.approx(
        one - other, abs=near
    )
    if abs(one - other) > 1e3 * near:
        shares = [part.share for part in found.parts]
        assert math.fsum(share or 0.0 for share in shares) == pytest.approx(1, rel=1e-3)
        assert found.ratio == one / other
    sizes = [abs(part.first - part.second) for part in found.parts]
    assert sizes == sorted(sizes, reverse=True)
    assert all(sizes)


@given(pairs())
def test_the_other_way_round_signs_turn(
    pair: tuple[spaces.CheckedSchedule, spaces.CheckedSchedule, str],
) -> None:
    first, second, model = pair
    one, other = spaces.explain(first, second, model), spaces.explain(second, first, model)
    assert (one.first, one.second) == (other.second, other.first)
    assert one.difference == -other.difference
    assert one.ratio == pytest.approx(1 / other.ratio)
    assert (one.chance_of_second is None) == (model != "reuse" or not one.parts)
    if one.chance_of_second is not None and other.chance_of_second is not None:
        assert one.chance_of_second == pytest.approx(1 - other.chance_of_second)
        assert (one.chance_of_second > 0.5) == (one.first > one.second)
    turned = (attrs.evolve(d, first=d.second, second=d.first) for d in other.parts)
    assert tuple(turned) == one.parts
    assert [d.difference for d in one.parts] == [-d.difference for d in other.parts]
    heads = [[line.partition(" (")[0] for line in found.reasons] for found in (one, other)]
    assert heads[0] == heads[1]


@given(pairs())
def test_a_schedule_does_not_differ_from_itself(
    pair: tuple[spaces.CheckedSchedule, spaces.CheckedSchedule, str],
) -> None:
    verdict, _, model = pair
    found = spaces.explain(verdict, verdict, model)
    assert (found.parts, found.reasons, found.difference, found.ratio) == ((), (), 0, 1)
    assert str(found).splitlines()[1:] == [f"Nothing differs that {model} prices."]


@given(pairs())
def test_sentences_tell_what_differs_for_most_of_the_difference(
    pair: tuple[spaces.CheckedSchedule, spaces.CheckedSchedule, str],
) -> None:
    found = spaces.explain(*pair)
    sizes = [abs(part.first - part.second) for part in found.parts]
    told, whole = len(found.reasons), math.fsum(sizes)
    assert math.fsum(sizes[:told]) >= 0.9 * whole * (1 - 1e-12)
    assert told == 0 or math.fsum(sizes[: told - 1]) < 0.9 * whole
    for part, line in zip(found.parts, found.reasons, strict=False):
        assert line.startswith(f"{spaces.StageOf(part.func, part.stage)}: ")
        for one, other in re.findall(
            r"The first [^.]*?([\d,.]+\d|\d)\b.*?, the second (.*?)\.(?= |$)", line
        ):
            assert one != other.split()[0], line


def reason(found: spaces.PriceDifference, start: str) -> str:
    (line,) = (one for one in found.reasons if one.startswith(start))
    return line


@pytest.fixture(scope="module")
def recomputed() -> spaces.CheckedSchedule:
    """Each of 32 rows of ``blur_y`` computes three rows of 64 values of ``blur_x``."""
    return checked(blur(64, 32), "blur_x.compute_at(blur_y, y)")


@pytest.fixture(scope="module")
def at_root() -> spaces.CheckedSchedule:
    """34 rows of ``blur_x``, each computed once."""
    return checked(blur(64, 32), "blur_x.compute_root()")


def test_recomputed_values_are_counted(
    recomputed: spaces.CheckedSchedule, at_root: spaces.CheckedSchedule
) -> None:
    found = spaces.explain(recomputed, at_root, "weighted")
    (part,) = (d for d in found.parts if (d.func, d.what) == ("blur_x", "arith"))
    assert part.first / part.second == pytest.approx(32 * 3 / 34)
    line = reason(found, "blur_x: arithmetic makes")
    assert "The first computes it at blur_y.y, the second at root." in line
    assert "The first evaluates it 6,144 times, the second 2,176 (2.82 times as many" in line
    assert f"The first repeats {6144 - 2176:,} evaluations, the second 0." in line


def test_the_other_schedule_is_the_dearer_one(
    recomputed: spaces.CheckedSchedule, at_root: spaces.CheckedSchedule
) -> None:
    found = spaces.explain(at_root, recomputed, "weighted")
    assert found.difference < 0
    assert "the second costs" in str(found).splitlines()[0]
    assert "(2.82 times as many in the second)" in reason(found, "blur_x: arithmetic")


class Weighing:
    """A model of the user: 5 for ``blur_x``; 1 for ``blur_y``, 20 if it inlines ``blur_x``."""

    def cost(self, batch: spaces.Batch) -> NDArray[np.float64]:
        return batch.full(20.0 if len(batch.features.funcs) == 1 else 6.0)

    def parts(self, features: Features) -> dict[tuple[str, int], dict[str, float]]:
        if len(features.funcs) == 1:
            return {("blur_y", 0): {"weight": 20.0}}
        return {("blur_x", 0): {"weight": 5.0}, ("blur_y", 0): {"weight": 1.0}}


def test_what_makes_the_difference_smaller_is_taken_off() -> None:
    pipeline = blur(64, 32)
    both = checked(pipeline, ""), checked(pipeline, "blur_x.compute_root()")
    found = spaces.explain(*both, Weighing())
    assert [(d.func, d.difference, d.share) for d in found.parts] == [
        ("blur_y", 19, 19 / 14),
        ("blur_x", -5, -5 / 14),
    ]
    assert reason(found, "blur_y: weight makes 135.7% of the difference (20 in the first, 1 in the")
    assert reason(found, "blur_x: weight takes 35.7% off the difference (0 in the first, 5 in the")
    again = spaces.explain(*reversed(both), Weighing())
    assert [d.share for d in again.parts] == [19 / 14, -5 / 14]


def test_lanes_tasks_and_parallel_loops_are_counted() -> None:
    pipeline = blur(1024, 512)
    fast = "blur_x.compute_root()\nblur_y.parallel(y).vectorize(x, 16)"
    found = spaces.explain(checked(pipeline, "blur_x.compute_root()"), checked(pipeline, fast))
    line = reason(found, "blur_y: computing makes")
    assert "The first has 1 vector lane, the second 16 (16.0 times as many in the second)." in line
    assert "The first has 1 parallel task around it, the second 512 (512 times as many" in line
    (overhead,) = (d for d in found.parts if d.what == "overhead")
    assert (overhead.func, overhead.first) == ("blur_y", 0)
    only = Only("overhead")
    told = spaces.explain(checked(pipeline, fast), checked(pipeline, "blur_x.compute_root()"), only)
    (line,) = told.reasons
    assert line.startswith("blur_y: running parallel loops makes 100.0% of the difference (")
    assert line.endswith(
        "The first starts its parallel loops 1 time, the second 0. "
        "The first runs 512 iterations of its parallel loops, the second 0."
    )


@attrs.frozen
class Only:
    """The model ``reuse`` with a kind of cost alone."""

    what: str

    def parts(self, features: Features) -> dict[tuple[str, int], dict[str, float]]:
        every = spaces.cost_model("reuse", CPU).parts(features)  # type: ignore[union-attr]
        return {key: {self.what: of[self.what]} for key, of in every.items()}

    def cost(self, batch: spaces.Batch) -> NDArray[np.float64]:
        return batch.full(sum(of[self.what] for of in self.parts(batch.features).values()))


def test_storage_and_allocations_are_counted() -> None:
    """Rows of 4096 values of two bytes: three in each of 64 allocations, or all 66 in one."""
    pipeline = blur(4096, 64)
    rows = checked(pipeline, "blur_x.compute_at(blur_y, y)")
    root = checked(pipeline, "blur_x.compute_root()")
    (line,) = spaces.explain(rows, root, Only("allocation")).reasons
    assert "The first allocates it 64 times, the second 1 (64.0 times as many" in line
    assert "The first takes 24,576 bytes for one of its allocations, the second 540,672 (" in line
    line = reason(spaces.explain(rows, root, Only("from_l3")), "blur_y: moving lines")
    read = "The first takes 24,576 bytes for one allocation of blur_x, which it reads, the second"
    assert f"{read} 540,672 (22.0 times as many in the second)." in line


def test_loops_are_told_where_no_number_differs() -> None:
    pipeline = blur(64, 32)
    found = spaces.explain(
        checked(pipeline, "blur_y.reorder(y, x)"), checked(pipeline, ""), Only("compute")
    )
    (line,) = found.reasons
    assert line.endswith("The first has the loops (x 64, y 32), the second (y 32, x 64).")


def test_kernels_are_compared() -> None:
    pipeline = blur(64, 32)
    wide, small = (
        checked(pipeline, f"blur_y.gpu_tile(x, y, xi, yi, {width}, {height})", GPU)
        for width, height in ((32, 8), (16, 4))
    )
    (line,) = spaces.explain(wide, small).reasons
    assert "The first starts 8 blocks, the second 32 (4.00 times as many in the second)." in line
    assert "The first has 256 threads in a block, the second 64 (" in line
    assert "evaluates" not in line
    (part,) = spaces.explain(wide, small).parts
    assert (part.what, part.share) == ("kernel", 1.0)
    found = spaces.explain(wide, checked(pipeline, "", GPU))
    line = reason(found, "blur_y: computing on the host")
    assert "The first computes it in the kernel of blur_y, the second outside all kernels." in line


def test_a_stage_in_a_kernel_is_told() -> None:
    pipeline = blur(64, 32)
    tile = "blur_y.gpu_tile(x, y, xi, yi, 32, 8)"
    fused = checked(pipeline, f"{tile}\nblur_x.compute_at(blur_y, x).gpu_threads(x, y)", GPU)
    (line,) = spaces.explain(checked(pipeline, tile, GPU), fused).reasons
    points = 8 * 32 * 10  # each of eight blocks computes ten rows
    assert f"The first evaluates blur_x 0 times in this kernel, the second {points:,}." in line
    assert "bytes of shared memory in a block, the second 640" in line


def test_derived_funcs_are_told() -> None:
    hand = by_hand("sgemm", "cpu", CPU)
    default = spaces.verify(
        APPS["sgemm"].pipeline(), spaces.Schedule.default(APPS["sgemm"].pipeline()), CPU
    )
    assert isinstance(default, spaces.CheckedSchedule)
    assert hand.pipeline != default.pipeline
    found = spaces.explain(hand, default, Counting())
    assert any("The second has no Func B_in." in line for line in found.reasons)
    assert any(part.stage == 1 for part in spaces.explain(hand, default).parts)


class Counting:
    """A model of the user: one for each Func."""

    def cost(self, batch: spaces.Batch) -> NDArray[np.float64]:
        return batch.full(float(len(batch.features.funcs)))

    def parts(self, features: Features) -> dict[tuple[str, int], dict[str, float]]:
        return {(func.name, 0): {"presence": 1.0} for func in features.funcs}


def test_a_model_of_the_user_names_its_kinds_of_cost() -> None:
    pipeline = blur(64, 32)
    found = spaces.explain(
        checked(pipeline, "blur_x.compute_root()"), checked(pipeline, ""), Counting()
    )
    assert found == spaces.PriceDifference(
        "Counting", 2, 1, True,
        (spaces.PartDifference("blur_x", 0, "presence", 1, 0, 1.0),),
        ("blur_x: presence makes 100.0% of the difference (1 in the first, 0 in the second). "
         "The second inlines blur_x.",),
    )  # fmt: skip
    assert str(found).splitlines() == [
        "The first costs 2 by Counting, the second 1: the first costs 2.00 times as much.",
        "stage   what      first  second  difference   share",
        "blur_x  presence      1       0          +1  100.0%",
        found.reasons[0],
    ]


def test_equal_costs_may_have_differing_parts() -> None:
    class Moved:
        def cost(self, batch: spaces.Batch) -> NDArray[np.float64]:
            return batch.full(1.0)

        def parts(self, features: Features) -> dict[tuple[str, int], dict[str, float]]:
            return {(features.funcs[0].name, 0): {"all": 1.0}}

    pipeline = blur(64, 32)
    both = checked(pipeline, "blur_x.compute_root()"), checked(pipeline, "")
    found = spaces.explain(*both, Moved())
    assert [(d.func, d.difference, d.share) for d in found.parts] == [
        ("blur_x", 1.0, None),
        ("blur_y", -1.0, None),
    ]
    assert "blur_x: all differs (1 in the first, 0 in the second)." in found.reasons[0]
    assert str(found).startswith("Both cost 1 by Moved.\n")


def test_a_model_without_parts_gives_the_costs_alone() -> None:
    pipeline = blur(64, 32)
    both = checked(pipeline, "blur_x.compute_root()"), checked(pipeline, "")

    def funcs(batch: spaces.Batch) -> float:
        return 100.1 if len(batch.features.funcs) == 2 else 100.0

    found = spaces.explain(*both, funcs)
    assert (found.first, found.second, found.has_parts, found.parts) == (100.1, 100.0, False, ())
    assert str(found).splitlines() == [
        "The first costs 100.1 by funcs, the second 100: the first costs 0.10% more.",
        "funcs does not say what costs how much.",
    ]


def test_infinite_costs_are_compared() -> None:
    class Useless:
        def cost(self, batch: spaces.Batch) -> NDArray[np.float64]:
            return batch.full(math.inf if len(batch.features.funcs) == 2 else 3.0)

        def parts(self, features: Features) -> dict[tuple[str, int], dict[str, float]]:
            return {("blur_y", 0): {"all": math.inf if len(features.funcs) == 2 else 3.0}}

    pipeline = blur(64, 32)
    two, one = checked(pipeline, "blur_x.compute_root()"), checked(pipeline, "")
    found = spaces.explain(two, one, Useless())
    assert (found.ratio, found.difference, found.parts[0].share) == (math.inf, math.inf, None)
    assert "inf" in str(found)
    same = spaces.explain(two, two, Useless())
    assert (same.ratio, same.difference, same.parts) == (1, 0, ())


def wrong_arguments() -> Iterator[tuple[object, object, type[Exception], tuple[str, ...]]]:
    pipeline = blur(64, 32)
    good = checked(pipeline, "")
    bad = spaces.verify(pipeline, spaces.parse_schedule("blur_y.vectorize(z)", pipeline), CPU)
    rule = ("it is not legal", *(str(violation) for violation in bad.violations))
    assert len(rule) == 2
    yield bad, good, ValueError, ("the first schedule", *rule)
    yield good, bad, ValueError, ("the second schedule", *rule)
    yield bad, bad, ValueError, ("the first schedule", "the second schedule", *rule)
    yield spaces.Schedule.default(pipeline), good, TypeError, ("not a Schedule",)
    yield good, "cpu", TypeError, ("not a str",)
    yield good, checked(pipeline, "", GPU), ValueError, ("for one device", CPU.name, GPU.name)
    yield good, checked(chain(64, 32), ""), ValueError, ("schedules of one pipeline",)
    yield good, checked(blur(64, 33), ""), ValueError, ("schedules of one pipeline",)


def test_what_cannot_be_compared_is_refused() -> None:
    for first, second, error, words in wrong_arguments():
        with pytest.raises(error) as raised:
            spaces.explain(first, second)  # type: ignore[arg-type]
        assert all(word in str(raised.value) for word in words), raised.value


@pytest.mark.parametrize(("first", "second"), [(1, math.inf), (0, 5), (-1, 5)])
def test_no_ratio_is_told_of_costs_that_have_none(first: float, second: float) -> None:
    """Costs of a user's function, by the Funcs that are not inlined."""

    def weigh(batch: spaces.Batch) -> NDArray[np.float64]:
        return batch.full(first if len(batch.features.funcs) == 1 else second)

    pipeline = blur(64, 32)
    both = checked(pipeline, ""), checked(pipeline, "blur_x.compute_root()")
    (head, *_) = str(spaces.explain(*both, weigh)).splitlines()
    assert head.endswith(f", the second {second:g}.")
