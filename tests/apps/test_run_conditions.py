"""The options of commands that say under which conditions schedules are timed."""

from functools import partial

import pytest

from spaces import RunConditions, TuningStore
from spaces.apps.catalog import find
from spaces.apps.command_line import tune
from spaces.apps.command_line.conditions import conditions_of
from spaces.apps.errors import WrongUsage
from spaces.tuning.tune import tune as tune_pipeline
from tests.apps.command_line import spaces
from tests.apps.test_commands_tuning import OWN
from tests.tuning.fakes import FakeMeasurer


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ((False, "", "", 0), RunConditions()),
        ((True, "0", "", 0), RunConditions(cold=True, input_seed=0)),
        ((False, "random", "0-2,6", 0), RunConditions(new_inputs=True, cores=(0, 1, 2, 6))),
        ((False, "", "", 3), RunConditions(free_cores=3)),
    ],
)
def test_options_name_conditions(given, expected):
    assert conditions_of(*given) == expected


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ((False, "x", "", 0), "takes a seed such as 7, or random; it is 'x'"),
        ((False, "", "0-", 0), "such as 0-3,6; it has '0-'"),
        ((False, "", "3-1", 0), "has '3-1'; cores are numbered from 0 up to 4096"),
        ((False, "", "0-9999999999", 0), "cores are numbered"),
        ((False, "", "1,1", 0), "each once"),
        ((False, "", "1", 1), "not both"),
    ],
)
def test_options_that_name_none_get_a_sentence(given, said):
    with pytest.raises(WrongUsage, match=said):
        conditions_of(*given)


def test_a_study_keeps_its_conditions(tmp_path, monkeypatch):
    monkeypatch.setattr(tune, "tune_pipeline", partial(tune_pipeline, measurer=FakeMeasurer()))
    (tmp_path / "own.py").write_text(OWN)
    own, path = f"{tmp_path / 'own.py'}:small", tmp_path / "s.sqlite"
    often = ("--store", path, "--trials", "1", "--options", "small", "--strategy", "random")
    spaces("tune", own, *often, "--seconds", "1", "--cold")
    with TuningStore.open(path) as store:
        assert [one.conditions for one in store.studies()] == ["cold caches"]
    assert "cold caches" in spaces("studies", "--store", path)[0]
    assert "of study 1:" in spaces("best", own, "--store", path, "--cold")[0]
    gpu = ("tune", "blur", "--device", "sm_80", "--store", path)
    assert "are for the CPU; --device names" in spaces(*gpu, "--cold", status=2)[1]


def test_an_app_has_its_photograph_unless_random_inputs_are_asked_for():
    hist = find("hist")
    assert tune._inputs(hist, hist.pipeline(), RunConditions(cold=True)).keys() == {"input"}
    for random in RunConditions(input_seed=0), RunConditions(new_inputs=True):
        assert tune._inputs(hist, hist.pipeline(), random) is None
