"""Things by name, of the library, registered, and of packages made for the test."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import spaces
from spaces.apps.catalog import APPS, find
from spaces.apps.errors import WrongUsage
from spaces.model.registry import PluginError, Registry
from tests.apps.command_line import spaces as command
from tests.cpus import FOUR_CORES
from tests.enumerate.pipelines import blur

MODULE = """
import spaces
from spaces.apps.app import App

imported = True

def halved(device):
    return lambda: None

class Flat:
    def cost(self, batch):
        return batch.full(7.0)

def flat(device):
    return Flat()

def first_rung(space, model, limits):
    yield from spaces.Stagewise(width=1)(space, model, limits)

def rows(shape):
    loops = tuple(spaces.OrderedLoop(name) for name in (*shape.bound[::-1], *shape.free[::-1]))
    return spaces.Pattern(spaces.DomainOrder(loops=loops), ())

def _pipeline():
    x, f = spaces.Var("x"), spaces.Func("f")
    f[x] = x
    return spaces.pipeline(f, estimates={f: [64]})

app = App("ramp", "", "A ramp.", _pipeline)
few = spaces.RandomTrials(size=2)
number = 12
"""

POINTS = """
[spaces.cost_models]
flat = plugged:flat
weighted = plugged:flat
broken = plugged_badly:flat
number = plugged:number

[spaces.strategies]
first_rung = plugged:first_rung

[spaces.tuning_strategies]
few = plugged:few

[spaces.patterns]
rows = plugged:rows

[spaces.apps]
ramp = plugged:app
missing = plugged:nothing
"""


@pytest.fixture
def plugged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "plugged.py").write_text(MODULE)
    (tmp_path / "plugged_badly.py").write_text("import nothing_of_that_name")
    info = tmp_path / "plugged-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plugged\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(POINTS)
    monkeypatch.syspath_prepend(str(tmp_path))


@pytest.mark.usefixtures("plugged")
def test_other_packages_plug_in() -> None:
    cpu = FOUR_CORES
    assert "flat" in spaces.cost_model_names()
    assert "first_rung" in spaces.strategy_names()
    options = spaces.Options(root=("rows", "strips"), inner=("rows",))
    space = spaces.ScheduleSpace(blur(64, 32), cpu, options)
    done = spaces.best(spaces.search(space, "flat", "first_rung"))
    assert done.best[0].cost == 7.0
    assert "ramp" in APPS
    assert spaces.tune(blur(64, 32), store=":memory:", strategy="few", trials=1).best is not None
    assert find("ramp").pipeline().name == "f"


@pytest.mark.usefixtures("plugged")
def test_apps_of_other_packages_are_listed() -> None:
    out, err = command("list", "--json")
    assert {"name": "ramp", "funcs": 1, "size": [64]}.items() <= json.loads(out)[-1].items()
    assert "App missing of plugged cannot be imported" in err


@pytest.mark.usefixtures("plugged")
def test_names_of_the_library_are_not_replaced() -> None:
    model = spaces.cost_model("weighted", FOUR_CORES)
    assert type(model).__module__ == "spaces.cost.simple.weighted"


@pytest.mark.usefixtures("plugged")
def test_mistakes_of_a_package_are_told_with_its_name() -> None:
    cpu = FOUR_CORES
    with pytest.raises(PluginError, match=r"Cost model broken of plugged cannot be imported from"):
        spaces.cost_model("broken", cpu)
    with pytest.raises(
        PluginError, match=r"Cost model number of plugged must be a function .* int"
    ):
        spaces.cost_model("number", cpu)
    with pytest.raises(WrongUsage, match="App missing of plugged cannot be imported"):
        find("missing")
    assert spaces.cost_model("flat", cpu) is not None  # the others work


def test_without_the_package_its_names_are_gone() -> None:
    assert "flat" not in spaces.cost_model_names()
    with pytest.raises(spaces.UnknownModelError, match="No cost model is called 'flat'"):
        spaces.cost_model("flat", FOUR_CORES)
    with pytest.raises(ValueError, match="has no 'rows'"):
        spaces.Options(root=("rows",))


def test_registered_names_replace_and_are_taken_back() -> None:
    things: Registry[int] = Registry("spaces.nothing", "Number", {"one": 1, "two": 2})
    things["one"], things["three"] = 11, 3
    assert dict(things) == {"one": 11, "two": 2, "three": 3}
    assert len(things) == 3
    del things["one"]
    assert things["one"] == 1
    with pytest.raises(KeyError):
        things["four"]
