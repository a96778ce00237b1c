"""``spaces enumerate``, ``count`` and ``search``."""

import json
import re
import sys

import pytest

from spaces import APPS, Certificate, Done, Found, KernelResources, Schedule
from spaces.apps.command_line import count
from spaces.apps.command_line.count import any_digits
from spaces.apps.command_line.search import show_found
from spaces.tuning import compiler_ranking
from tests.apps.command_line import spaces
from tests.pages_html import Read

SMALL = ("--options", "small")


def test_enumerate_prints_schedules_that_verify_finds_legal(sched):
    out, _ = spaces("enumerate", "toy_sum", *SMALL, "--limit", "3", "--json")
    texts = json.loads(out)["schedules"]
    assert len(texts) == len(set(texts)) == 3
    for text in texts:
        spaces("verify", "toy_sum", "--schedule", sched(text))


def test_enumerate_without_a_limit_prints_as_many_as_count_counts():
    out, _ = spaces("enumerate", "toy_sum", *SMALL, "--device", "sm_80", "--limit", "0")
    shown = sum(line.startswith("# ") for line in out.splitlines())
    out, _ = spaces("count", "toy_sum", *SMALL, "--device", "sm_80")
    assert f"\n{shown} legal schedules\n" in out


def test_count_tells_numbers_as_json():
    out, _ = spaces("enumerate", "toy_sum", *SMALL, "--limit", "0", "--json")
    told = json.loads(spaces("count", "toy_sum", *SMALL, "--json")[0])
    assert (told["exact"], told["legal"]) == (True, len(json.loads(out)["schedules"]))
    told = json.loads(spaces("count", "unsharp", *SMALL, "--json")[0])
    assert not told["exact"]
    assert 0 < told["legal"] <= told["candidates"]


def test_what_is_kept_is_decided_no_more(sched):
    kept = ("toy_sum", *SMALL, "--keep", sched("f.vectorize(x, 8)"))
    for command in ("enumerate", "sample"):
        assert spaces(command, *kept)[0] == "# 1\nf.vectorize(x, 8)\n"
    assert spaces("count", *kept)[0] == "1 candidates\n1 legal schedule\n"
    assert spaces("rank", *kept, "--schedule", sched("f.vectorize(x, 8)"))[0] == "0\n"


def test_search_is_reproducible_and_sorted():
    arguments = ("search", "blur", *SMALL, "--strategy", "exhaustive", "--top", "3", "--json")
    out, _ = spaces(*arguments)
    report = json.loads(out)
    costs = [found["cost"] for found in report["schedules"]]
    assert len(costs) == 3
    assert costs == sorted(costs)
    assert report["complete"] is True
    assert report["certificate"] == {"bound": costs[0], "proven": 3}
    assert spaces(*arguments)[0] == out


def test_the_compiler_ranks_what_a_search_found(monkeypatch):
    """It counts spills for the first that it is asked about, and none for the second."""
    spills = iter([400, 0, 400, 0])

    def counted(source, *given):
        names = re.findall(r"void.* (\w+_kernel\w*)\(", source)
        spilled = next(spills)
        return {name: KernelResources(40, 0, spilled, spilled, spilled) for name in names}

    monkeypatch.setattr(compiler_ranking, "resources_within", counted)
    arguments = ("search", "blur", "--device", "sm_90", "--top", "2")
    plain = json.loads(spaces(*arguments, "--json")[0])["schedules"]
    ranked = json.loads(spaces(*arguments, "--compiler", "--json")[0])["schedules"]
    assert [one["schedule"] for one in ranked] == [one["schedule"] for one in plain[::-1]]
    (kernel,) = ranked[1]["kernels"].values()
    assert (kernel["registers"], kernel["spill_store_bytes"]) == (40, 400)
    out, _ = spaces(*arguments, "--compiler")
    assert re.search(r"rank +kernel +registers +spilled bytes\n +1 +\S+ +40 +0\n +2 .* 400\n", out)


def test_the_compiler_is_for_gpus():
    _, error = spaces("search", "blur", "--compiler", status=2)
    assert "--compiler is for GPUs, and cpu is a CPU." in error


@pytest.mark.parametrize(
    ("certificate", "sentence"),
    [
        (
            Certificate(8.0, 2),
            "no schedule with another structure costs less than these 2.",
        ),
        (
            Certificate(8.0, 1),
            "costs less than 8. Of the list, the first is certainly the cheapest.",
        ),
        (
            Certificate(6.0, 0),
            "no schedule of the space costs less than 6, 25.0% below the first",
        ),
        (None, ""),
    ],
)
def test_search_says_what_it_proves(certificate, sentence, capsys):
    pipeline = APPS["toy_sum"].pipeline()
    found = tuple(Found(cost, Schedule.default(pipeline)) for cost in (8.0, 9.0))
    show_found(Done(found, 2, 2, certificate is not None, certificate), pipeline)
    shown = " ".join(capsys.readouterr().out.split())
    assert ("Proven" in shown) == bool(sentence)
    assert sentence in shown


