"""Draws of the two kinds of case that a long run lacked. In one, windows slide along loops whose
ranges depend on each other. In the other, the host computes parts of GPU programs on arrays with
gaps.
"""

from __future__ import annotations

import random

import pytest

from spaces import CheckedSchedule, device, format_schedule, prove, verify
from tests.differential.cases import Case, draw
from tests.differential.check import Fuzzer
from tests.differential.layouts import DENSE
from tests.differential.oracle import Oracle
from tests.differential.schedule_constructs import schedule_constructs
from tests.differential.schedules import cpu_schedule
from tests.differential.subjects import subject
from tests.draw_counts import examples

SEED, GROUPS, SHARED = 3, 20, 10
NESTED = frozenset(("level: stored outside of a level",))


@pytest.mark.parametrize("kind", ["diagonal", "sheared"])
def test_windows_along_shared_vars_are_proven(kind: str) -> None:
    """`prove` refutes no obligation of schedules that slide windows."""
    slid, rng = 0, random.Random(f"{SEED} {kind}")
    groups = examples(GROUPS, fewest=6)
    for _ in range(groups):
        pipeline = subject(rng, kind).pipeline
        for _ in range(3):
            schedule = cpu_schedule(rng, pipeline, NESTED)
            verdict = verify(pipeline, schedule, device("cpu"))
            if isinstance(verdict, CheckedSchedule) and _slides(verdict):
                slid += 1
                refuted = prove(verdict, timeout_ms=50, seconds=1).refuted
                assert not refuted, f"{format_schedule(schedule, pipeline)}\n{refuted[0]}"
    assert slid > groups // 2


def _slides(verdict: CheckedSchedule) -> bool:
    return any(placement.storage.slides for placement in verdict.nest.placements.values())


def test_host_parts_beside_kernels_compute_on_arrays_of_any_layout() -> None:
    """In each case the host computes something, and an image or an output is not dense."""
    fuzzer, called, groups = Fuzzer(SEED), 0, 2 * examples(GROUPS)
    for group in range(groups):
        oracle = Oracle(subject(random.Random(f"{SEED} host {group}")))
        if set(oracle.subject.layouts.values()) == {DENSE}:
            continue
        for number in range(group * SHARED, (group + 1) * SHARED):
            case = draw(SEED, number, oracle.subject.pipeline)
            if case.target == "cpu" or not _has_host_part(case):
                continue
            outcome = fuzzer.judge(case, oracle)
            text = format_schedule(case.schedule, oracle.subject.pipeline)
            assert not outcome.mismatch, f"group {group}: {outcome.mismatch}\n{text}"
            called += outcome.runs.get("called", 0)
    assert called > groups // 10


def _has_host_part(case: Case) -> bool:
    return any(one.startswith("host: ") for one in schedule_constructs(case.schedule))
