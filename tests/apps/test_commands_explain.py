"""``spaces explain``: why one schedule of an app costs more than another."""

import json
import math

import pytest

import spaces as library
from tests.apps.command_line import spaces


def test_explain_says_what_costs_more():
    out, err = spaces("explain", "blur", "default", "cpu", "--cost", "weighted")
    head, costs, columns, *_, last = out.splitlines()
    assert head == "The first schedule is default, the second cpu."
    assert costs.startswith("The first costs ")
    assert "by weighted, the second" in costs
    assert columns.split() == ["stage", "what", "first", "second", "difference", "share"]
    assert "The first takes 12 operations for one evaluation, the second 3 (4.00 times" in out
    assert last.startswith("blur_")
    assert err == ""


def test_the_differences_in_json_add_up():
    told = json.loads(spaces("explain", "harris", "cpu", "default", "--json")[0])
    assert told["schedules"] == ["cpu", "default"]
    assert (told["device"], told["cost"], told["has_parts"]) == ("cpu", "reuse", True)
    sum_of_parts = math.fsum(part["first"] - part["second"] for part in told["parts"])
    assert sum_of_parts == pytest.approx(told["first"] - told["second"], rel=1e-9)
    assert math.fsum(part["share"] for part in told["parts"]) == pytest.approx(1)
    pipeline = library.APPS["harris"].pipeline()
    text = library.APPS["harris"].schedules["cpu"].read_text()
    cpu = library.device("cpu")
    hand = library.parse_schedule(text, pipeline, cpu.vector_bits)
    batch = library.Batch.of(pipeline, hand)
    assert told["first"] == float(library.cost_model("reuse", cpu).cost(batch))
    assert told["reasons"][0].startswith(f"{told['parts'][0]['func']}: ")


def test_schedules_come_from_files_and_from_standard_input(sched):
    text = "blur_x.compute_root()"
    file = sched(text)
    out, _ = spaces("explain", "blur", file, "-", piped=text)
    assert out.splitlines()[-1] == "Nothing differs that reuse prices."
    out, _ = spaces("explain", "blur", "-", "default", "--cost", "weighted", piped=text)
    assert "The second inlines blur_x." in out
    out, err = spaces("explain", "blur", "-", "-", piped=text, status=2)
    assert (out, err) == ("", "Only one of the two schedules can come from standard input.\n")


def test_explain_compares_for_a_gpu():
    out, _ = spaces("explain", "unsharp", "gpu", "default", "--device", "sm_80")
    assert "by occupancy" in out
    assert "output: computing on the host makes 100.0% of the difference" in out


def test_an_infinite_cost_is_null_in_json(tmp_path):
    model = tmp_path / "model.py"
    model.write_text(
        "import math\n"
        "def price(batch):\n"
        "    return math.inf if len(batch.features.funcs) == 2 else 3.0\n"
    )
    call = ("explain", "blur", "cpu", "default", "--cost", f"{model}:price")
    told = json.loads(spaces(*call, "--json")[0])
    assert (told["first"], told["second"], told["ratio"]) == (None, 3.0, None)
    assert (told["has_parts"], told["parts"], told["reasons"]) == (False, [], [])
    assert "price does not say what costs how much." in spaces(*call)[0]


def test_illegal_schedules_are_refused_with_the_violations_of_both(sched):
    bad = sched("blur_x.compute_at(blur_y, w)")
    out, err = spaces("explain", "blur", bad, "gpu", status=1)
    assert out == ""
    assert f"{bad}: The schedule is illegal for cpu: 1 violation.\n  line 1, column" in err
    assert "does not enclose every use of blur_x" in err
    assert "gpu.sched: The schedule is illegal for cpu: 6 violations." in err
    _, err = spaces("explain", "blur", "cpu", bad, status=1)
    assert "illegal for cpu: 1 violation." in err
    _, err = spaces("explain", "blur", "cpu", sched("blur_x.compute_rot()"), status=2)
    assert "is compute_root meant?" in err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("blur", "cpu"), "Missing argument 'B'"),
        (("blur", "cpu", "fast"), "There is no file fast"),
        (("blurr", "cpu", "cpu"), "There is no app 'blurr'"),
        (("blur", "cpu", "cpu", "--cost", "speed"), "No cost model is called 'speed'"),
        (("blur", "cpu", "cpu", "--cost", "occupancy"), "is for GPUs, and cpu is a CPU"),
        (("blur", "cpu", "cpu", "--device", "sm_1"), "No device is called 'sm_1'"),
    ],
)
def test_wrong_usage_exits_2(arguments, sentence):
    out, err = spaces("explain", *arguments, status=2)
    assert out == ""
    assert sentence in err


def test_a_model_that_fails_is_told(tmp_path):
    model = tmp_path / "model.py"
    model.write_text("def price(batch):\n    return 'much'\n")
    call = ("explain", "blur", "cpu", "default", "--cost", f"{model}:price")
    assert "a cost model gives for it is of type str" in spaces(*call, status=1)[1]
