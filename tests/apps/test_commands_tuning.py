"""``spaces tune``, ``best``, ``studies`` and ``export``."""

import io
import json
import sqlite3
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import attrs
import pytest
from rich.console import Console

from spaces import (
    Calibration,
    Measurement,
    Prices,
    RandomTrials,
    RunOutcome,
    Study,
    TuningStore,
    compile_best,
    default_store,
    device,
)
from spaces.apps.command_line import calibrate, tune, tuning_view
from spaces.apps.user_functions import load_function
from spaces.tuning.identity import this_machine
from tests.apps.command_line import files, spaces
from tests.tuning.fakes import SPACE, FakeMeasurer
from tests.tuning.test_store import ROWS

OWN = """
import spaces

def small():
    x, y = spaces.Var("x"), spaces.Var("y")
    image = spaces.ImageParam(spaces.UInt16, 2, "image")
    twice, out = spaces.Func("twice"), spaces.Func("out")
    twice[x, y] = image[x, y] * 2
    out[x, y] = twice[x, y] + twice[x + 1, y]
    return spaces.pipeline(out, estimates={out: [128, 64], image: [129, 64]})
"""


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    path = tmp_path_factory.mktemp("own") / "own.py"
    path.write_text(OWN)
    return f"{path}:small"


@pytest.fixture(scope="module")
def store(own, tmp_path_factory):
    path = tmp_path_factory.mktemp("store") / "tuning.sqlite"
    spaces("tune", own, "--trials", "6", "--options", "small", "--store", path)
    return path


class Steady:
    """Each schedule computes the right values, half as fast as the one before."""

    def __init__(self):
        self.seconds = 1.0

    def measure(self, pipeline, schedules):
        return [self._measured(one) for one in schedules]

    def _measured(self, schedule):
        self.seconds *= 2
        return Measurement(schedule, RunOutcome.CORRECT, "", (self.seconds,) * 6, (2.0,) * 6)


@pytest.fixture
def _without_a_clock(monkeypatch):
    monkeypatch.setattr(tune, "tune_pipeline", partial(tune.tune_pipeline, measurer=Steady()))


@pytest.mark.usefixtures("_without_a_clock")
def test_a_study_is_summed_up_and_goes_on(own, tmp_path):
    path = tmp_path / "new.sqlite"
    arguments = ("tune", own, "--options", "small", "--store", path)
    out, _ = spaces(*arguments, "--trials", "3")
    assert out.splitlines()[-3:] == [
        "3 trials: 3 correct.",
        f"Everything is in {path}, study 1.",
        f"The same command goes on; spaces best {own} --store {path} shows the fastest schedule.",
    ]
    assert "Trial 0, the fastest one:" in out
    assert "Disturbed" not in out
    again = json.loads(spaces(*arguments, "--trials", "5", "--json")[0])
    assert (again["study"], again["trials"], again["correct"]) == (1, 5, 5)
    assert again["best"]["ratio"] > 0
    same = json.loads(spaces(*arguments, "--trials", "5", "--json")[0])
    assert same == again


class Broken:
    """No schedule works."""

    def measure(self, pipeline, schedules):
        return [Measurement(one, RunOutcome.CRASHED, "It ended.") for one in schedules]


def test_a_study_without_times_says_so(own, tmp_path, monkeypatch):
    monkeypatch.setattr(tune, "tune_pipeline", partial(tune.tune_pipeline, measurer=Broken()))
    arguments = ("tune", own, "--options", "small", "--store", tmp_path / "b.sqlite")
    out, _ = spaces(*arguments, "--trials", "2")
    lines = out.splitlines()
    assert lines[0] == "2 trials: 2 crashed."
    assert lines[-1] == "No schedule has a time yet. The same command goes on; give it more time."


@pytest.mark.usefixtures("_without_a_clock")
def test_a_summary_names_the_options_that_find_the_best(own, tmp_path):
    path = tmp_path / "inexact.sqlite"
    arguments = ("tune", own, "--options", "small", "--store", path, "--inexact")
    out, _ = spaces(*arguments, "--trials", "2")
    assert f"spaces best {own} --inexact --store {path} shows" in out.splitlines()[-1]


