"""``spaces complete``: schedules of the Funcs that the user leaves open."""

import json

from tests.apps.command_line import spaces


def test_complete_prints_schedules_of_open_funcs_and_says_how_it_ended(sched):
    path = sched("blur_y.gpu_tile(x, y, xi, yi, 32, 8)")
    arguments = ("complete", "blur", "--schedule", path, "--device", "sm_80", "--limit")
    out, err = spaces(*arguments, 2)
    assert out.count("blur_y.gpu_tile(x, y, xi, yi, 32, 8)") == 2
    assert "There are more; see --limit." in err
    out, err = spaces(*arguments, 0)
    assert "These are all legal completions." in err
    as_json, _ = spaces(*arguments, 0, "--json")
    report = json.loads(as_json)
    assert report["end"] == "all"
    assert len(report["schedules"]) == out.count("# ")


def test_complete_keeps_to_further_sizes(sched):
    path = sched("blur_x.compute_root()")
    arguments = ("complete", "blur", "--schedule", path, "--limit", "0", "--json")
    every = json.loads(spaces(*arguments)[0])["schedules"]
    some = json.loads(spaces(*arguments, "--size", "100x20")[0])["schedules"]
    assert 0 < len(some) < len(every)
    assert set(some) < set(every)


def test_complete_says_why_there_is_no_completion(sched):
    path = sched("blur_y.gpu_tile(x, y, xi, yi, 64, 32)")
    _, err = spaces("complete", "blur", "--schedule", path, "--device", "sm_80", status=1)
    assert "gpu.threads-per-block of blur_y" in err
