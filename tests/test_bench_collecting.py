"""Measured schedules: how they are drawn, and the files that they are kept in."""

import json
import math
from contextlib import nullcontext

import pytest
from attrs import evolve

from bench import cost_quality
from bench.cost_quality import collecting as measuring
from bench.cost_quality import (
    devices,
    found,
    incumbents,
    measured_sets,
    renew,
    split,
    subjects,
)
from bench.cost_quality.brief import SharedTime
from bench.cost_quality.collecting import BATCH, Collecting, collect
from bench.cost_quality.drawing import LONGEST_WALK, Drawing, Origin
from bench.cost_quality.records import append, records
from spaces.apps.gallery.catalog import GALLERY
from spaces.backend.measuring.session import MeasuringError
from spaces.constraints.devices.device import device, host_cpu
from spaces.constraints.legality.verify import verify
from spaces.enumerate.space.empty_space import EmptySpaceError
from spaces.model.schedules.schedule import Schedule
from spaces.model.writing.text import format_schedule, parse_schedule
from tests.measured_subject import (
    PROCESSOR,
    FakeMeasurer,
    Killed,
    collecting,
    random_subject,
)


@pytest.fixture(scope="module")
def subject():
    return random_subject()


def test_schedules_depend_on_their_numbers_alone_and_are_legal(subject):
    drawing = Drawing(subject.space, subject.good)
    found = {number: drawing.schedule(number) for number in range(8)}
    again = Drawing(subjects.space_of(subject.pipeline), subject.good)
    for number in reversed(range(8)):
        assert again.schedule(number) == found[number]
        assert verify(subject.pipeline, found[number], device("cpu"))
        assert found[number] in subject.space
    others = Drawing(subject.space, subject.good, seed=1)
    assert [others.schedule(number) for number in range(8)] != list(found.values())


def test_half_of_the_schedules_are_near_good_ones(subject):
    assert [Drawing.origin(n) for n in range(4)] == [Origin.DRAW, Origin.WALK] * 2
    drawing = Drawing(subject.space, subject.good[:1])
    start = {one.name: one for one in subject.good[0].funcs}
    for number in range(1, 9, 2):
        walked = drawing.schedule(number)
        changed = [one.name for one in walked.funcs if one != start[one.name]]
        assert len(changed) <= 2 * LONGEST_WALK


def test_a_run_that_was_killed_goes_on_where_it_was(subject, tmp_path):
    whole, killed = tmp_path / "whole.jsonl", tmp_path / "killed.jsonl"
    assert list(collecting(subject, whole, FakeMeasurer()).batches())[-1] == 20
    with pytest.raises(Killed):
        list(collecting(subject, killed, FakeMeasurer(batches=1)).batches())
    assert len(records(killed)) == BATCH
    with killed.open("a") as file:
        file.write('{"subject": "random_17", "num')  # the process ended within a line
    rest = FakeMeasurer()
    list(collecting(subject, killed, rest).batches())
    assert len(rest.asked) == 20 - BATCH
    assert killed.read_text() == whole.read_text()
    nothing = FakeMeasurer(batches=0)
    assert not list(collecting(subject, killed, nothing).batches())


def test_no_schedule_is_measured_twice_and_records_say_what_was_measured(subject, tmp_path):
    path = tmp_path / "all.jsonl"
    measurer = FakeMeasurer()
    list(collecting(subject, path, measurer).batches())
    assert len(set(measurer.asked)) == len(measurer.asked) == 20
    found = records(path)
    assert [one.schedule for one in found] == measurer.asked
    for one in found:
        seconds = len(one.schedule) + 1.0
        assert (one.median_seconds, one.fastest_seconds, one.runs) == (seconds, seconds, 3)
        assert one.ratio == pytest.approx(seconds / 2)
        assert verify(
            subject.pipeline, parse_schedule(one.schedule, subject.pipeline), device("cpu")
        )
    append(path, found[:1])
    assert records(path) == [*found, found[0]]


def test_no_file_mixes_the_times_of_processors(subject, tmp_path):
    path = tmp_path / "all.jsonl"
    list(collecting(subject, path, FakeMeasurer(), wanted=8).batches())
    nothing = FakeMeasurer(batches=0)
    other = evolve(collecting(subject, path, nothing), cpu="Another (alderlake)")
    with pytest.raises(devices.OtherProcessorError, match=r"on AMD EPYC .* this is Another"):
        list(other.batches())


def test_slow_schedules_get_fewer_rounds():
    rounds = SharedTime()
    assert rounds.survivors({"fast": [1.0] * 14, "slow": [25.0], "middle": [4.0] * 4}) == {
        "fast",
        "middle",
    }
    assert rounds.survivors({"middle": [4.0] * 5}) == set()