@pytest.mark.usefixtures("_without_a_clock")
def test_a_study_keeps_what_is_scheduled(own, tmp_path):
    (tmp_path / "kept.sched").write_text("twice.compute_root().vectorize(x, 8)\n")
    path = tmp_path / "kept.sqlite"
    kept = ("--keep", tmp_path / "kept.sched", "--options", "small", "--strategy", "random")
    spaces("tune", own, "--store", path, *kept, "--trials", "3", "--seconds", "5")
    with TuningStore.open(path) as opened:
        trials = opened.trials(1)
        (entry,) = {one.schedule.of("twice") for one in trials}
        assert entry.compute.is_root
        assert len(trials) > 1


@pytest.mark.usefixtures("_without_a_clock")
def test_a_strategy_has_a_name(own, tmp_path):
    chosen = ("--strategy", "random", "--options", "small", "--trials", "3")
    path = tmp_path / "drawn.sqlite"
    spaces("tune", own, "--store", path, *chosen)
    with TuningStore.open(path) as opened:
        assert [one.proposal.source for one in opened.trials(1)][1:3] == ["draw"] * 2


def test_a_search_uses_the_prices_of_this_machine(own, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    searched = ("search", own, "--options", "small", "--top", "1", "--json")
    before = json.loads(spaces(*searched)[0])
    assert not default_store().exists()
    with TuningStore.open(default_store()) as opened:
        twice = {one.name: 2 * getattr(Prices(), one.name) for one in attrs.fields(Prices)}
        opened.keep_prices(this_machine(device("cpu")), Prices(**twice))
    after = json.loads(spaces(*searched)[0])
    assert after["schedules"][0]["cost"] > 1.2 * before["schedules"][0]["cost"]


def test_what_is_kept_is_listed_and_the_best_shown(own, store, sched):
    (listed,) = json.loads(spaces("studies", "--store", store, "--json")[0])
    assert (listed["pipeline"], listed["told"], listed["device"]) == ("out", 6, "cpu")
    shown, _ = spaces("studies", "--store", store)
    assert shown.splitlines()[-1] == f"1 study in {store}."
    best = json.loads(spaces("best", own, "--store", store, "--json")[0])
    assert best["ratio"] == listed["best"]
    spaces("verify", own, "--schedule", sched(best["schedule"]))
    text, _ = spaces("best", own, "--store", store)
    assert text.startswith(best["schedule"])
    assert f"Trial {best['trial']} of study 1:" in text


def test_trials_are_listed_in_an_order_that_is_explained(own, store):
    out, _ = spaces("studies", "1", "--store", store)
    head, *rows, last = out.splitlines()
    columns = ["trial", "source", "ms", "time / reference", "95 % interval"]
    assert head.split("  ")[0] == "trial"
    assert all(one in head for one in [*columns, "memory_bytes", "code_bytes"])
    assert len(rows) == 6
    assert last.startswith("6 of 6 trials with times, the fastest first: by the upper end")
    listed = json.loads(spaces("studies", "1", "--store", store, "--json")[0])
    uppers = [one["interval"][1] for one in listed]
    assert uppers == sorted(uppers)
    assert all(one["metrics"].keys() == {"memory_bytes", "code_bytes"} for one in listed)
    assert "no study 7" in spaces("studies", "7", "--store", store, status=1)[1]


def test_trials_that_no_other_one_beats_are_listed(own, store):
    objectives = ("--store", store, "--pareto", "code_bytes, time")
    listed = json.loads(spaces("studies", "1", *objectives, "--json")[0])
    sizes = [one["metrics"]["code_bytes"] for one in listed]
    ratios = [one["ratio"] for one in listed]
    assert sizes == sorted(sizes)
    assert ratios == sorted(ratios, reverse=True)
    out = spaces("studies", "1", *objectives)[0]
    assert out == spaces("best", own, *objectives)[0]
    assert "of study 1, sorted by code_bytes: no other one is better in one of code_b" in out
    report = json.loads(spaces("best", own, *objectives, "--json")[0])
    assert (report["study"], report["trials"]) == (1, listed)
    assert "sorted by time" in spaces("best", own, "--store", store, "--pareto", "all")[0]
    wrong = ("--store", store, "--pareto", "joules")
    assert "No trial has a value for 'joules'" in spaces("studies", "1", *wrong, status=2)[1]
    assert "give its number" in spaces("studies", *objectives, status=2)[1]


def test_the_best_is_written_to_a_file(own, store, tmp_path):
    path = tmp_path / "best.sched"
    out, _ = spaces("best", own, "--store", store, "-o", path)
    assert out.startswith(f"Wrote {path}.\nTrial ")
    report = json.loads(spaces("best", own, "--store", store, "--json")[0])
    assert path.read_text() == f"{report['schedule']}\n"
    spaces("verify", own, "--schedule", path)


def test_what_only_reads_makes_no_store(own, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert "0 studies in" in spaces("studies")[0]
    assert "has no study 1" in spaces("export", "1", status=1)[1]
    assert "has no schedule of out" in spaces("best", own, status=1)[1]
    compile_best(load_function(own)())
    for call in (("studies",), ("export", "1"), ("best", own)):
        told = spaces(*call, "--store", tmp_path / "gone.sqlite", status=2)[1]
        assert "There is no store" in told
        assert "makes one" in told
    assert files(tmp_path) == []


@pytest.mark.parametrize(
    ("kind", "has"),
    [
        ("sched", "out."),
        ("json", '"is": "Schedule"'),
        ("halide", '#include "Halide.h"'),
        ("t4", '"invalidity": "correct"'),
        ("csv", "number,source,predicted,outcome"),
    ],
)
def test_exports(store, tmp_path, kind, has):
    printed, _ = spaces("export", "1", "--store", store, "--format", kind)
    assert has in printed
    path = tmp_path / "written"
    spaces("export", "1", "--store", store, "--format", kind, "-o", path)
    assert path.read_text().strip() == printed.strip()
    report = json.loads(spaces("export", "1", "--store", store, "--format", kind, "--json")[0])
    assert (report["format"], report["text"].strip()) == (kind, printed.strip())
    assert files(tmp_path) == ["written"]


def test_an_exported_schedule_is_read_again(own, store, tmp_path):
    path = tmp_path / "best.sched"
    spaces("export", "1", "--store", store, "-o", path)
    spaces("verify", own, "--schedule", path)


def test_damage_is_listed(own, store, tmp_path):
    assert spaces("studies", "--store", store, "--check")[0] == f"{store} is whole.\n"
    path = tmp_path / "damaged.sqlite"
    path.write_bytes(store.read_bytes())
    with sqlite3.connect(path) as plain:
        plain.execute("UPDATE trials SET outcome = 'fine' WHERE number = 3")
    out, err = spaces("studies", "--store", path, "--check", status=1)
    assert out.splitlines()[1].split() == ["trials", "1.3", "its", "outcome", "is", "'fine'"]
    assert f"{path} has 1 damaged row;" in err
    (damage,) = json.loads(spaces("studies", "--store", path, "--check", "--json", status=1)[0])
    assert damage == {"table": "trials", "row": "1.3", "why": "its outcome is 'fine'"}
    spaces("best", own, "--store", path)


def test_texts_of_others_do_nothing_to_a_terminal(store, tmp_path):
    path = tmp_path / "foreign.sqlite"
    path.write_bytes(store.read_bytes())
    with sqlite3.connect(path) as plain:
        plain.execute("UPDATE pipelines SET name = 'out' || char(27) || '[2J' || char(155) || 'x'")
    out, _ = spaces("studies", "--store", path)
    assert "\x1b" not in out
    assert "\x9b" not in out
    assert "out\\x1b[2J\\x9bx" in out


def test_parquet_needs_a_file_and_a_package(store, tmp_path, monkeypatch):
    arguments = ("export", "1", "--store", store, "--format", "parquet")
    assert "give the file to write" in spaces(*arguments, status=2)[1]
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    path = tmp_path / "t.parquet"
    assert "need pyarrow" in spaces(*arguments, "-o", path, status=1)[1]
    assert not path.exists()


def test_mistakes_get_sentences(own, store, tmp_path):
    text = tmp_path / "text"
    text.write_text("this is no database\n" * 50)
    _, err = spaces("studies", "--store", text, status=2)
    assert "cannot be opened as a store" in err
    _, err = spaces("export", "9", "--store", store, status=1)
    assert "has no study 9. spaces studies lists what there is." in err
    _, err = spaces("best", "blur", "--store", store, status=1)
    assert "has no schedule of blur that is legal on cpu; spaces tune blur measures some." in err
    _, err = spaces("tune", own, "--store", store, "--cost", "reuze", status=2)
    assert "No cost model is called 'reuze'" in err
    _, err = spaces("tune", own, "--store", store, "--strategy", "tops", status=2)
    assert "No tuning strategy is called 'tops' (is top meant?)" in err
    new = ("--store", tmp_path / "new.sqlite")
    out, _ = spaces("tune", own, *new, "--options", "small", "--minutes", "0")
    assert "0 trials: none." in out
    _, err = spaces("export", "1", *new, status=1)
    assert "Study 1 has no schedule with times yet." in err


@pytest.mark.parametrize("after", [0.95, 0.81])
def test_a_calibration_is_kept_if_it_helps(tmp_path, monkeypatch, after):
    prices = Prices(load=3.0)
    found = Calibration(prices if after > 0.9 else Prices(), prices, 0.8, after, 40)
    monkeypatch.setattr(calibrate, "fit", lambda *_, **__: found)
    path = tmp_path / "s.sqlite"
    out, _ = spaces("calibrate", "--store", path)
    assert f"0.80 before, {after:.2f} after" in out
    report = json.loads(spaces("calibrate", "--store", path, "--json")[0])
    with TuningStore.open(path) as opened:
        kept = opened.prices(this_machine(device("cpu")))
    if after > 0.9:
        assert f"{path} keeps the fitted prices" in out
        assert (kept, report["kept"], report["prices"]["load"]) == (prices, True, 3.0)
    else:
        assert "The prices stay as they are" in out
        assert (kept, report["kept"]) == (None, False)


def test_in_a_pipe_a_line_every_few_seconds(own, tmp_path, monkeypatch):
    monkeypatch.setattr(tuning_view, "EVERY", 0.0)
    arguments = ("tune", own, "--options", "small", "--store", tmp_path / "s.sqlite")
    _, err = spaces(*arguments, "--trials", "2")
    lines = err.splitlines()
    assert any("now: searching; time left: " in one for one in lines)
    assert any("now: measuring trials 0, 1; time left: " in one for one in lines)
    assert "trials: 2 (2 correct); fastest: trial " in lines[-1]
    assert "reference: " in lines[-1]
    _, err = spaces(*arguments, "--trials", "3")
    first = next(one for one in err.splitlines() if "measuring" in one)
    assert "trials: 2 (2 correct); fastest: trial " in first  # those of the run before


def test_a_table_on_a_terminal_counts_down_without_asking_the_study():
    """Rich draws it in a thread of its own, and a store belongs to the thread that opened it."""
    written = io.StringIO()
    console = Console(file=written, force_terminal=True, width=100)
    with (
        TuningStore.open(":memory:") as opened,
        Study.open(opened, SPACE, strategy=RandomTrials(), reference=ROWS) as study,
        tuning_view.TuningView(60.0, console) as view,
    ):
        study.run(FakeMeasurer(), trials=2, callbacks=[view.show], phase=view.tell_phase)
        with ThreadPoolExecutor(1) as elsewhere:
            drawn = elsewhere.submit(view._table).result()
        assert drawn.row_count == 5  # now, trials, fastest, reference, time left
        view._began -= 50.0
        console.print(view._table())
    assert "2 (2 correct)" in written.getvalue()
    assert any(f"{left} s" in written.getvalue() for left in (10, 9, 8, 7))


def test_what_is_interrupted_is_kept(own, tmp_path, monkeypatch):
    def interrupt(view, study, trial):
        raise KeyboardInterrupt

    monkeypatch.setattr(tuning_view.TuningView, "show", interrupt)
    arguments = ("tune", own, "--options", "small", "--store", tmp_path / "s.sqlite")
    out, _ = spaces(*arguments, "--trials", "3", "--json", status=130)
    report = json.loads(out)
    assert report["interrupted"] is True
    assert report["trials"] == 1
