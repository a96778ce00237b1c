"""Halide, for tests that compare with it; they are skipped if its package is missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from spaces.backend.reference import evaluate
from spaces.constraints.devices.device import device
from spaces.constraints.legality.verdict import CheckedSchedule
from spaces.constraints.legality.verify import verify
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.schedule import Schedule
from spaces.model.writing.serialize import from_json, to_json
from spaces.model.writing.text import format_schedule, parse_schedule

bridge = pytest.importorskip(
    "spaces.backend.halide.bridge",
    reason="Halide's Python package, the extra `halide`, is not installed",
    exc_type=ImportError,
)

KNOWN_BOUNDS = f"{bridge.STRICT}-no_bounds_query"
"""Code that cannot be asked which part of an image it reads: a sixth less to compile."""


def legal(algorithm: Pipeline, text: str) -> CheckedSchedule:
    """A schedule that is legal for a CPU. Checks that text and JSON reproduce it."""
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
    """Asserts that Halide under a schedule gives the values of the reference."""
    assert_peer_agrees(bridge.build(algorithm, schedule), inputs, sizes, params)


def assert_peer_agrees(
    peer: bridge.HalidePipeline,
    inputs: Mapping[str, np.ndarray],
    sizes: Mapping[str, Sequence[int | tuple[int, int]]],
    params: Mapping[str, float] | None = None,
) -> None:
    """Asserts that what Halide has built gives the values of the reference. Halide compiles it at
    the first call.
    """
    theirs = peer.realize(inputs, params, sizes, KNOWN_BOUNDS)
    ours = evaluate(peer.pipeline, inputs, params, sizes)
    assert ours.keys() == theirs.keys()
    for name, wanted in ours.items():
        assert_same_bits(theirs[name], wanted, name)


def assert_same_bits(found: np.ndarray, wanted: np.ndarray, about: str) -> None:
    """Asserts that arrays hold the same bits of one type; only NaN may have different bits."""
    np.testing.assert_array_equal(found, wanted, err_msg=about, strict=True)
    if wanted.dtype.kind == "f":
        is_number = ~np.isnan(wanted)
        signs = (np.signbit(array[is_number]) for array in (found, wanted))
        np.testing.assert_array_equal(*signs, err_msg=f"signs of {about}")
