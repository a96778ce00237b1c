"""Functions that Halide compiles for other machines."""

from pathlib import Path

import pytest

pytest.importorskip("halide", reason="the extra `halide` is not installed")

from spaces.backend.halide.bridge import CUDA, build
from tests.apps.cases import written


def test_a_function_names_its_arguments(tmp_path: Path) -> None:
    """For a GPU that is not here: images and parameters by name, then the outputs."""
    peer = build(*written("harris", "gpu"))
    names = peer.compile_ahead(tmp_path / "f.o", "corners_of", f"{CUDA}-no_runtime")
    assert names == ("input", "k", "corners")
    code = (tmp_path / "f.o").read_bytes()
    assert b"corners_of_argv" in code
    assert b".target sm_80" in code
