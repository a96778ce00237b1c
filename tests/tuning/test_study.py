"""Studies: what is asked and told, kept, resumed after any end, and used by later ones."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import sqlite3
import time
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest
from attrs import evolve

from spaces.cost.batch import Batch
from spaces.cost.cpu.reuse import Reuse
from spaces.cost.measurer import Measurement, RunOutcome
from spaces.cost.registry import cost_model, register_cost_model
from spaces.enumerate.search.limits import Limits
from spaces.enumerate.search.search import best, search
from spaces.enumerate.space.options import Options
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.model.algorithm.pipeline import Estimate
from spaces.model.writing.text import parse_schedule
from spaces.tuning.evolving import Evolving
from spaces.tuning.first_trials import find_trusted_schedule
from spaces.tuning.promising_changes import CHANGE
from spaces.tuning.schema import StoreError
from spaces.tuning.sources import KEPT, REFERENCE, START
from spaces.tuning.store import TuningStore
from spaces.tuning.study import BusyStudyError, Study
from spaces.tuning.top_ranked import SEARCH
from spaces.tuning.trial import Proposal, Trial
from tests.clocks import Clock
from tests.cpus import FOUR_CORES
from tests.enumerate.pipelines import blur
from tests.tuning.fakes import QUICK, SPACE, FakeMeasurer


def opened(store: TuningStore, **more: object) -> Study:
    return Study.open(store, SPACE, **{"strategy": QUICK, **more})  # type: ignore[arg-type]


def told(study: Iterable[Trial]) -> list[object]:
    """What a study says of each trial, without the records of schedules."""
    return [
        (t.number, t.proposal.source, t.proposal.predicted, t.schedule, t.result)
        for t in study
        if t.result is not None
    ]


@cache
def at_once() -> tuple[tuple[Trial, ...], list[str]]:
    """Thirty trials one by one without a pause, and what was measured."""
    measurer = FakeMeasurer()
    with TuningStore.open(":memory:") as store, opened(store) as study:
        study.run(measurer, trials=30, batch=1)
        return study.trials[:30], measurer.measured


def test_a_study_runs_and_its_store_has_everything(tmp_path: Path) -> None:
    heard: list[Trial] = []
    with TuningStore.open(tmp_path / "one.sqlite") as store, opened(store) as study:
        best = study.run(
            FakeMeasurer(), trials=20, batch=3, callbacks=[lambda _, trial: heard.append(trial)]
        )
        assert [trial.number for trial in heard] == list(range(20))
        assert tuple(heard) == study.trials[:20]
        assert best is not None
        assert best.result is not None
        assert best.ratio == min(trial.ratio for trial in heard)
        sources = [trial.proposal.source for trial in study]
        assert sources[0] == REFERENCE
        assert set(sources) == {REFERENCE, SEARCH, CHANGE}
        assert all(SPACE.verdict(trial.schedule) for trial in study)
        assert {trial.result.outcome for trial in heard if trial.result} == {
            RunOutcome.CORRECT, RunOutcome.CRASHED,
        }  # fmt: skip
        kept = told(study)
    with TuningStore.open(tmp_path / "one.sqlite") as store:
        with opened(store) as study:
            assert told(study) == kept
        (line,) = store.studies()
        assert (line.pipeline, line.told) == (SPACE.pipeline.name, 20)
        assert line.best == best.ratio
        assert store.pipeline_of(line.id) == SPACE.pipeline


def test_no_schedule_comes_twice() -> None:
    _, measured = at_once()
    assert len(set(measured)) == len(measured) == 30


def test_batches_and_pauses_change_nothing() -> None:
    """What is proposed depends on the seed and on results alone."""
    for batch, stops in (3, (7, 11, 20)), (6, (20,)):
        with TuningStore.open(":memory:") as store:
            for stop in stops:
                with opened(store) as study:
                    study.run(FakeMeasurer(), trials=stop, batch=batch)
            assert told(study) == told(at_once()[0])[:20]


def test_seeds_differ() -> None:
    with TuningStore.open(":memory:") as store, opened(store, seed=2) as study:
        study.run(FakeMeasurer(), trials=20)
        other = study.trials[:20]
    assert [t.schedule for t in other] != [t.schedule for t in at_once()[0][:20]]


def _run_in_child(path: str, trials: int) -> None:
    with TuningStore.open(path) as store, opened(store) as study:
        study.run(FakeMeasurer(pause=0.02), trials=trials, batch=3)


def test_a_study_that_is_killed_goes_on(tmp_path: Path) -> None:
    """At twelve random moments; then it is as if nothing had happened."""
    path = str(tmp_path / "killed.sqlite")
    chosen = random.Random(5)
    fork = multiprocessing.get_context("fork")
    killed = 0
    for _ in range(12):
        child = fork.Process(target=_run_in_child, args=(path, 24))
        child.start()
        time.sleep(chosen.uniform(0.0, 0.2))
        os.kill(child.pid or 0, signal.SIGKILL)
        child.join()
        killed += child.exitcode == -signal.SIGKILL
    assert killed > 3
    with sqlite3.connect(path) as plain:
        assert plain.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    with TuningStore.open(path) as store:
        with opened(store) as study:
            study.run(FakeMeasurer(), trials=24, batch=3)
        assert len(store.studies()) == 1
        assert told(study) == told(at_once()[0])[:24]


def test_one_process_tunes_a_study(tmp_path: Path) -> None:
    path = str(tmp_path / "busy.sqlite")
    fork = multiprocessing.get_context("fork")
    child = fork.Process(target=_run_in_child, args=(path, 10_000))
    child.start()
    try:
        with TuningStore.open(path) as store:
            end = time.monotonic() + 20
            while not any(line.told for line in store.studies()) and time.monotonic() < end:
                time.sleep(0.01)
            with pytest.raises(BusyStudyError, match=f"process {child.pid} on .* tunes study 1"):
                opened(store)
            with opened(store, seed=3) as other:  # another study of the same file
                other.run(FakeMeasurer(), trials=8)
    finally:
        child.kill()
        child.join()
    with TuningStore.open(path) as store, opened(store) as study:
        assert study.id == 1
        assert study.trials[0].result is not None


def test_the_user_may_ask_and_tell() -> None:
    with TuningStore.open(":memory:") as store, opened(store) as study:
        (first,) = study.ask()
        assert study.ask() == [first]  # it is still open
        assert study.best is None
        result = Measurement(first.schedule, RunOutcome.CORRECT, "", (2.0,), (1.0,))
        assert study.tell(first, result).ratio == 2.0
        assert study.best is not None
        with pytest.raises(StoreError, match=r"trial 0 of study 1 is known: it is correct\."):
            study.tell(first, result)
        with pytest.raises(StoreError, match="has no trial 77"):
            study.tell(evolve(first, number=77), result)
        assert len(study.ask(100)) > 1


def test_a_study_begins_with_what_the_user_gives() -> None:
    legal = next(iter(SPACE))
    with TuningStore.open(":memory:") as store:
        with opened(store, start=[legal]) as study:
            assert [t.proposal.source for t in study.ask(2)] == [REFERENCE, START]
        illegal = parse_schedule("blur_y.vectorize(x, 1024)", SPACE.pipeline)
        with pytest.raises(ValueError, match="to start with is illegal"):
            opened(store, start=[illegal], seed=9)


def test_the_schedule_that_a_search_finds_runs_beside_all_others() -> None:
    """A study opened again has it from its store. One that the user gives makes another study."""
    limits = Limits(structures=QUICK.structures)
    quick = best(search(SPACE, cost_model("reuse", FOUR_CORES), limits=limits)).best[0]
    found = []
    with TuningStore.open(":memory:") as store:
        for _ in range(2):
            with opened(store) as study:
                assert study.id == 1
                found.append(study.reference)
                assert study.trusted == find_trusted_schedule(SPACE)
                assert study.space.verdict(study.reference)
                assert study.trusted != study.reference
        assert found[0] == found[1]
        batch = Batch.of(SPACE.pipeline, found[0])
        assert float(cost_model("reuse", FOUR_CORES).cost(batch)) <= quick.cost
        with opened(store, reference=study.trusted) as other:
            assert (other.id, other.reference) == (2, study.trusted)
            assert other.trials[0].schedule == study.trusted
        illegal = parse_schedule("blur_y.vectorize(x, 1024)", SPACE.pipeline)
        with pytest.raises(ValueError, match="to start with is illegal"):
            opened(store, reference=illegal)
        assert len(store.studies()) == 2


def test_studies_by_a_model_without_some_terms_are_apart() -> None:
    """A program that registers its model again, without a term, goes on with no study of before."""
    ids = []
    with TuningStore.open(":memory:") as store:
        for left_out in ((), ("spilled sums",), ("spilled sums", "stalls"), ("spilled sums",)):
            model = Reuse.of(FOUR_CORES).without(*left_out)
            register_cost_model("own", lambda _, model=model: model)
            plain = parse_schedule("blur_x.compute_root()", SPACE.pipeline)
            with opened(store, model="own", reference=plain) as study:
                ids.append(study.id)
    assert ids == [1, 2, 3, 2]


def test_results_at_another_size_warm_a_study() -> None:
    wider = evolve(
        SPACE.pipeline,
        estimates=(
            Estimate("blur_y", ((0, 768), (0, 128))),
            Estimate("input", ((-1, 770), (-1, 130))),
        ),
    )
    with TuningStore.open(":memory:") as store:
        with opened(store) as study:
            study.run(FakeMeasurer(), trials=12)
            best = study.best
        with Study.open(store, evolve(SPACE, pipeline=wider), strategy=QUICK) as other:
            first = other.ask(9)
    assert [trial.proposal.source for trial in first][:2] == [REFERENCE, KEPT]
    assert best is not None
    assert best.schedule in [trial.schedule for trial in first]


def test_a_study_stops_when_its_time_is_over(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    """Only measurements take time: twenty of 50 ms."""

    def passes(seconds: float) -> None:
        clock.now += seconds

    monkeypatch.setattr(time, "monotonic", clock)
    monkeypatch.setattr(time, "sleep", passes)
    with TuningStore.open(":memory:") as store, opened(store) as study:
        study.run(FakeMeasurer(pause=0.05), seconds=1.01)
        assert sum(trial.result is not None for trial in study) == 20
    assert clock.now == pytest.approx(1.0)


def test_spaces_with_functions_have_no_study() -> None:
    space: ScheduleSpace = evolve(SPACE, where=(lambda partial: True,))
    with (
        TuningStore.open(":memory:") as store,
        pytest.raises(ValueError, match="has no fingerprint"),
    ):
        Study.open(store, space)


def test_tuning_goes_on_when_the_favourites_of_the_model_are_measured() -> None:
    """With only the numbers that the model likes best it would end after 30 trials."""
    few = Options(row_tiles=(32,), tiles=(8, 16), lanes=(1,))
    strategy = Evolving(found=2, structures=20, parents=1, size=2, pool=2, numbers=8)
    with TuningStore.open(":memory:") as store:
        study = Study.open(store, ScheduleSpace(blur(), FOUR_CORES, few), strategy=strategy)
        study.run(FakeMeasurer(), trials=31)
        assert sum(trial.result is not None for trial in study.trials) == 31


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_changes_are_rewrites_in_their_share(share: float) -> None:
    """The only rewrite of a schedule with two nests inlines the producer, in all numbers alike."""
    text = "blur_x.compute_root().parallel(y)\nblur_y.parallel(y)"
    space = ScheduleSpace(blur(), FOUR_CORES, Options.expert(FOUR_CORES))
    two_nests = parse_schedule(text, space.pipeline)
    timed = Measurement(two_nests, RunOutcome.CORRECT, "", (1.0,), (1.0,))
    trials = [Trial(0, Proposal(two_nests, SEARCH), timed)]
    strategy = evolve(QUICK, rewrites=share)
    found = strategy.generation(space, cost_model("reuse", FOUR_CORES), trials, 1)
    assert found == strategy.generation(space, cost_model("reuse", FOUR_CORES), trials, 1)
    inlined = [one.schedule.of("blur_x").compute.is_inline for one in found]
    assert (inlined == [True]) is (share == 1.0)
    assert found


@pytest.mark.parametrize("working", [1, 2])
def test_a_study_with_few_schedules_that_work_changes_them(working: int) -> None:
    """All others crash: the changes of those that work come next, though fewer than wanted do."""
    with TuningStore.open(":memory:") as store, opened(store) as study:
        study.run(FakeMeasurer(), trials=QUICK.found)
        told = [one for one in study.trials if one.result is not None]
    works = [one for one in told if one.result.is_correct][:working]
    crash = Measurement(told[0].schedule, RunOutcome.CRASHED, "It ends with SIGSEGV.")
    few = [one if one in works else evolve(one, result=crash) for one in told]
    changed = QUICK.generation(SPACE, cost_model("reuse", FOUR_CORES), few, 1)
    assert changed
    assert {one.source for one in changed} == {CHANGE}


def test_a_card_has_the_progress_as_long_as_the_store_is_open() -> None:
    with TuningStore.open(":memory:") as store, opened(store) as study:
        assert "<svg" not in study._repr_html_()
        study.run(FakeMeasurer(), trials=4)
        card = study._repr_html_()
        assert "The fastest schedule against the number of results" in card
        assert len(card) < 10_000
        assert repr(study.plot("standing")).startswith("<Plot: The fastest schedules beside")
    assert "The fastest schedule against" not in study._repr_html_()
    assert f"Study {study.id}" in study._repr_html_()
    for shown in (study._repr_html_(), str(study)):
        assert ":memory: is closed; ask while the store is open." in shown
