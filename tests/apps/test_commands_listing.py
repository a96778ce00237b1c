"""``spaces enumerate``, ``sample`` and ``rank``."""

import json

from spaces.apps.command_line import count, progress
from tests.apps.command_line import spaces


def texts(*arguments):
    return json.loads(spaces(*arguments, "--json")[0])["schedules"]


def test_samples_are_legal_and_follow_the_seed(sched):
    drawn = texts("sample", "toy_sum", "--options", "small", "--count", "4", "--seed", "3")
    assert len(drawn) == 4
    assert drawn == texts("sample", "toy_sum", "--options", "small", "--count", "4", "--seed", "3")
    assert drawn != texts("sample", "toy_sum", "--options", "small", "--count", "4", "--seed", "4")
    for text in drawn:
        spaces("verify", "toy_sum", "--schedule", sched(text))
    shown, _ = spaces("sample", "toy_sum", "--options", "small", "--count", "4", "--seed", "3")
    assert shown.split("# 2\n")[0] == f"# 1\n{drawn[0]}\n"


def test_a_sample_in_no_time_says_so():
    _, err = spaces("sample", "harris", "--options", "small", "--seconds", "0", status=1)
    assert "give it more seconds" in err


def test_rank_is_the_place_in_the_enumeration(sched):
    listed = texts("enumerate", "toy_sum", "--options", "small", "--limit", "40")
    for place in (0, 17, 39):
        path = sched(listed[place])
        assert (
            spaces("rank", "toy_sum", "--options", "small", "--schedule", path)[0] == f"{place}\n"
        )
    told = json.loads(
        spaces("rank", "toy_sum", "--options", "small", "--schedule", path, "--json")[0]
    )
    assert told == {"app": "toy_sum", "device": "cpu", "rank": 39}


def test_a_schedule_without_a_rank_gets_a_sentence():
    _, err = spaces("rank", "harris", "--options", "small", "--schedule", "cpu", status=1)
    assert "has no such schedule" in err
    arguments = ("rank", "unsharp", "--schedule", "cpu", "--options", "expert")
    _, err = spaces(*arguments, "--seconds", "0", status=1)
    assert "takes longer than 0 s" in err


def test_conditions_and_left_funcs_restrict_every_listing():
    condition = ("--where", "tasks(blur_y) >= 400", "--where", "lanes(blur_y) == 32")
    some = texts("enumerate", "blur", "--options", "small", "--limit", "0", *condition)
    legal = [
        json.loads(spaces("count", "blur", "--options", "small", *one, "--json")[0])["legal"]
        for one in ((), condition)
    ]
    assert 0 < len(some) == legal[1] < legal[0]
    assert set(texts("sample", "blur", "--options", "small", "--count", "3", *condition)) <= set(
        some
    )
    left = texts("enumerate", "blur", "--options", "small", "--limit", "20", "--leave", "blur_x")
    assert len(left) == 20
    assert not any("blur_x." in text for text in left)


def test_a_condition_without_sense_gets_a_sentence():
    _, err = spaces("count", "blur", "--where", "tasks(blr_y) >= 2", status=2)
    assert "has no Func 'blr_y' (is blur_y meant?)" in err
    _, err = spaces("search", "blur", "--where", "2 +", status=2)
    assert "is no expression" in err
    _, err = spaces("enumerate", "blur", "--leave", "blr_x", status=2)
    assert "pipeline blur has no such Func" in err


def test_a_further_size_leaves_out_what_is_illegal_there():
    count = ("count", "blur", "--options", "small", "--json")
    legal = [json.loads(spaces(*count, *size)[0])["legal"] for size in ((), ("--size", "100x20"))]
    assert 0 < legal[1] < legal[0]
    _, err = spaces("count", "blur", "--size", "100by20", status=2)
    assert "--size takes extents, innermost first, as blur_y=640x480, not '100by20'." in err
    _, err = spaces("sample", "blur", "--size", "100", status=2)
    assert "sizes[0] gives 1 extent of blur_y, which has 2 dimensions." in err


def test_enumerate_ends_with_its_time(clock):
    clock.step = 2e-3
    out, err = spaces("enumerate", "blur", "--options", "small", "--limit", "0", "--seconds", "1")
    number = int(err.split()[1])
    assert err.endswith("in 1 s; there may be more: see --seconds.\n")
    assert out.count("# ") == number > 10
    told = json.loads(
        spaces("enumerate", "harris", "--options", "small", "--seconds", "0", "--json")[0]
    )
    assert (told["out_of_time"], told["schedules"]) == (True, [])
    told = json.loads(
        spaces("enumerate", "blur", "--options", "small", "--limit", "2", "--json")[0]
    )
    assert (told["out_of_time"], len(told["schedules"])) == (False, 2)


def test_estimates_follow_the_seed(monkeypatch):
    monkeypatch.setattr(count, "SAMPLES", 16)

    def told(seed):
        return json.loads(
            spaces("count", "unsharp", "--options", "small", "--seed", seed, "--json")[0]
        )["legal"]

    first = told(1)
    assert told(1) == first
    assert {told(2), told(3)} != {first}


def test_enumerate_shows_progress_while_it_collects(monkeypatch):
    monkeypatch.setattr(progress, "EVERY", 0.0)
    _, err = spaces("enumerate", "toy_sum", "--options", "small", "--limit", "2", "--json")
    assert err.splitlines()[0].startswith("0 s: enumerating, 1 legal schedules, ")
