"""What spaces and searches hand over is proven, and so is what verify accepts where windows move
every way. ``python -m tests.sliding_windows`` proves thousands.
"""

from __future__ import annotations

import random
from collections import Counter
from unittest import mock

import pytest

from spaces.constraints.devices.device import device
from spaces.constraints.legality.kept_values import may_keep
from spaces.constraints.legality.verdict import CheckedSchedule
from spaces.constraints.legality.verify import verify
from spaces.enumerate.space.completing.emptiness import explain_empty
from spaces.enumerate.space.options import Options
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.var import Var
from spaces.model.nest import sliding, windows
from spaces.model.writing.text import parse_schedule
from tests.draw_counts import examples, is_thorough
from tests.sliding_windows.__main__ import main, tally
from tests.sliding_windows.drawn import WAYS, drawn_schedules
from tests.sliding_windows.moving import moving_pipeline
from tests.sliding_windows.storing import storing_schedule

X, Y = Var("x"), Var("y")
QUICK = (4, 5, 8, 10, 11, 21)
"""Draws of each way, for both kinds of devices, whose proofs take little time."""


def test_no_schedule_that_is_handed_over_is_refuted() -> None:
    totals = Counter[str]()
    for number in range(4, 24) if is_thorough() else QUICK:
        for one in drawn_schedules(1, number):
            assert not one.refuted, f"draw {number}, {one.way}:\n{one.text}\n{one.refuted}"
            totals += tally(one)
    assert totals["schedules"] > 12
    assert {way.rpartition(" on ")[0] for way in totals if " on " in way} == set(WAYS)


def test_windows_and_folds_of_nests_are_shown() -> None:
    """Verify contradicts no nest, and hardly ever lacks a proof."""
    kept = Counter[str]()
    for number in range(examples(60, fewest=24)):
        rng = random.Random(number)
        algorithm = moving_pipeline(rng)
        for _ in range(4):
            text = storing_schedule(rng, algorithm)
            verdict = verify(algorithm, parse_schedule(text, algorithm), device("cpu"))
            for one in verdict.violations:
                if one.rule == "storage.kept-values":
                    assert "No proof of it is found" in one.message, f"{text}\n{one}"
                    kept["undecided"] += 1
            if isinstance(verdict, CheckedSchedule):
                for placement in verdict.bounds.placements.values():
                    kept["slides"] += len(placement.storage.slides)
                    kept["folds"] += sum(fold is not None for fold in placement.storage.folds)
    assert kept["undecided"] <= 2
    assert kept["slides"] > 8
    assert kept["folds"] > 8


def test_the_command_counts_what_is_proven(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--schedules", "1", "--first", "8"]) == 0
    assert "proven" in capsys.readouterr().out


def diagonal() -> Pipeline:
    """``f`` walks down the diagonal of ``m``."""
    s, m, f = Func("s"), Func("m"), Func("f")
    s[X, Y] = X + 10 * Y
    m[X, Y] = s[X, Y] * 2
    f[Y] = m[Y, Y] + m[Y + 1, Y]
    return pipeline(f)


def rows() -> Pipeline:
    """``f`` reads three rows of ``s``."""
    s, f = Func("s"), Func("f")
    s[X, Y] = X + 10 * Y
    f[X, Y] = s[X, Y] + s[X, Y + 2]
    return pipeline(f)


def broken(algorithm: Pipeline, text: str) -> list[str]:
    verdict = verify(algorithm, parse_schedule(text, algorithm), device("cpu"))
    return [str(one) for one in verdict.violations]


def test_a_window_that_should_not_slide_is_refused() -> None:
    """Verify has windows decided: it does not believe the nest."""
    text = "m.compute_at(f, y); s.compute_at(m, y).store_root();"
    assert broken(diagonal(), text) == []
    with mock.patch.object(windows, "_is_reshaped", return_value=False):
        (one,) = broken(diagonal(), text)
    assert one.startswith(
        "storage.kept-values: s.store_root() keeps values of s, but this is not shown: An earlier "
        "iteration of y, y required each value that s does not compute again. It may fail for s("
    )
    assert one.endswith("Store s where it is computed.")


def test_a_fold_that_keeps_too_few_values_is_refused() -> None:
    text = "s.compute_at(f, y).store_root();"
    assert broken(rows(), text) == []
    least = sliding._widest
    with mock.patch.object(sliding, "_widest", lambda *given: least(*given) - 1):
        (one,) = broken(rows(), text)
    assert "storage.kept-values: s.store_root() keeps values of s" in one
    assert "s, folded along y modulo 2, overwrites no value still to be read" in one


def test_iteration_leaves_out_what_is_not_shown() -> None:
    s, f = Func("s"), Func("f")
    s[X, Y] = X + 10 * Y
    f[X, Y] = s[X, Y] + s[X, Y + 2]
    cpu = device("cpu")
    algorithm = pipeline(f, estimates={f: [16, 16]})

    def space() -> ScheduleSpace:
        few = Options(root=("strips", "serial"), row_tiles=(8,), tiles=(4,), lanes=(1,))
        return ScheduleSpace(algorithm, cpu, few)

    every = list(space())
    assert len(every) == space().count()
    least = sliding._widest
    with mock.patch.object(sliding, "_widest", lambda *given: least(*given) - 1):
        shown = list(space())
        left_out = [one for one in every if not verify(algorithm, one, cpu)]
        assert left_out
        assert all(map(may_keep, left_out))
        assert shown == [one for one in every if one not in left_out]
        assert space()[:] == shown
        with pytest.raises(IndexError, match=r"leaves out .*\n.*storage.kept-values"):
            space()[every.index(left_out[0])]
        (reason,) = explain_empty(space().way_to(left_out[0])[-1]).rules
        assert str(reason) == "storage.kept-values of s"
