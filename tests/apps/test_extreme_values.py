"""Options with the smallest and largest numbers, files that take nothing, and mistaken plug-ins."""

import os
import subprocess
import sys

import pytest
from typer.testing import CliRunner

import spaces as library
from spaces.apps.command_line.program import examples, program
from tests.apps.command_line import spaces
from tests.cpus import FOUR_CORES
from tests.enumerate.pipelines import blur

HUGE = 10**30

NUMBERS = [
    (("search", "toy_sum"), "--seed"),
    (("search", "toy_sum"), "--top"),
    (("search", "toy_sum"), "--apart"),
    (("sample", "toy_sum"), "--count"),
    (("sample", "toy_sum"), "--seed"),
    (("enumerate", "toy_sum"), "--limit"),
    (("complete", "toy_sum", "--schedule", "cpu"), "--limit"),
    (("tune", "toy_sum", "--store", ":memory:"), "--trials"),
    (("tune", "toy_sum", "--store", ":memory:"), "--seed"),
    (("calibrate", "--store", ":memory:"), "--count"),
    (("train", "gone.jsonl"), "--steps"),
    (("run", "toy_sum"), "--threads"),
]


@pytest.mark.parametrize("number", [-1, HUGE])
@pytest.mark.parametrize(("call", "option"), NUMBERS)
def test_a_number_out_of_range_is_refused_in_a_sentence(call, option, number):
    out, err = spaces(*call, option, number, status=2)
    assert out == ""
    assert option in err or "There is no file" in err


@pytest.mark.parametrize("number", [0, -1, 2**63, HUGE])
def test_a_study_has_a_number_that_a_store_can_hold(number):
    assert "STUDY" in spaces("export", "--store", ":memory:", "--", number, status=2)[1]


def test_every_whole_number_of_a_command_has_limits():
    for name in examples():
        assert "<int>" not in spaces(name, "--help")[0], name


@pytest.mark.parametrize("name", [n for n in examples() if n not in ("rules", "list")])
def test_a_time_limit_has_one_name_everywhere(name):
    shown = spaces(name, "--help")[0]
    assert ("--seconds" in shown) == ("--minutes" in shown)


def test_minutes_are_seconds():
    out, _ = spaces("enumerate", "toy_sum", "--limit", "0", "--minutes", "0.001", "--json")
    assert '"out_of_time": true' in out
    told = spaces("enumerate", "toy_sum", "--seconds", "3", "--minutes", "1", status=2)[1]
    assert "not both" in told
    told = spaces("enumerate", "toy_sum", "--seconds", "nan", status=2)[1]
    assert "greater than or equal to 0" in told or "not nan" in told


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the system has no full device")
@pytest.mark.parametrize("call", [("list",), ("show", "blur"), ("rules", "--json")])
def test_a_full_disk_is_told_in_a_sentence(call):
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "spaces", *call]
        ended = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    assert ended.returncode == 1
    assert ended.stderr == "Cannot write the output: No space left on device.\n"


def test_a_file_without_a_function_is_answered_by_its_functions(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text("def _help(): pass\ndef wide(a): pass\ndef blur(n=1): pass\ndef box(): pass\n")
    for name in (file, f"{file}:"):
        assert f"{file}:blur (it defines blur, box)" in spaces("show", name, status=2)[1]
    told = spaces("show", f"{file}:blurr", status=2)[1]
    assert "defines no function blurr (is blur meant?); it defines blur, box." in told
    assert "There is no file" in spaces("show", tmp_path / "gone.py", status=2)[1]


def test_values_without_dimensions_are_written_as_arrays(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(
        "from spaces import *\n"
        "def one():\n    f = Func('f'); f[()] = 7\n    return pipeline(f, estimates={f: []})\n"
    )
    assert "out/f.npy: f, one value" in spaces("run", "mine.py:one")[0]
    told = spaces("run", "mine.py:one", "--output", "o.png", status=1)[1]
    assert "has 0 dimensions; a picture has 2 (gray) or 3" in told
    assert (
        "f is one value and has no size" in spaces("run", "mine.py:one", "--size", 4, status=1)[1]
    )


def test_one_is_counted_in_the_singular():
    out, _ = spaces("studies", "--store", ":memory:")
    assert "0 studies" in out
    found = CliRunner().invoke(program, ["enumerate", "toy_sum", "--limit", "1"])
    assert "Printed 1 schedule;" in found.stderr


@pytest.fixture
def three(monkeypatch):
    """A cost model, a strategy and a tuning strategy that return 3."""

    class Proposer:
        def generation(self, space, model, trials, seed):
            return 3

    library.register_cost_model("three", lambda device: 3)
    library.register_strategy("three", lambda space, model, limits: 3)
    library.register_strategy("threes", lambda space, model, limits: iter([3]))
    library.register_tuning_strategy("three", Proposer())
    yield
    for registry in (
        "spaces.cost.registry._factories",
        "spaces.enumerate.search.registry._strategies",
    ):
        module, _, name = registry.rpartition(".")
        del getattr(sys.modules[module], name)["three"]
    del sys.modules["spaces.enumerate.search.registry"]._strategies["threes"]
    del sys.modules["spaces.tuning.strategies"]._strategies["three"]


@pytest.mark.usefixtures("three")
def test_a_plug_in_that_returns_a_number_is_named():
    space = library.ScheduleSpace(blur(64, 32), FOUR_CORES)
    with pytest.raises(library.PluginError, match="'three' makes an int for cpu"):
        library.search(space, "three")
    with pytest.raises(library.PluginError, match="strategy three returns an int; it must yield"):
        library.search(space, strategy="three")
    with pytest.raises(library.PluginError, match="strategy threes yields an int; it must yield"):
        next(library.search(space, strategy="threes"))
    with pytest.raises(library.PluginError, match="Tuning strategy Proposer proposes an int"):
        library.tune(blur(64, 32), store=":memory:", strategy="three", seconds=60, trials=9)
    for call in ("--cost three", "--strategy three", "--strategy threes"):
        assert "an int" in spaces("search", "toy_sum", *call.split(), status=2)[1]
    with pytest.raises(TypeError, match="not an int"):
        library.register_cost_model("x", 3)
    with pytest.raises(TypeError, match="not an int"):
        library.register_strategy("x", 3)


def _ends_with(results):
    def strategy(space, model, limits):
        yield from () if results is None else (library.Done(results, 0, 0, True),)

    return strategy


def test_a_strategy_without_legal_results_is_named():
    algorithm = blur(64, 32)
    space = library.ScheduleSpace(algorithm, FOUR_CORES)
    names = [entry.name for entry in library.Schedule.default(algorithm).funcs]
    illegal = library.parse_schedule(f"{names[0]}.compute_at({names[-1]}, gone);", algorithm)
    cases = {
        None: "strategy strategy ends without Done; Done must be its last event",
        (): "strategy strategy ends without a schedule",
        (3,): "strategy strategy ends with an int",
        (library.Found(1.0, illegal),): "strategy strategy ends with an illegal schedule of",
    }
    for results, message in cases.items():
        with pytest.raises(library.PluginError, match=message):
            library.best(library.search(space, strategy=_ends_with(results)))
    for given in (3, 0, ()):
        with pytest.raises(TypeError, match="takes a strategy or its name, not a"):
            library.search(space, strategy=given)
