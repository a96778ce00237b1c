"""What is said of files of Halide is so."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("halide", reason="the extra `halide` is not installed")

import halide as hl

from bench import hlpipe

DATA = Path(__file__).parent / "halide_programs" / "data"


def serialized(file: Path) -> None:
    """Writes a pipeline with a schedule that is legal."""
    x, y = hl.Var("x"), hl.Var("y")
    photo, rows, out = hl.ImageParam(hl.UInt(8), 2, "photo"), hl.Func("rows"), hl.Func("out")
    rows[x, y] = hl.u16(photo[x, y]) + photo[x + 1, y]
    out[x, y] = rows[x, y] + rows[x, y + 1]
    rows.compute_root().vectorize(x, 8)
    out.set_estimates([hl.Range(0, 48), hl.Range(0, 32)])
    hl.serialize_pipeline(hl.Pipeline([out]), str(file))


def test_a_file_is_run_on_both_sides(tmp_path: Path) -> None:
    file = tmp_path / "two.hlpipe"
    serialized(file)
    sized = hlpipe.Sized.of(file)
    assert sized.arguments.ranges["photo"] == ((0, 49), (0, 33))
    photo = sized.arguments.images["photo"].astype(np.uint16)
    rows = photo[:, :-1] + photo[:, 1:]
    assert (sized.halides(file)()["out"] == rows[:-1] + rows[1:]).all()
    found = hlpipe.measured(file, 2.0)
    assert [found[key] for key in ("came_in", "legal", "proven", "equal")] == [True] * 4
    assert found["same"] > 0
    assert found["found"] > 0


def test_pairs_and_sizes_that_a_schedule_fixes_run_on_both_sides(tmp_path: Path) -> None:
    x = hl.Var("x")
    photo, soft, out = hl.ImageParam(hl.UInt(8), 1, "photo"), hl.Func("soft"), hl.Func("out")
    soft[x] = photo[x]
    out[x] = (soft[x], soft[x + 1] + hl.u16(1))
    soft.compute_root().bound_extent(x, 64).align_bounds(x, 4, 1)
    file = tmp_path / "pairs.hlpipe"
    hl.serialize_pipeline(hl.Pipeline([out]), str(file))
    assert not hlpipe.Sized.of(file).verdict
    sized = hlpipe.Sized.of(file, hlpipe.SMALL)
    low, extent = sized.arguments.ranges["photo"][0]
    assert (low, low + extent) == (-3, 61)  # 64 from -3, which is 1 more than a multiple of 4
    ours, theirs = sized.ours(sized.verdict)(), sized.halides(file)()
    photo_at_0 = sized.arguments.images["photo"].astype(np.uint16)[3:]
    for made in (ours, theirs):
        assert (made["out.0"] == photo_at_0[:24]).all()
        assert (made["out.1"] == photo_at_0[1:25] + 1).all()


def test_values_that_differ_are_told() -> None:
    ones = {"f": np.array([1.0, 2.0, np.nan, 4.0])}
    assert hlpipe._unlike(ones, {"f": np.array([1.0, 2.0, np.nan, 4.0])}) == ""
    others = {"f": np.array([1.0, 2.5, np.nan, 4.0])}
    assert hlpipe._unlike(ones, others) == "25.00% of f differs, by at most 0.5"


def test_a_folder_becomes_a_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = (DATA / "blur_of_halide_19.hlpipe").read_bytes()
    (tmp_path / "cut.hlpipe").write_bytes(whole[:99])
    monkeypatch.setattr(hlpipe, "_alone", lambda file, seconds: hlpipe.measured(file, seconds))
    hlpipe.main([str(tmp_path), "--json", str(tmp_path / "found.json")])
    out = capsys.readouterr().out
    assert "| cut.hlpipe | no |  |  |  |  |  |  |\n" in out
    assert "- cut.hlpipe: The file is damaged or cut off:" in out
    written = json.loads((tmp_path / "found.json").read_text())
    assert list(written["files"]) == ["cut.hlpipe"]
