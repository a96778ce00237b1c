"""The demo from end to end, on a small picture and with a short search."""

import numpy as np
import pytest
from PIL import Image

from spaces import Done, Found, Limits, parse_schedule
from spaces.apps import demo
from tests.apps.formulas import photograph

ROWS_IN_THREES = """
output.reorder(c, x, y).split(y, yo, yi, 3, TailStrategy::RoundUp).gpu_blocks(yo).gpu_threads(yi)
"""
"""Legal for the 150 rows of the picture, but not for the 40 of its crop."""

IN_TILES = "output.reorder(c, x, y).gpu_tile(x, y, xi, yi, 32, 8, TailStrategy::GuardWithIf)"


@pytest.fixture(autouse=True)
def _small(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(demo, "LIMITS", Limits(structures=30))
    monkeypatch.setattr(demo, "RACE_SECONDS", 0.0)
    monkeypatch.setattr(demo, "CROP", (40, 130))
    monkeypatch.setattr(demo, "photograph", lambda width, height: photograph(150, 200))


def test_what_the_search_may_find_also_runs_on_the_crop(monkeypatch, capsys):
    """A search may end with any schedule of its space."""
    offered = []

    def search(space, cost, limits):
        texts = ("",) if space.device.name == "cpu" else (ROWS_IN_THREES, IN_TILES)
        for text in texts:
            chosen = parse_schedule(text, space.pipeline)
            offered.append(bool(space.verdict(chosen)))
            if offered[-1]:
                yield Done((Found(1.0, chosen),), structures=1, choices=1, complete=False)
                return

    monkeypatch.setattr(demo, "search", search)
    demo.main()
    assert offered == [True, False, True]
    assert "on a crop of 130 x 40: equal to the reference" in capsys.readouterr().out


def test_the_demo_ends_well_and_writes_what_it_says(tmp_path, capsys):
    demo.main()
    out = capsys.readouterr().out
    assert out.count("equal to the reference") >= 2
    assert "Done in" in out
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"before.png", "after.png", "unsharp.sched", "unsharp.cu"}
    before, after = (
        np.asarray(Image.open(tmp_path / "out" / f"{name}.png"), np.float64)
        for name in ("before", "after")
    )
    assert before.shape == after.shape
    assert after.std() > before.std()  # sharper is more contrast
