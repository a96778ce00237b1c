"""Halide, for tests that compare with it; without its package they are skipped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from backend.reference import evaluate
from spaces.constraints.devices.device import device
from spaces.constraints.legality.verdict import CheckedSchedule
from spaces.constraints.legality.verify import verify
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.schedule import Schedule
from spaces.model.writing.serialize import from_json, to_json
from spaces.model.writing.text import format_schedule, parse_schedule

bridge = pytest.importorskip(
    "backend.halide.bridge",
    reason="Halide's Python package, the extra `halide`, is not installed",
    exc_type=ImportError,
)


def legal(algorithm: Pipeline, text: str) -> CheckedSchedule:
    """A schedule that is legal for a CPU, and that its text and its JSON tell whole."""
    chosen = parse_schedule(text, algorithm)
    assert parse_schedule(format_schedule(chosen, algorithm), algorithm) == chosen
    assert from_json(to_json(chosen), Schedule) == chosen
    verdict = verify(algorithm, chosen, device("cpu"))
    assert isinstance(verdict, CheckedSchedule), str(verdict)
    return verdict


def assert_agrees(
    algorithm: Pipeline,
    schedule: Schedule | None,
    inputs: Mapping[str, np.ndarray],
    sizes: Mapping[str, Sequence[int | tuple[int, int]]],
    params: Mapping[str, float] | None = None,
) -> None:
    """Halide under a schedule gives what the reference gives."""
    theirs = bridge.build(algorithm, schedule).realize(inputs, params, sizes, bridge.STRICT)
    ours = evaluate(algorithm, inputs, params, sizes)
    assert ours.keys() == theirs.keys()
    for name, wanted in ours.items():
        assert_same_bits(theirs[name], wanted, name)


def assert_same_bits(found: np.ndarray, wanted: np.ndarray, about: str) -> None:
    """Arrays hold the same values of one type, -0 where it is -0; only NaN has many bits."""
    np.testing.assert_array_equal(found, wanted, err_msg=about, strict=True)
    if wanted.dtype.kind == "f":
        is_number = ~np.isnan(wanted)
        signs = (np.signbit(array[is_number]) for array in (found, wanted))
        np.testing.assert_array_equal(*signs, err_msg=f"signs of {about}")