def test_good_schedules_come_first_and_are_all_measured(subject, tmp_path):
    plain = Schedule.default(subject.pipeline)
    drawing = Drawing(subject.space, subject.good, [plain])
    assert [drawing.schedule(n) for n in drawing.numbers_of_good] == [*subject.good, plain]
    path, measurer = tmp_path / "all.jsonl", FakeMeasurer()
    list(Collecting(subject, drawing, measurer, path, 8, PROCESSOR).batches())
    found = records(path)
    assert [one.origin for one in found[:3]] == [Origin.GOOD] * 3
    assert len(found) == 8
    few = tmp_path / "few.jsonl"
    list(Collecting(subject, drawing, FakeMeasurer(), few, 1, PROCESSOR).batches())
    assert len(records(few)) == 3


def test_incumbents_are_those_of_several_searches_and_legal_ones_of_halide(monkeypatch):
    pytest.importorskip("halide", reason="the extra `halide` is not installed")
    monkeypatch.setattr(incumbents, "SEARCHES", (("stagewise", "reuse"), ("stagewise", "weighted")))
    monkeypatch.setattr(incumbents, "AUTOSCHEDULERS", ("Mullapudi2016",))
    pipeline = GALLERY["frame_differences"].pipeline()
    found = incumbents.incumbents(subjects.space_of(pipeline))
    assert len(set(found)) == len(found) > incumbents.TOP
    for one in found:
        assert verify(pipeline, one, device("cpu"))


def test_committed_measurements_can_be_read():
    for app in subjects.APPS:
        found = records(cost_quality.file_of(app))
        assert {one.subject for one in found} <= {app}
        assert len({one.number for one in found}) == len(found)


def shortened(path, folder):
    """The first record of each pipeline and outcome in a file, in a file of their own."""
    lines = {}
    for line in path.read_text("utf-8").splitlines():
        one = json.loads(line)
        lines.setdefault((one["subject"], one["outcome"]), line)
    made = folder / path.name
    made.write_text("\n".join(lines.values()) + "\n", "utf-8")
    return made


def test_measured_schedules_are_in_the_set_of_their_pipeline(tmp_path):
    files = [cost_quality.file_of("blur"), cost_quality.gallery_file_of("equalize_16")]
    found = measured_sets.by_pipeline(shortened(one, tmp_path) for one in files)
    kinds = {name: kind for kind, name in found}
    assert kinds["blur"] == "apps"
    use = split.USES[GALLERY["equalize_16"].kind]
    assert kinds["equalize_16"] == use.value
    assert measured_sets.by_pipeline([shortened(cost_quality.RANDOM_FILE, tmp_path)]).keys() == {
        ("random", name) for name in subjects.RANDOM
    }


def test_a_pipeline_that_cannot_be_measured_does_not_end_a_run(subject, tmp_path, monkeypatch):
    """One without schedules, one whose reference does not run, and one that is measured."""

    class Measuring(FakeMeasurer):
        def __enter__(self):
            return self

        def __exit__(self, *_):
            return None

        def close(self):
            return None

    class Broken(Measuring):
        def measure(self, pipeline, schedules):
            raise MeasuringError("the reference hangs")

    def subject_of(name):
        if name == "empty":
            raise EmptySpaceError("nothing is legal")
        return evolve(subject, name=name)

    made = {"broken": Broken(), "good": Measuring()}
    monkeypatch.setattr("bench.cost_quality.collecting.measurer_of", lambda one: made[one.name])
    monkeypatch.setattr(devices, "FILE", tmp_path / "devices.json")
    names = ["empty", "broken", "good"]
    collect(names, subject_of, lambda name: tmp_path / name, 4, together=1)
    (ran_on,) = {one.cpu for one in records(tmp_path / "good")}
    assert devices.described(devices.FILE) == {ran_on: host_cpu()}
    assert [len(records(tmp_path / name)) >= 4 for name in names] == [False, False, True]


def test_old_times_are_replaced_and_those_of_today_stay(subject, tmp_path, monkeypatch):
    """The drawn schedules stay; so do the records of other pipelines."""
    path = tmp_path / "all.jsonl"
    list(collecting(subject, path, FakeMeasurer(), wanted=8).batches())
    of_today = records(path)
    old = [evolve(one, cpu="another", day="2020-01-01", ratio=9.0) for one in of_today]
    other = evolve(old[0], subject="random_3")
    path.write_text("")
    append(path, [*old[:4], other, *old[4:]])
    monkeypatch.setattr(renew, "file_of", lambda _: path)
    monkeypatch.setattr(renew, "processor", lambda: PROCESSOR)
    monkeypatch.setattr(renew.devices, "FILE", tmp_path / "devices.json")
    measurer = FakeMeasurer()
    monkeypatch.setattr(measuring, "measurer_of", lambda _: nullcontext(measurer))
    renew.main([subject.name])
    assert records(path) == [other, *of_today]
    assert measurer.asked == [one.schedule for one in old]
    before = path.read_bytes()
    renew.main([subject.name])
    assert path.read_bytes() == before
    assert len(measurer.asked) == len(old)


