"""Schedules that spaces hand out compute what the reference computes, on random pipelines."""

from __future__ import annotations

import itertools
from collections import Counter

import pytest

from spaces import EmptySpaceError, Options, ScheduleSpace, device, format_schedule
from tests.differential.cases import SHARED, Case
from tests.differential.check import Fuzzer
from tests.draw_counts import examples

SEED, SUBJECTS, DRAWS = 2, 10, examples(2, fewest=1)


@pytest.mark.parametrize("preset", ["expert", "everything"])
@pytest.mark.parametrize("target", ["cpu", "sm_80"])
def test_schedules_of_spaces_compute_the_reference(preset: str, target: str) -> None:
    fuzzer, on, runs = Fuzzer(SEED), device(target), Counter[str]()
    for subject in range(SUBJECTS):
        oracle = fuzzer.oracle(subject * SHARED)
        pipeline = oracle.subject.pipeline
        if any(pipeline.estimate(name) is None for name in pipeline.outputs):
            continue
        try:
            space = ScheduleSpace(pipeline, on, getattr(Options, preset)(on))
        except EmptySpaceError:
            continue
        for number, draw in enumerate(itertools.islice(space.draws(subject), DRAWS), start=1):
            if draw.schedule is not None:
                case = Case(SEED, subject * SHARED + number, preset, target, draw.schedule)
                outcome = fuzzer.judge(case, oracle)
                text = format_schedule(draw.schedule, pipeline)
                assert outcome.legal, f"subject {subject}:\n{text}"
                assert not outcome.mismatch, f"subject {subject}: {outcome.mismatch}\n{text}"
                runs.update(outcome.runs)
    assert runs["compiled" if target == "cpu" else "interpreted"] >= 2 * DRAWS
