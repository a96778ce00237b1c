"""How far a legal schedule is from the limits of the rules."""

import pytest

import spaces
from spaces.constraints.legality.margins import margins

TEXT = "blur_y.gpu_tile(x, y, xi, yi, 32, 8); blur_x.compute_at(blur_y, x).gpu_threads(x, y)"


def test_numbers_and_limits_of_a_kernel():
    """blur_x needs two rows more than the tile: 32 x 10 threads, and as many 16-bit values."""
    blur = spaces.APPS["blur"].pipeline()
    verdict = spaces.verify(blur, spaces.parse_schedule(TEXT, blur), spaces.device("sm_80"))
    found = {}
    for margin in margins(verdict):
        found.setdefault(margin.rule.id, margin)
    threads = found["gpu.threads-per-block"]
    assert (threads.value, threads.limit, threads.is_most) == (320, 1024, True)
    assert threads.used == pytest.approx(0.3125)
    shared = found["gpu.shared-bytes"]
    assert shared.numbers["bytes"] == 32 * 10 * 2
    tile = found["bounds.smaller-than-tile"]
    assert (tile.limit, tile.is_most) in ((32, False), (8, False))


def test_what_is_nearest_to_a_limit_comes_first():
    """blur_x fills its tile twice in a kernel whose other Func has tiles of 32 and 8."""
    blur = spaces.APPS["blur"].pipeline()
    verdict = spaces.verify(blur, spaces.parse_schedule(TEXT, blur), spaces.device("sm_80"))
    used: dict[str, list[float]] = {}
    for margin in margins(verdict):
        used.setdefault(margin.rule.id, []).append(margin.used or 0.0)
    assert all(shares == sorted(shares, reverse=True) for shares in used.values())
    assert any(len(set(shares)) > 1 for shares in used.values())
