"""What is measured is right."""

import numpy as np
import pytest

pytest.importorskip("halide", reason="the extra `halide` is not installed")

from bench.against_halide import apart


def test_what_computes_something_else_is_not_measured():
    values = np.arange(1000.0).reshape(10, 100)
    assert apart({"f": values}, {"f": values * (1 + 1e-6)}) == 0
    changed = values.copy()
    changed[3, 4] = np.nan
    assert apart({"f": changed}, {"f": values}) == 1 / 1000
    with pytest.raises(ValueError, match="1 of f") as error:
        apart({"f": values, "g": values}, {"f": values + 2, "g": values})
    assert "hundredth" in str(error.value)
