"""Measuring over Dask: once with processes that measure, else with machines that are made up."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Any

import pytest

from spaces import Options, RandomTrials, ScheduleSpace, Study, TuningStore, device
from spaces.backend.measuring import over_dask
from spaces.backend.measuring.local import LocalMeasurer
from spaces.backend.measuring.machine import TuningMachine, this_machine
from spaces.backend.measuring.over_dask import DaskMeasurer, DaskUnavailable
from spaces.backend.measuring.session import MeasuringError
from spaces.backend.measuring.task import MeasuringLimits
from spaces.cost.measurer import Measurement, Measurer, RunOutcome
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.deadline import Deadline, OutOfTime
from spaces.model.directives.directives import schedule
from spaces.model.schedules.schedule import Schedule
from spaces.model.writing.text import parse_schedule
from tests.backend.measuring import saboteurs
from tests.backend.measuring.cluster import (
    GATE,
    LOG,
    MadeUp,
    cluster,
    describe,
    made_up_result,
    wait_at_gate,
    worker_name,
)
from tests.cpus import FOUR_CORES
from tests.enumerate.pipelines import blur, copied

distributed = pytest.importorskip("distributed")

FEW = MeasuringLimits(rounds=3, run_seconds=2.0)
COPIED = copied(960)
ROOT = parse_schedule("blur_x.compute_root()", blur())


def split(factor: int) -> Schedule:
    return schedule(COPIED).func("f").split("x", "x", "xi", factor).schedule


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as found,
    ):
        yield found


def test_schedules_are_measured_on_the_workers(client: Any) -> None:
    """In their order, bad ones too."""
    local = LocalMeasurer(limits=FEW, make=saboteurs.saboteur, workers=1)
    measurer: Measurer = DaskMeasurer(client, local)
    assert isinstance(measurer, Measurer)
    schedules = [split(factor) for factor in (16, saboteurs.CRASHES, 32, 64, saboteurs.WRONG)]
    found = measurer.measure(COPIED, schedules)
    assert [one.schedule for one in found] == schedules
    assert [one.outcome for one in found] == [
        RunOutcome.CORRECT, RunOutcome.CRASHED, RunOutcome.CORRECT, RunOutcome.CORRECT,
        RunOutcome.WRONG,
    ]  # fmt: skip
    assert all(one.seconds for one in found if one.is_correct)


def made_up(client: Any, **how: Any) -> DaskMeasurer:
    local: Any = MadeUp(**how)
    return DaskMeasurer(client, local, describe=describe, seconds=5.0)


def splits(count: int) -> list[Schedule]:
    return [split(2 * factor) for factor in range(1, count + 1)]


def machines() -> Counter[str]:
    """How many schedules each machine measured."""
    return Counter(name[0] for name, *_ in LOG)


def test_machines_take_what_they_can_one_task_at_a_time() -> None:
    """Fast ones more, and none waits for the others; two workers of a machine take turns."""
    with cluster("a1", "a2", "b", "c") as (_, client):
        measurer = made_up(client, seconds={"a": 0.02, "b": 0.02, "c": 0.3})
        found = measurer.measure(COPIED, splits(40))
        measurer.close()
    assert [one.schedule for one in found] == splits(40)
    assert machines().keys() == {"a", "b", "c"}
    assert machines()["c"] <= 8 < min(machines()["a"], machines()["b"])
    spans = sorted((begun, ended) for name, _, begun, ended in LOG if name[0] == "a")
    assert all(ended <= begun for (_, ended), (begun, _) in pairwise(spans))


def test_workers_come_and_go() -> None:
    """A worker that is lost costs its schedules nothing, and a new one gets its share. The cluster
    may take no data for a moment.
    """
    failures = [TimeoutError("No valid workers found"), OSError("closed")]
    with cluster("a", "b") as (made, client):
        scatter = client.scatter

        def failing(*given: Any, **how: Any) -> Any:
            if failures:
                raise failures.pop()
            return scatter(*given, **how)

        client.scatter = failing
        measurer = made_up(client, seconds=dict.fromkeys("abc", 0.05))
        measurer.submit(COPIED, list(enumerate(splits(40))))
        found = dict(measurer.collect(5.0))
        made.sync(made.workers["a"].close)
        options = {"name": "c", "nthreads": 1}
        made.worker_spec["c"] = {"cls": distributed.Worker, "options": options}
        made.sync(made._correct_state)
        while len(found) < 40:
            found.update(measurer.collect(5.0))
        measurer.close()
    assert [found[number].schedule for number in range(40)] == splits(40)
    assert all(one.is_correct for one in found.values())
    assert machines()["c"] > 0
    assert not failures


def test_inputs_are_sent_once() -> None:
    """One copy goes to all workers, and later tasks and calls name it."""
    sent: list[dict[str, Any]] = []
    with cluster("a", "b") as (_, client):
        scatter = client.scatter

        def counting(*given: Any, **how: Any) -> Any:
            sent.append(how)
            return scatter(*given, **how)

        client.scatter = counting
        with made_up(client) as measurer:
            measurer.measure(COPIED, splits(12))
            measurer.measure(COPIED, splits(4))
    assert machines().keys() == {"a", "b"}
    assert [how["broadcast"] for how in sent] == [True]


def test_workers_of_another_kind_are_refused_by_name(caplog: pytest.LogCaptureFixture) -> None:
    with (
        cluster("a", "b", "z") as (_, client),
        caplog.at_level(logging.WARNING, "spaces.measuring"),
        made_up(client) as measurer,
    ):
        measurer.measure(COPIED, splits(12))
        (worker,) = measurer.refused
        assert measurer.machine == describe_here()
    assert "processor is 'Z80' and not " in measurer.refused[worker]
    assert "library is '0.0.1' and not " in measurer.refused[worker]
    assert f"worker {worker} does not measure: its processor is" in caplog.text
    assert machines().keys() == {"a", "b"}


def describe_here() -> TuningMachine:
    return this_machine(device("cpu"))  # type: ignore[arg-type]


def test_a_machine_that_fails_is_left_out() -> None:
    """Its schedules are measured elsewhere. Where all machines fail, the error says why.

    The other machine may measure all before the broken one has failed often enough, so there are
    several rounds.
    """
    error = MeasuringError("The reference schedule of f fails here.")
    with cluster("a", "b") as (_, client):
        with made_up(client, broken={"a": error}) as measurer:
            for _ in range(50):
                found = measurer.measure(COPIED, splits(20))
                assert [one.is_correct for one in found] == [True] * 20
                if measurer.refused:
                    break
            assert list(measurer.refused.values()) == [str(error)]
        with (
            made_up(client, broken={"a": error, "b": error}) as measurer,
            pytest.raises(MeasuringError, match="reference schedule of f fails here"),
        ):
            measurer.measure(COPIED, splits(4))


def test_a_schedule_whose_tasks_fail_again_and_again_is_given_up() -> None:
    with cluster("a", "b", "c", "d") as (_, client):
        broken = dict.fromkeys("abcd", OSError("no space"))
        measurer = made_up(client, broken=broken)
        measurer.submit(COPIED, [(7, split(16))])
        ((number, found),) = measurer.collect(5.0)
        measurer.close()
    assert (number, found.outcome) == (7, RunOutcome.CRASHED)
    assert found.reason == "Tasks that measured it failed: no space"


def test_time_limits_travel() -> None:
    with cluster("a") as (_, client):
        measurer = made_up(client, seconds={"a": 30.0})
        begun = time.monotonic()
        with pytest.raises(OutOfTime), Deadline.after(0.5).kept():
            measurer.measure(COPIED, splits(4))
        assert time.monotonic() - begun < 5
        end = time.monotonic() + 5
        while client.processing().popitem()[1] and time.monotonic() < end:
            time.sleep(0.05)
        assert not client.processing().popitem()[1]  # the task ended, too
        measurer.close()


def test_what_is_dropped_before_it_begins_never_runs() -> None:
    """The machine is busy with something else."""
    with cluster("a") as (made, client), made_up(client) as measurer:
        measurer.measure(COPIED, splits(1))
        GATE.clear()
        busy = client.submit(wait_at_gate)
        measurer.submit(COPIED, list(enumerate(splits(4))))
        assert _until(lambda: _tasks_of(made.workers["a"]) == 2)
        measurer.cancel()
        is_dropped = _until(lambda: _tasks_of(made.workers["a"]) == 1)
        GATE.set()
        busy.result(5)
        assert client.submit(worker_name, pure=False).result(5) == "a"
    assert is_dropped
    assert len(LOG) == 1


def _until(holds: Callable[[], bool], seconds: float = 3.0) -> bool:
    """Whether something comes to hold within some seconds."""
    end = time.monotonic() + seconds
    while not holds() and time.monotonic() < end:
        time.sleep(0.01)
    return holds()


def _tasks_of(worker: Any) -> int:
    """How many tasks a worker has to do."""
    return sum(
        one.state in ("executing", "ready", "waiting") for one in [*worker.state.tasks.values()]
    )


def _collect_again_and_again(measurer: DaskMeasurer) -> None:
    for _ in range(50):
        measurer.collect(0.2)


def test_a_scheduler_that_is_gone_gets_a_sentence() -> None:
    gone = r"scheduler at .* is gone .*before is kept; start"
    dask = pytest.importorskip("dask")
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "1s"}),
        suppress(OSError),  # the end of the cluster finds no scheduler
        cluster("a") as (made, client),
    ):
        measurer = made_up(client, seconds={"a": 0.2})
        measurer.submit(COPIED, list(enumerate(splits(20))))
        assert measurer.collect(5.0)
        made.sync(made.scheduler.close)
        with pytest.raises(DaskUnavailable, match=gone):
            _collect_again_and_again(measurer)


class MeasuresAlone:
    """The same measurements, one after the other."""

    def measure(self, pipeline: Pipeline, schedules: Sequence[Schedule]) -> list[Measurement]:
        return [made_up_result(pipeline, one) for one in schedules]


def test_a_study_on_a_cluster_keeps_each_result_and_finds_the_same() -> None:
    """Every schedule of a small space is measured once, wherever; the fastest is that of one
    machine.
    """
    few = ScheduleSpace(blur(), FOUR_CORES, Options(row_tiles=(32,), tiles=(8, 16), lanes=(1,)))
    strategy = RandomTrials(size=8)
    winners, counts = [], []
    with cluster("a", "b", "c") as (_, client):
        pool = made_up(client, seconds={"a": 0.01, "b": 0.03, "c": 0.0})
        for measurer in (pool, MeasuresAlone()):
            with (
                TuningStore.open(":memory:") as store,
                Study.open(store, few, strategy=strategy, reference=ROOT) as study,
            ):
                study.run(measurer, trials=40)
                assert study.best is not None
                winners.append(study.best.ratio)
                counts.append(sum(one.result is not None for one in store.trials(study.id)))
        pool.close()
    assert counts == [40, 40]
    assert winners[0] == winners[1]
    assert len({digest for _, digest, *_ in LOG}) == len(LOG)


def test_without_a_scheduler_there_is_a_sentence() -> None:
    with pytest.raises(DaskUnavailable, match=r"No Dask scheduler answers at tcp://127\.0\.0\.1:1"):
        DaskMeasurer("tcp://127.0.0.1:1", seconds=0.5)


def test_without_dask_there_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ImportError(f"No module named {name!r}")

    monkeypatch.setattr(over_dask.importlib, "import_module", missing)
    with pytest.raises(DaskUnavailable, match=r"pip install '\.\[dask\]'"):
        DaskMeasurer("tcp://127.0.0.1:1")
