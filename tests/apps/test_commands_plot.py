"""``spaces plot``, and ``spaces report`` on a store."""

import json

import pytest

from tests.apps.command_line import spaces
from tests.pages_html import Read
from tests.tuning.studies import known_study


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    path = tmp_path_factory.mktemp("plots") / "known.sqlite"
    with known_study(file=str(path)):
        pass
    return path


def test_report_on_a_store_is_about_its_newest_study(store, tmp_path):
    path = tmp_path / "report.html"
    out, _ = spaces("report", store, "-o", path)
    assert out.startswith(f"Wrote {path} (")
    assert out.endswith(" KB) about study 1.\n")
    assert "Best against time" in Read(path.read_text("utf-8")).text
    told = json.loads(spaces("report", store, "--study", "1", "-o", path, "--json")[0])
    assert told["bytes"] == path.stat().st_size
    assert told["funnel"]["classes"]["crashed"] == 2


def test_report_says_which_options_are_for_what(store):
    _, err = spaces("report", store, "--schedule", "cpu", status=2)
    assert "--schedule is for a page about a schedule; --study chooses a study" in err
    _, err = spaces("report", "blur", "--schedule", "cpu", "--study", "1", status=2)
    assert "blur is no store" in err
    _, err = spaces("report", "blur", status=2)
    assert "as in spaces report blur --schedule cpu" in err
    _, err = spaces("report", store, "--study", "4", status=1)
    assert "has no study 4" in err


def test_plot_draws_what_is_asked_for(store, tmp_path):
    pytest.importorskip("matplotlib", reason="the extra `plots` is not installed")
    folder = tmp_path / "pictures"
    out, _ = spaces("plot", store, "--kind", "funnel", "-o", folder, "--json")
    files = [str(folder / f"study1_funnel.{format}") for format in ("png", "svg")]
    assert json.loads(out) == {"study": 1, "files": files}
    assert sorted(map(str, folder.iterdir())) == files


def test_plot_names_what_a_study_lacks(tmp_path):
    path = tmp_path / "empty.sqlite"
    with known_study((), file=str(path)):
        pass
    _, err = spaces("plot", path, "--kind", "time", "-o", tmp_path, status=1)
    assert "has no numbers for the plot 'time': none of its trials has a time" in err
    _, err = spaces("plot", tmp_path / "none.sqlite", status=2)
    assert "There is no store" in err
