"""The comparison with Halide's autoschedulers."""

import os
import time

import numpy as np
import pytest

pytest.importorskip("halide", reason="the extra `halide` is not installed")

from bench import against_gpu_autoschedulers, gallery, gpu_found, report
from bench.against_autoschedulers import _compared, _means, best_of
from bench.processes import Contender, ContenderFailed
from spaces.backend.halide.autoschedule import autoscheduled
from spaces.backend.halide.errors import DirectiveError
from tests.enumerate.pipelines import blur


def test_halide_schedules_a_pipeline_itself() -> None:
    peer = autoscheduled(blur(96, 64), "Mullapudi2016", 2).peer
    assert "parallel" in peer.loop_nest()
    image = np.arange(98 * 66, dtype=np.uint16).reshape(66, 98)
    sizes = {"blur_y": [96, 64], "input": [(-1, 98), (-1, 66)]}
    (out,) = peer.realize({"input": image}, sizes=sizes).values()
    rows = (image[:, :-2].astype(int) + image[:, 1:-1] + image[:, 2:]) // 3
    assert (out == (rows[:-2] + rows[1:-1] + rows[2:]) // 3).all()


def test_what_halide_refuses_is_a_sentence() -> None:
    with pytest.raises(DirectiveError, match=r"^Mullapudi2017 fails to schedule"):
        autoscheduled(blur(96, 64), "Mullapudi2017", 2)


def test_a_contender_that_hangs_or_dies_is_out_alone() -> None:
    hanging, dying, wrong = map(Contender.started, ("hanging", "dying", "wrong"))
    with pytest.raises(ContenderFailed, match=r"^out of time$"):
        hanging.ask(time.sleep, 36_000, seconds=1.0)
    with pytest.raises(ContenderFailed, match=r"^its process died$"):
        dying.ask(os._exit, 3, seconds=20)
    with pytest.raises(ContenderFailed, match=r"^invalid literal"):
        wrong.ask(int, "seven", seconds=20)
    assert wrong.ask(int, "7", seconds=20) == 7
    for one in (dying, wrong):
        one.end()


def test_ratios_are_of_one_round_each() -> None:
    rounds = {"ours": [1.0, 2.0, 4.0], "hand": [2.0, 4.0, 8.0], "Li2018": [3.0, 3.0, 3.0]}
    times = {name: 2 * of for name, of in rounds.items()}
    found = _compared(times)
    assert found["over_ours"]["hand"] == [2.0, 2.0, 2.0]
    assert found["over_ours"]["Li2018"] == [1.5, 0.75, 3.0]
    assert best_of(found, ("hand", "Li2018")) == [1.5, 0.75, 3.0]
    times["ours, best of 5"] = 2 * [1.0, 1.0, 2.0]
    found = _compared(times)
    assert "ours, best of 5" not in found["over_ours"]
    assert best_of(found, ("hand",), "ours, best of 5") == [4.0, 2.0, 4.0]
    assert best_of(found, ("Adams2019",)) is None
    assert best_of(_compared({"hand": [1.0]}), ("hand",)) is None


def test_the_table_shows_what_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    times = {"ours": 6 * [1.0], "hand": 6 * [2.0], "Mullapudi2016": 6 * [3.0]}
    search = {"ours": 0.25, "Mullapudi2016": 0.5}
    one = {"search_s": search, "failed": {"Adams2019": "out of time", "Li2018": "it died"}}
    apps = {"app": one | _compared(times)}
    results = {"results": {"apps": apps, "geometric_means": _means(apps)}}
    monkeypatch.setattr(report, "_load", lambda name: results)
    row, mean = report._autoschedulers().splitlines()[-2:]
    ratios = [f"{ratio} ({ratio}–{ratio})" for ratio in ("3.00", "3.00", "2.00")]
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells == ["app", "0.25", "0.5", "failed", "failed", "1.0", *ratios]
    assert "| 3.00 |" in mean
    apps["other"] = {"search_s": {}, "failed": {}} | _compared({"ours": [2.0]})
    results["results"]["geometric_means"] = _means(apps)
    assert "| 3.00 of 1 |" in report._autoschedulers().splitlines()[-1]


def test_the_gallery_is_summed_up_by_use_and_names_what_is_slower() -> None:
    """For alpha_over the fastest of Halide's takes twice as long as ours. For median_3x3 our first
    is slower, and the fastest of five is not. For argmax_rows ours fails. blur_volume is learned
    from.
    """
    best = gallery.BEST_OF_5

    def timed(**ms: float) -> dict[str, object]:
        of = {gallery.OURS: ms.pop("ours"), best: ms.pop("five"), **ms}
        return {"failed": {}, **_compared({name: 6 * [time] for name, time in of.items()})}

    found = {
        "alpha_over": timed(ours=1.0, five=1.0, Adams2019=2.0, Li2018=3.0),
        "median_3x3": timed(ours=4.0, five=1.0, Adams2019=2.0),
        "argmax_rows": {"failed": {gallery.OURS: "it died"}, **_compared({"Li2018": 6 * [1.0]})},
        "blur_volume": timed(ours=1.0, five=1.0, Li2018=3.0),
    }
    document = {"machine": {"processor": "Fast", "llvm_cpu": "f1"}, "pipelines": found}
    judged, learned = gallery.rows(document)
    assert judged == ("kinds that only judge", "Fast (f1)", 2, "1.00", "0.50", 1, "2.00", "2.00", 0)
    assert learned == ("kinds to learn from", "Fast (f1)", 1, "3.00", "3.00", 0, "3.00", "3.00", 0)
    told = "these are slower with our first: median_3x3 (0.50). Ours fails: argmax_rows."
    assert gallery.losses(document) == f"On Fast (f1) {told}"
    document["pipelines"] = {"alpha_over": found["alpha_over"]}
    assert gallery.losses(document) == "On Fast (f1) none is slower."


def test_the_table_says_how_long_apps_were_tuned(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {"a": {"seconds": 140.2}, "b": {"seconds": 600.4}, "elsewhere": {"seconds": 1.0}}
    monkeypatch.setattr(report, "_load", lambda name: {"results": {"apps": known}})
    assert report._tuning(["a", "b", "c"]) == "140 to 600 seconds an app"
    assert report._tuning(["c"]) == "no time"


def test_gpu_schedules_are_compared_where_both_are_legal() -> None:
    apps = {
        "a": {
            "ours": {"search_s": 1.0, "cost": 2.0, "bound": 1.0, "spilled": 0},
            "Anderson2021": {"search_s": 9.0, "breaks": ["gpu.threads-per-block"]},
            "Li2018": {"search_s": 0.1, "cost": 8.0, "bound": 1.0, "spilled": 4},
        },
        "b": {
            "ours": {"search_s": 1.0, "cost": 2.0, "bound": 1.0, "spilled": 0},
            "Anderson2021": {"failed": "out of time"},
            "Li2018": {"search_s": 0.1, "cost": 4.0, "bound": 4.0, "spilled": 0},
        },
    }
    means = against_gpu_autoschedulers.means(apps)
    assert means == {
        "Li2018, cost": {"apps": 2, "over ours": 2.828},
        "Li2018, bound": {"apps": 2, "over ours": 2.0},
    }
    headers, rows = against_gpu_autoschedulers.table({"apps": apps, "geometric_means": means})
    first, second, last = (dict(zip(headers, row, strict=True)) for row in rows)
    assert first["cost: Anderson2021 / ours"] == "gpu.threads-per-block"
    assert (first["cost: Li2018 / ours"], first["bound: Li2018 / ours"]) == ("4.00", "1.00")
    assert (second["Anderson2021, s"], second["cost: Anderson2021 / ours"]) == ("failed", "")
    assert last["bound: Li2018 / ours"] == "2.00 of 2"


def test_what_is_found_for_a_gpu_is_compared_with_the_schedule_by_hand() -> None:
    by_hand = {"occupancy": 4.0, "roofline": 2.0, "registers": 40, "spilled": 0, "compile_s": 1.0}
    ours = {"occupancy": 2.0, "roofline": 3.0, "registers": 64, "spilled": 8, "compile_s": 2.5}
    apps = {
        "a": {"hand": by_hand, "occupancy": ours, "roofline": {"failed": "out of time"}},
        "b": {"hand": by_hand, "occupancy": {**ours, "occupancy": 8.0}, "roofline": ours},
    }
    means = gpu_found.means(apps)
    assert means == {
        "occupancy": {"apps": 2, "mean": 1.0, "worst": 2.0},
        "roofline": {"apps": 1, "mean": 1.5, "worst": 1.5},
    }
    headers, rows = gpu_found.table({"apps": apps, "geometric_means": means})
    first, second, last = (dict(zip(headers, row, strict=True)) for row in rows)
    assert (first["cost by occupancy"], first["cost by roofline"]) == ("0.50", "failed")
    assert (first["spills: occupancy"], first["spills: roofline"]) == (8, "failed")
    assert (second["registers: roofline"], second["registers: hand"]) == (64, 40)
    assert last["cost by roofline"] == "1.50 of 1"
