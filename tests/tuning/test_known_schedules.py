"""The fastest schedule that a store has, among results that compare."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from attrs import evolve

from spaces import Float32, Func, ImageParam, RDom, Var, pipeline
from spaces.backend.llvm.operators import FloatMode
from spaces.backend.measuring.conditions import RunConditions
from spaces.constraints.devices.device import device
from spaces.cost.measurer import Measurement, RunOutcome
from spaces.enumerate.space.options import Options
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.schedule import Schedule
from spaces.model.writing.text import parse_schedule
from spaces.tuning.best_known import best_known, compile_best
from spaces.tuning.identity import this_machine
from spaces.tuning.known_schedules import list_known_schedules
from spaces.tuning.store import TuningStore
from spaces.tuning.study import Study
from tests.enumerate.pipelines import blur
from tests.tuning.fakes import QUICK

CPU = device("cpu")
PIPE = blur(96, 64)
OTHER = "another machine"
FEW = Options(root=("strips",), row_tiles=(32,), tiles=(8,), lanes=(1,))
"""The space of the studies: its search is over at once, and nothing of it is measured."""


@pytest.fixture
def store() -> Iterator[TuningStore]:
    with TuningStore.open(":memory:") as opened:
        yield opened


def by_hand(lanes: int, pipe: Pipeline = PIPE) -> Schedule:
    return parse_schedule(f"blur_y.vectorize(x, {lanes})", pipe)


def told(
    store: TuningStore,
    seed: int,
    times: dict[int, float],
    *,
    reference: float = 1.0,
    pipe: Pipeline = PIPE,
    beside: int = 4,
    **code: Any,
) -> int:
    """A study with the reference of 4 lanes, or so many, and, for each number of lanes, a time in
    seconds.
    """
    start = [by_hand(lanes, pipe) for lanes in times]
    space = ScheduleSpace(pipe, CPU, FEW)
    with Study.open(
        store,
        space,
        strategy=QUICK,
        seed=seed,
        start=start,
        reference=by_hand(beside, pipe),
        **code,
    ) as study:
        known = {by_hand(lanes, pipe): seconds for lanes, seconds in times.items()}
        for trial in study.open_trials:
            seconds = known.get(trial.schedule)
            if seconds is not None:
                runs = ((seconds,) * 6, (reference,) * 6)
                study.tell(trial, Measurement(trial.schedule, RunOutcome.CORRECT, "", *runs))
        return study.id


def found(store: TuningStore, pipe: Pipeline = PIPE, **code: Any) -> Schedule:
    best = best_known(store, pipe, CPU, **code)
    assert best is not None
    return best[1].schedule


def test_the_fastest_of_all_studies_wins_and_not_the_newest(store: TuningStore) -> None:
    first = told(store, 1, {8: 0.01, 16: 0.02})
    told(store, 2, {32: 0.12})
    best = best_known(store, PIPE, CPU)
    assert best is not None
    assert (best[0], best[1].schedule) == (first, by_hand(8))
    assert compile_best(PIPE, store=store).schedule == by_hand(8)


def test_studies_with_one_reference_compare_by_ratios(store: TuningStore) -> None:
    """The machine was half as fast in the second study, whose schedule is the better one."""
    told(store, 1, {8: 0.5}, reference=1.0)
    told(store, 2, {16: 0.8}, reference=2.0)
    assert found(store) == by_hand(16)


def test_studies_with_unlike_references_compare_through_common_schedules(
    store: TuningStore,
) -> None:
    """The machine was ten times as slow in the second study, as the schedule of 8 lanes tells. So
    the reference there takes a fifth of the time of the first one.
    """
    told(store, 1, {8: 0.5}, reference=1.0)
    told(store, 2, {8: 5.0, 16: 1.9}, reference=2.0, beside=2)
    assert found(store) == by_hand(16)


def test_studies_without_a_common_schedule_compare_by_times(store: TuningStore) -> None:
    told(store, 1, {8: 0.5}, reference=1.0)
    told(store, 2, {16: 1.0}, reference=10.0, beside=2)  # ten times as fast as its slow reference
    assert found(store) == by_hand(8)


def test_threads_and_float_modes_are_apart(store: TuningStore) -> None:
    told(store, 1, {8: 0.9})
    told(store, 1, {16: 0.1}, float_mode=FloatMode.FAST)
    told(store, 1, {32: 0.2}, threads=CPU.cores + 1)
    told(store, 2, {64: 0.8}, threads=CPU.cores)  # as many as without a number
    assert len(store.studies()) == 4
    assert found(store) == by_hand(64)
    assert found(store, float_mode=FloatMode.FAST) == by_hand(16)
    assert found(store, threads=CPU.cores + 1) == by_hand(32)
    compiled = compile_best(PIPE, store=store, float_mode=FloatMode.FAST)
    assert compiled.schedule == by_hand(16)


def test_conditions_of_runs_are_apart(store: TuningStore) -> None:
    """Cold runs do not compare with warm ones."""
    cold = RunConditions(cold=True, cores=(0,))
    told(store, 1, {8: 0.9})
    told(store, 1, {16: 0.1}, conditions=cold)
    lines = store.studies()
    assert [one.conditions for one in lines] == ["", "cold caches, cores 0"]
    assert [one.threads for one in lines] == [0, 1]
    assert found(store) == by_hand(8)
    assert found(store, conditions=cold) == by_hand(16)
    assert compile_best(PIPE, store=store, conditions=cold).schedule == by_hand(16)
    assert found(store, conditions=RunConditions(input_seed=7)) == by_hand(16)  # the newest


def test_results_of_an_earlier_version_count(
    store: TuningStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    older = evolve(this_machine(CPU), library="0.0.1", llvm="1.0.0")
    with monkeypatch.context() as patch:
        patch.setattr("spaces.tuning.opened_study.this_machine", lambda target: older)
        told(store, 1, {8: 0.5})
    told(store, 1, {16: 0.9})
    assert len(store.studies()) == 2
    assert found(store) == by_hand(8)


def test_times_at_these_sizes_come_before_faster_ones_at_smaller_sizes(store: TuningStore) -> None:
    told(store, 1, {8: 2.0})
    told(store, 2, {16: 0.1}, pipe=blur(48, 32))
    assert found(store) == by_hand(8)


def test_the_nearest_of_other_sizes_comes_first(store: TuningStore) -> None:
    told(store, 1, {8: 0.3}, pipe=blur(80, 64))
    told(store, 2, {16: 0.1}, pipe=blur(48, 32))
    assert found(store) == by_hand(8)


def test_this_machine_comes_before_faster_ones(
    store: TuningStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = evolve(this_machine(CPU), processor=OTHER)
    with monkeypatch.context() as patch:
        patch.setattr("spaces.tuning.opened_study.this_machine", lambda target: other)
        told(store, 1, {8: 0.01})
    assert found(store) == by_hand(8)  # better than none
    told(store, 2, {16: 5.0}, pipe=blur(80, 64))
    assert found(store) == by_hand(16)
    told(store, 3, {32: 9.0})
    assert found(store) == by_hand(32)


def test_illegal_schedules_are_left_out(store: TuningStore) -> None:
    told(store, 1, {8: 0.5, 16: 0.1}, pipe=blur(96, 64))
    # Vectors of 16 do not fit rows of 8, so a row of 8 takes the slower schedule.
    assert found(store, blur(8, 64)) == by_hand(8)


def test_schedules_that_round_otherwise_are_left_out_unless_asked_for(store: TuningStore) -> None:
    image, total, r = ImageParam(Float32, 1, "im"), Func("total"), RDom([(0, 64)], "r")
    total[Var("x")] = 0.0
    total[Var("x")] += image[r + Var("x")]
    pipe = pipeline(total, estimates={total: [16], image: [80]})
    text = "total.update(0).split(r, ro, ri, 8); total.update(0).rfactor(ro, u).compute_root();"
    apart, plain = parse_schedule(text, pipe), parse_schedule("total.vectorize(x, 8)", pipe)
    space = ScheduleSpace(pipe, CPU, evolve(Options.small(CPU), exact=False))
    start = [apart, plain]
    with Study.open(store, space, strategy=QUICK, start=start, reference=plain) as study:
        for trial in study.open_trials:
            runs = ((0.1 if trial.schedule == apart else 0.2,) * 6, (0.2,) * 6)
            study.tell(trial, Measurement(trial.schedule, RunOutcome.CORRECT, "", *runs))
    assert found(store, pipe) == plain
    best = best_known(store, pipe, CPU, exact=False)
    assert best is not None
    assert best[1].schedule == apart
    assert compile_best(pipe, store=store).schedule == plain
    assert compile_best(pipe, store=store, exact=False).schedule == apart


def test_new_studies_begin_with_the_fastest_of_all_others(store: TuningStore) -> None:
    told(store, 1, {8: 0.01})
    told(store, 2, {16: 0.3, 32: 0.2, 64: 0.25, 2: 0.4})
    space = ScheduleSpace(PIPE, CPU, Options.small(CPU))
    with Study.open(store, space, strategy=QUICK, seed=3, reference=by_hand(4)) as study:
        kept = [t.schedule for t in study.trials if t.proposal.source == "kept"]
    assert kept == [by_hand(lanes) for lanes in (8, 32, 64, 16)]


def test_a_store_without_times_knows_nothing(store: TuningStore) -> None:
    told(store, 1, {})
    assert best_known(store, PIPE, CPU) is None
    assert list(list_known_schedules(store, PIPE, CPU)) == []