def test_what_a_search_finds_is_measured_once(subject, tmp_path, monkeypatch):
    """Beside the schedule that took as long as the reference, and under numbers of its own."""
    path = tmp_path / "all.jsonl"
    list(collecting(subject, path, FakeMeasurer(), wanted=8).batches())
    earlier = records(path)
    new = [format_schedule(one, subject.pipeline) for one in subject.space.sample(3, seed=9)]
    assert not {one.schedule for one in earlier} & set(new)
    monkeypatch.setattr(renew, "file_of", lambda _: path)
    measurer, subjects_of = FakeMeasurer(), []
    monkeypatch.setattr(
        measuring, "measurer_of", lambda one: subjects_of.append(one) or nullcontext(measurer)
    )
    added = found.measure_new(subject.name, [earlier[0].schedule, *new, new[0]], PROCESSOR)
    assert measurer.asked == [one.schedule for one in added] == new
    assert [one.number for one in added] == [-1001, -1002, -1003]
    assert {one.origin for one in added} == {Origin.FOUND}
    least = min(earlier, key=lambda one: abs(math.log(one.ratio)))
    assert [format_schedule(one.reference, one.pipeline) for one in subjects_of] == [least.schedule]
    append(path, added)
    assert found.measure_new(subject.name, new, PROCESSOR) == []
    plain = format_schedule(Schedule.default(subject.pipeline), subject.pipeline)
    (again,) = found.measure_new(subject.name, [plain], PROCESSOR)
    assert again.number == -1004
    with pytest.raises(devices.OtherProcessorError, match="renew"):
        found.measure_new(subject.name, new, "another processor")


def test_what_a_search_finds_is_appended_and_an_empty_search_is_no_error(
    subject, tmp_path, monkeypatch, capsys
):
    """The command, over real searches, with times that letters tell."""
    path = tmp_path / "all.jsonl"
    list(collecting(subject, path, FakeMeasurer(), wanted=8).batches())
    monkeypatch.setattr(renew, "file_of", lambda _: path)
    monkeypatch.setattr(found, "file_of", lambda _: path)
    monkeypatch.setattr(found, "processor", lambda: PROCESSOR)
    monkeypatch.setattr(found.devices, "FILE", tmp_path / "devices.json")
    monkeypatch.setattr(found, "STRUCTURES", 40)
    monkeypatch.setattr(found, "ProcessPoolExecutor", lambda *_, **__: InThisProcess())
    monkeypatch.setattr(measuring, "measurer_of", lambda _: nullcontext(FakeMeasurer()))
    found.main([subject.name])
    added = [one for one in records(path) if one.origin is Origin.FOUND]
    assert 1 <= len(added) <= found.TOP
    assert f"{subject.name}: {len(added)} new" in capsys.readouterr().out

    def nothing(*_, **__):
        raise EmptySpaceError("none")

    monkeypatch.setattr(found, "search", nothing)
    found.main([subject.name])
    assert f"{subject.name}: 0 new\n" in capsys.readouterr().out


class InThisProcess(nullcontext):
    """A pool of processes that is this one."""

    def __enter__(self):
        return self

    def map(self, task, *columns):
        return map(task, *columns)


def test_no_search_is_made_for_times_of_another_processor(subject, tmp_path, monkeypatch):
    path = tmp_path / "all.jsonl"
    list(collecting(subject, path, FakeMeasurer(), wanted=8).batches())
    monkeypatch.setattr(renew, "file_of", lambda _: path)
    monkeypatch.setattr(found, "processor", lambda: "another")
    monkeypatch.setattr(found.devices, "FILE", tmp_path / "devices.json")
    monkeypatch.setattr(found, "ProcessPoolExecutor", None)
    with pytest.raises(devices.OtherProcessorError, match=f"bench renew {subject.name}"):
        found.main([subject.name])


def test_judged_pipelines_are_not_searched_to_fit_to_them():
    (judged, *_) = split.pipelines_to(split.Use.JUDGE)
    with pytest.raises(split.JudgedPipelineError, match=judged):
        found.main([judged])


def test_a_pipeline_without_measured_schedules_is_named(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(renew.devices, "FILE", tmp_path / "devices.json")
    with pytest.raises(SystemExit):
        renew.main(["gram_matrix", "gram_matrices"])
    assert "No schedule of gram_matrices was measured yet" in " ".join(
        capsys.readouterr().err.split()
    )
