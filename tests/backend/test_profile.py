"""Profiled runs: the same values as plain ones, and counts that follow from the schedule."""

import numpy as np
import pytest

import spaces
from spaces import Float32, Func, ImageParam, Var
from spaces.backend.llvm.counters import CounterKind, Region
from spaces.backend.measuring.inputs import random_inputs
from spaces.backend.profiling.compile import compile_profiled
from spaces.backend.profiling.periods import LONG, SHORT, periods
from spaces.backend.profiling.profile import FuncTime, Profile
from spaces.backend.profiling.run import func_times

WIDTH, HEIGHT, ROWS = 256, 64, 8

CPU = spaces.device("cpu")


def pipeline():
    """A Func at root, one in each row of another, and one that is short."""
    x, y = Var("x"), Var("y")
    image = ImageParam(Float32, 2, "image")
    whole, row, point, out = Func("whole"), Func("row"), Func("point"), Func("out")
    whole[x, y] = spaces.sqrt(image[x, y]) + spaces.exp(image[x, y])
    row[x, y] = spaces.sin(whole[x, y]) + spaces.cos(whole[x, y])
    point[x, y] = row[x, y] * 2
    out[x, y] = point[x, y] + 1
    sizes = [WIDTH, HEIGHT]
    return spaces.pipeline(out, estimates={image: sizes, out: sizes})


TEXT = (
    f"out.split(y, y, yi, {ROWS}).parallel(y); whole.compute_root(); "
    "row.compute_at(out, yi); point.compute_at(out, x);"
)


@pytest.mark.parametrize(("loops", "is_timed"), [("unroll(y)", False), ("reorder(y, x)", True)])
def test_values_that_go_to_their_reader_in_registers_are_not_timed(loops, is_timed):
    """A clock between them would make them go through memory."""
    x, y = Var("x"), Var("y")
    image, sums, out = ImageParam(Float32, 2, "image"), Func("sums"), Func("out")
    sums[x, y] = sum((image[x + n, y] for n in range(1, 120)), image[x, y])
    out[x, y] = sums[x, y] * 2
    made = spaces.pipeline(out, estimates={image: [WIDTH + 120, HEIGHT], out: [WIDTH, HEIGHT]})
    rows = 2 if not is_timed else 16
    text = (
        f"out.tile(x, y, xi, yi, 8, {rows}).vectorize(xi).parallel(y);"
        f"sums.compute_at(out, x).vectorize(x, 8).{loops}"
    )
    chosen = periods(spaces.verify(made, spaces.parse_schedule(text, made), CPU))
    assert ("sums" in chosen.timed) is is_timed
    assert chosen.within == ({} if is_timed else {"sums": "out"})


@pytest.fixture(scope="module")
def checked():
    made = pipeline()
    return spaces.verify(made, spaces.parse_schedule(TEXT, made), CPU)


@pytest.fixture(scope="module")
def counting(checked):
    return compile_profiled(checked, threads=2)


def test_short_visits_belong_to_the_func_around(checked):
    """A visit of ``point`` is one value, a visit of ``row`` a row of some thousand operations."""
    chosen = periods(checked)
    assert set(chosen.timed) == {"out", "whole", "row"}
    assert chosen.within == {"point": "out"}
    assert chosen.timed["out"] == chosen.timed["whole"] == 1
    assert SHORT < LONG / chosen.timed["row"] * 2


def test_counts_follow_from_the_schedule(checked, counting):
    inputs = random_inputs(checked.pipeline)
    counting.clear()
    before = counting.now()
    found = counting.compiled.run(inputs)
    counts = counting.counts()
    lasted = counting.now() - before
    np.testing.assert_array_equal(found["out"], spaces.compile_cpu(checked).run(inputs)["out"])

    out, whole, row = Region("out", ""), Region("whole", ""), Region("row", "out")
    assert set(counting.table.regions) == {out, whole, row}
    assert [counts[one, CounterKind.VISITS] for one in (out, whole, row)] == [1, 1, HEIGHT]
    every = counting.periods.timed["row"]
    assert 1 <= counts[row, CounterKind.TIMED] <= -(-HEIGHT // every) * 2
    assert counts["whole", CounterKind.BYTES] == WIDTH * HEIGHT * 4
    # Once for all rows of a task.
    assert counts["row", CounterKind.ALLOCATIONS] == HEIGHT // ROWS
    assert counts["row", CounterKind.BYTES] == HEIGHT // ROWS * WIDTH * 4

    for one in (out, whole):
        assert 0 < counts[one, CounterKind.TICKS] <= lasted
    assert counts[out, CounterKind.TICKS] + counts[whole, CounterKind.TICKS] <= lasted
    assert 0 < counts[out, CounterKind.WAITED] <= counts[out, CounterKind.TICKS]
    assert counts[out, CounterKind.TASKS] <= 2 * counts[out, CounterKind.WAITED]
    assert counts[whole, CounterKind.TASKS] == 0
    assert counts[row, CounterKind.TICKS] < counts[out, CounterKind.TASKS]


def test_counters_start_again(checked, counting):
    counting.compiled.run(random_inputs(checked.pipeline))
    counting.clear()
    assert set(counting.counts().values()) == {0}


def test_a_profile_accounts_for_the_time(checked):
    found = spaces.profile(checked, threads=1, seconds=0.02)
    assert found.by_func.keys() == {"out", "whole", "row"}
    assert found.by_func["out"].within == ("point",)
    assert found.by_func["row"].visits == HEIGHT
    assert sum(found.share(func) for func in found.by_func) == pytest.approx(1)
    assert found.busy_seconds > 0.3 * found.seconds
    assert "out" in str(found)
    assert "time of all threads" in found._repr_html_()


def test_a_time_is_the_median_of_the_runs(counting):
    """A run in which a thread waited for its processor counts no more than the others."""
    (whole,) = (one for one in counting.table.regions if one.func == "whole")
    counts = dict.fromkeys(counting.counts(), 0)
    counted = [counts]
    for ticks in (30, 5000, 40):
        counts = {**counts, (whole, CounterKind.TICKS): counts[whole, CounterKind.TICKS] + ticks}
        counts[whole, CounterKind.TIMED] += 1
        counts[whole, CounterKind.VISITS] += 1
        counted.append(counts)
    times = {one.func: one for one in func_times(counting, counted, rate=10.0)}
    assert times["whole"].seconds == 4
    assert times["whole"].visits == 1


@pytest.mark.parametrize(("others", "is_told"), [(0.05, False), (0.4, True)])
def test_a_profile_tells_of_other_programs(others, is_told):
    found = Profile("blur", 2, 3, 1.0, 1.0, (FuncTime("a", 1.0, 1),), others)
    assert found.is_disturbed is is_told
    assert ("took 40% of the processors" in str(found)) is is_told
    assert ("took 40% of the processors" in found._repr_html_()) is is_told


def test_plain_code_counts_nothing(checked):
    text = spaces.compile_cpu(checked).llvm_ir()
    assert "readcyclecounter" not in text
    assert "counters" not in text


def test_an_illegal_schedule_is_refused(checked):
    wrong = spaces.parse_schedule("out.split(x, x, xi, 0)", checked.pipeline)
    with pytest.raises(ValueError, match="not legal"):
        spaces.profile(spaces.verify(checked.pipeline, wrong, CPU))
