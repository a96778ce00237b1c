"""Conditions on pixels in Halide: its runs end where compiled code ends."""

from __future__ import annotations

import numpy as np
import pytest

from spaces import evaluate, parse_schedule
from spaces.backend.halide.errors import RealizationError
from spaces.backend.halide.source import halide_source
from tests.backend.halide.peer import bridge
from tests.backend.test_require import DARK, IMAGE, ON_CPU, SIZES, TOLD


@pytest.mark.parametrize("text", ON_CPU[:5])
def test_halide_stops_where_we_do(text: str) -> None:
    peer = bridge.build(DARK, parse_schedule(text, DARK))
    wanted = evaluate(DARK, {"input": IMAGE}, sizes=SIZES)["f"]
    np.testing.assert_array_equal(peer.realize({"input": IMAGE}, sizes=SIZES)["f"], wanted)
    bright = IMAGE.copy()
    bright[7, 13] = 200
    with pytest.raises(RealizationError, match=r"Requirement Failed: \(false\) 201"):
        peer.realize({"input": bright}, sizes=SIZES)


def test_the_message_stands_in_the_source() -> None:
    assert "require(input(x, y) < 200, " in halide_source(DARK)
    assert '"Pixels are below 200")' in halide_source(DARK)


def test_halide_tells_the_same_values() -> None:
    wide = np.full(IMAGE.shape, 2**64 - 7, np.uint64)
    image = np.maximum(IMAGE, 1)
    inputs = {"input": image, "wide": wide, "real": np.full(IMAGE.shape, -0.125, np.float32)}
    image[7, 41] = 251
    with pytest.raises(RealizationError) as stopped:
        bridge.build(TOLD).realize(inputs, sizes={"f": [IMAGE.shape[1], IMAGE.shape[0]]})
    # Halide's package takes no text; the value itself comes first.
    values = f"242 41 7 251 {2**64 - 7} -0.125000 -1.250000e-01 true"
    assert f"Requirement Failed: (false) {values}" in str(stopped.value)
