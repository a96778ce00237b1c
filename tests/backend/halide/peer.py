"""Halide's bridge, for tests that compare with Halide; without its package they are skipped."""

from __future__ import annotations

import pytest

bridge = pytest.importorskip(
    "backend.halide.bridge",
    reason="Halide's Python package, the extra `halide`, is not installed",
    exc_type=ImportError,
)
