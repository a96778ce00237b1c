"""These tests talk to Halide's own Python package."""

import pytest

pytest.importorskip(
    "halide", reason="Halide's Python package, the extra `halide`, is not installed"
)
