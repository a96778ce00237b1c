"""Halide in a separate process."""

import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from spaces import ArgumentError, Func, ImageParam, Param, Pipeline, UInt8, Var, pipeline, schedule
from spaces.backend.halide.errors import HalideCrash, HalideTimeout, LoweringError
from spaces.backend.halide.isolated import run_in_subprocess

pytestmark = pytest.mark.skipif(
    find_spec("halide") is None,
    reason="Halide's Python package, the extra `halide`, is not installed",
)

X = Var("x")


def scaled() -> Pipeline:
    image, gain = ImageParam(UInt8, 1, "image"), Param(UInt8, "gain")
    doubled, f = Func("doubled"), Func("f")
    doubled[X] = image[X] * 2
    f[X] = doubled[X] * gain
    return pipeline(f)


INPUT = {"image": np.arange(100, 104, dtype=np.uint8)}


def test_outputs_come_back() -> None:
    built = scaled()
    s = schedule(built).func("doubled").compute_root().schedule
    result = run_in_subprocess(built, s, INPUT, {"gain": 3}, {"f": (4,)})
    assert result["f"].tolist() == [600 % 256, 606 % 256, 612 % 256, 618 % 256]


def test_refusals_come_back() -> None:
    built = scaled()
    s = schedule(built).func("doubled").compute_at("f", "z").schedule
    with pytest.raises(LoweringError, match="invalid location"):
        run_in_subprocess(built, s, INPUT, {"gain": 3}, {"f": (4,)})
    with pytest.raises(ArgumentError, match="gain"):
        run_in_subprocess(built, None, INPUT, {}, {"f": (4,)})


def test_a_process_that_takes_too_long_is_ended() -> None:
    with pytest.raises(HalideTimeout, match=r"did not finish pipeline f in 0\.01 seconds"):
        run_in_subprocess(scaled(), None, INPUT, {"gain": 3}, {"f": (4,)}, seconds=0.01)


def test_a_process_that_dies_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dying = tmp_path / "python"
    dying.write_text("#!/bin/sh\necho 'a last word' >&2\nkill -SEGV $$\n")
    dying.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(dying))
    with pytest.raises(HalideCrash, match=r"SIGSEGV.* a last word"):
        run_in_subprocess(scaled(), None, INPUT, {"gain": 3}, {"f": (4,)})