def test_search_writes_a_page_beside_the_schedules_of_the_app(tmp_path):
    path = tmp_path / "search.html"
    told = json.loads(spaces("search", "toy_sum", *SMALL, "--top", "2", "-o", path, "--json")[0])
    assert (told["page"], told["bytes"]) == (str(path), path.stat().st_size)
    text = Read(path.read_text("utf-8")).text
    assert "by reuse" in text
    assert "by hand: cpu" in text
    assert "gpu" not in text  # the page is about the schedules for a CPU
    _, error = spaces("search", "toy_sum", "-o", tmp_path / "no" / "page.html", status=1)
    assert "Cannot write to" in error


def test_search_takes_a_cost_model_of_the_users(tmp_path):
    model = tmp_path / "model.py"
    model.write_text("def constant(batch):\n    return 42.0\n")
    exhaustive = ("search", "toy_sum", *SMALL, "--strategy", "exhaustive")
    arguments = (*exhaustive, "--cost", f"{model}:constant")
    out, _ = spaces(*arguments, "--top", "1", "--json")
    assert [found["cost"] for found in json.loads(out)["schedules"]] == [42.0]


@pytest.mark.parametrize(
    ("option", "value", "sentence"),
    [
        ("--cost", "speed", "No cost model is called 'speed'"),
        ("--strategy", "luck", "No search strategy is called 'luck'"),
        ("--top", "0", "Invalid value for '--top'"),
        ("--seconds", "-1", "Invalid value for '--seconds'"),
        ("--cost", "occupancy", "'occupancy' is for GPUs, and cpu is a CPU"),
    ],
)
def test_search_names_what_it_does_not_know(option, value, sentence):
    _, err = spaces("search", "toy_sum", option, value, status=2)
    assert sentence in err


def test_search_costs_as_fits_the_device():
    out, _ = spaces("search", "toy_sum", *SMALL, "--device", "sm_80", "--top", "1", "--json")
    assert json.loads(out)["cost"] == "occupancy"
    out, _ = spaces("search", "toy_sum", *SMALL, "--top", "1", "--json")
    assert json.loads(out)["cost"] == "reuse"


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ("1 / 0", "own.py:cost failed: ZeroDivisionError: division by zero"),
        ("[1.0] * 3", "takes one number a choice"),
        ("'cheap'", "what a cost model gives for it is of type str"),
    ],
)
def test_a_cost_model_of_the_users_that_fails_is_said_in_a_sentence(tmp_path, body, sentence):
    own = tmp_path / "own.py"
    own.write_text(f"def cost(batch):\n    return {body}\n")
    _, err = spaces("search", "blur", *SMALL, "--cost", f"{own}:cost", status=1)
    assert sentence in err


def test_an_empty_space_is_explained(tmp_path):
    app = tmp_path / "narrow.py"
    app.write_text(
        "import spaces\n"
        "def narrow():\n"
        "    x, f = spaces.Var('x'), spaces.Func('f')\n"
        "    f[x] = x * 2\n"
        "    return spaces.pipeline(f, estimates={f: [20]})\n"
    )
    arguments = (f"{app}:narrow", *SMALL, "--where", "lanes(f) > 99")
    out, _ = spaces("count", *arguments)
    assert "0 legal schedules" in out
    assert "where lanes(f) > 99: a restriction of this space." in out
    for command in ("enumerate", "search"):
        _, err = spaces(command, *arguments, status=1)
        assert "No schedule is legal. Together, this excludes all of them:" in err
        assert "f_xv is one of 16, 32." in err


@pytest.mark.parametrize("command", ["enumerate", "count", "search", "complete"])
def test_estimates_that_no_schedule_can_meet_are_one_sentence(tmp_path, sched, command):
    app = tmp_path / "small.py"
    app.write_text(
        "import spaces\n"
        "def small():\n"
        "    x, f = spaces.Var('x'), spaces.Func('f')\n"
        "    image = spaces.ImageParam(spaces.Int32, 1, 'im')\n"
        "    f[x] = image[x + 1]\n"
        "    return spaces.pipeline(f, estimates={f: [64], image: [64]})\n"
    )
    partly = ("--schedule", sched("f.vectorize(x, 8);")) if command == "complete" else ()
    _, err = spaces(command, f"{app}:small", *partly, status=1)
    assert "image im holds 0 to 63 in dimension 0, but 1 to 64 is needed" in err


