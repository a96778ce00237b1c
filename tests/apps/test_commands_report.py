"""``spaces report``: a page about a schedule of an app, or about a file of directives."""

import json
from pathlib import Path

from tests.apps.command_line import spaces
from tests.pages_html import Read


def test_report_writes_a_page_of_two_schedules_for_their_devices(tmp_path):
    path = tmp_path / "report.html"
    call = ("report", "toy_trig", "--schedule", "cpu", "--against", "gpu", "--no-run")
    call += ("--against-device", "sm_80")
    out, _ = spaces(*call, "-o", path, "--json")
    told = json.loads(out)
    assert [one["device"] for one in told["schedules"]] == ["cpu", "sm_80"]
    assert told["bytes"] == path.stat().st_size < 200_000
    assert "The first schedule is cpu, the second gpu." in Read(path.read_text("utf-8")).text


def test_report_on_an_illegal_schedule_exits_with_its_status(tmp_path, sched):
    path = tmp_path / "report.html"
    given = sched("blur_y.split(x, x, xi, 0)")
    out, _ = spaces("report", "blur", "--schedule", given, "-o", path, status=1)
    assert out.startswith(f"Wrote {path} (")
    told = Read(path.read_text("utf-8")).text
    assert "order.factor" in told
    assert Path(given).name in told
    assert str(Path(given).parent) not in told, "a colleague has other folders"


def test_report_runs_what_is_for_this_cpu(tmp_path):
    path = tmp_path / "report.html"
    spaces("report", "toy_trig", "--schedule", "cpu", "-o", path)
    assert "A run takes" in Read(path.read_text("utf-8")).text


def test_report_names_the_option_that_is_missing():
    _, err = spaces("report", "blur", "--schedule", "cpu", "--against-device", "sm_80", status=2)
    assert "give both" in err
