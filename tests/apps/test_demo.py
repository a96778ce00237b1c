"""The demo from end to end, on a small picture and with little time to search."""

import numpy as np
from PIL import Image

from apps import demo
from tests.apps.formulas import photograph


def test_the_demo_ends_well_and_writes_what_it_says(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(demo, "SEARCH_SECONDS", 1.0)
    monkeypatch.setattr(demo, "RACE_SECONDS", 1.0)
    monkeypatch.setattr(demo, "FINALISTS", 1)
    monkeypatch.setattr(demo, "CROP", (40, 130))
    monkeypatch.setattr(demo, "photograph", lambda width, height: photograph(150, 200))
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