def test_count_names_no_upper_limit_where_loops_are_decided_one_by_one(clock):
    clock.step = 1e-3
    arguments = ("count", "harris", "--options", "everything", "--seconds", "2")
    told = json.loads(spaces(*arguments, "--json")[0])
    assert (told["candidates"], told["high"], told["exact"]) == (None, None, False)
    assert "legal" not in told
    out = spaces("count", "blur", "--options", "expert", "--seconds", "2")[0]
    assert re.match(
        r"legal schedules: at least [\d,]+\nlegal schedules: at least .* with 95 %", out
    )
    assert "at most" not in out


def test_count_in_no_time_knows_bounds():
    told = json.loads(
        spaces("count", "harris", "--options", "small", "--seconds", "0", "--json")[0]
    )
    assert (told["candidates"], told["low"], told["high"]) == (None, 0, None)
    assert not told["exact"]
    out = spaces("count", "harris", "--options", "small", "--seconds", "0")[0]
    assert out == "The time was too short to count the candidates.\nlegal schedules: at least 0\n"
    out = spaces("count", "harris", "--seconds", "0")[0]
    assert "The time was too short to draw a schedule" in out


def test_a_count_that_runs_out_of_time_gives_bounds_and_an_estimate(monkeypatch, clock):
    """As if iir_blur had few enough candidates for an exact count, and each look at the clock took
    a fifth of a millisecond.
    """
    monkeypatch.setattr(count, "EXACT_UP_TO", 10**12)
    monkeypatch.setattr(count, "COUNTING", 0.2)
    clock.step = 2e-4
    arguments = ("count", "iir_blur", "--options", "small", "--seconds", "3", "--json")
    told = json.loads(spaces(*arguments)[0])
    estimate = told["estimate"]
    assert not told["exact"]
    assert 0 < told["low"] < told["high"] < told["candidates"]
    assert 0 < estimate["low"] <= estimate["legal"] <= estimate["high"]


def test_a_count_without_a_draw_says_so(monkeypatch, clock):
    clock.step = 1e-3
    monkeypatch.setattr(count, "_estimates", lambda *given: [])
    out, _ = spaces("count", "unsharp", "--options", "everything", "--seconds", "4")
    assert re.search(r"legal schedules: at least [\d,]+\n", out)
    assert out.endswith("The time was too short to draw a schedule, so there is no estimate.\n")


def test_count_estimates_a_space_that_decides_loop_by_loop(clock):
    clock.step = 1e-3
    told = json.loads(spaces("count", "toy_sum", "--seconds", "4", "--json")[0])
    estimate = told["estimate"]
    assert 0 < told["low"]
    assert 0 < estimate["low"] < estimate["legal"]
    assert [told["high"], told["candidates"], estimate["high"]] == [None, None, None]


def test_a_search_says_how_it_ended():
    arguments = ("search", "toy_sum", "--top", "1")
    quick = json.loads(spaces(*arguments, "--json")[0])
    assert (quick["ending"], quick["strategy"]) == ("finished", "improving")
    improved = json.loads(spaces(*arguments, "--seconds", "60", "--json")[0])
    assert (improved["ending"], len(improved["schedules"])) == ("no tried change is cheaper", 1)
    assert quick["cut_after_seconds"] is improved["cut_after_seconds"] is None
    assert improved["schedules"][0]["cost"] <= quick["schedules"][0]["cost"]
    cut = json.loads(spaces(*arguments, "--seconds", "0", "--json")[0])
    assert cut["ending"] == "cut"
    assert 0 < cut["cut_after_seconds"] < 5
    out, _ = spaces(*arguments)
    assert re.search(r"^The search finished after \d+\.\d s\.$", out, re.MULTILINE)
    out, _ = spaces(*arguments, "--seconds", "60")
    told = r"^The search ended after \d+\.\d s: no change that it tried makes the first schedule"
    assert re.search(told, out, re.MULTILINE)


def test_restrictions_of_single_loops_are_not_for_searches_of_patterns():
    arguments = ("search", "toy_sum", "--options", "expert", "--top", "1")
    arguments += ("--where", "factor(f, xoi) >= 2", "--strategy", "stagewise")
    assert "Strategy stagewise: " in spaces(*arguments, status=2)[1]


def test_counts_of_many_digits_are_written_and_leave_the_limit_of_digits():
    most = sys.get_int_max_str_digits()
    with any_digits():
        assert len(str(10**most)) == most + 1
    assert sys.get_int_max_str_digits() == most > 0
