"""Hierarchical sampling: representatives of buckets, two phases, known bad hashes."""

from __future__ import annotations

import math
import random
from typing import Any

import attrs
import numpy as np
import pytest

import spaces
from spaces import HierarchicalSampling, Limits, Options
from spaces.cost.batch import Batch
from spaces.cost.cpu.reuse import Reuse
from spaces.cost.registry import cost_model
from spaces.enumerate.search.events import Improved
from spaces.enumerate.search.papers.sampling import _KnownHashes, _Option, _Pass, _PricedOption
from spaces.enumerate.search.pricer import Pricer
from spaces.enumerate.search.stagewise.state import HalfDecided, OpenWay, PricedWay
from spaces.enumerate.search.stagewise.structural_hash import NestOutline
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.model.schedules.domain_order import LoopKind
from spaces.model.schedules.schedule import Schedule
from tests.cpus import FOUR_CORES
from tests.enumerate.pipelines import blur, chain, line, row_sums, stencils, two_outputs
from tests.small_space import small_space

GPU = spaces.device("sm_80")

NOTHING: tuple[Any, Any] = (None, None)
"""The search of a pass that asks for no prices and verdicts."""


@pytest.fixture
def buckets(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, list[str], list[str]]]:
    """For each bucket that a search draws from: its size, the hashes of its options at the depth of
    the pass, and those of its representatives.
    """
    seen = []
    drawn = _Pass._representatives

    def recorded(self: _Pass, bucket: list[_Option]) -> list[_Option]:
        size, all_ = len(bucket), [one.outline.hash(self.depth) for one in bucket]
        found = drawn(self, bucket)
        assert len(bucket) == size - len(found), "Representatives are taken out."
        seen.append((size, all_, [one.outline.hash(self.depth) for one in found]))
        return found

    monkeypatch.setattr(_Pass, "_representatives", recorded)
    return seen


def test_the_logarithm_of_a_bucket_gets_a_cost(buckets) -> None:
    done = spaces.best(
        spaces.search(small_space(chain(), FOUR_CORES), "reuse", HierarchicalSampling())
    )
    assert done.complete
    assert max(size for size, *_ in buckets) >= 4
    for size, all_, found in buckets:
        assert len(set(all_)) <= 1, "The options of a bucket have one hash."
        assert len(found) == (max(1, math.floor(math.log2(size))) if size else 0)


def test_a_seed_draws_the_representatives() -> None:
    space = small_space(chain(), FOUR_CORES)
    one = HierarchicalSampling(width=1, passes=1)
    streams = {tuple(spaces.search(space, "reuse", one, Limits(seed=seed))) for seed in range(3)}
    assert len(streams) > 1


def test_greedy_samples_find_more() -> None:
    space = small_space(chain(), FOUR_CORES)
    found = [
        spaces.best(
            spaces.search(space, "reuse", HierarchicalSampling(width=1, passes=1, greedy=greedy))
        )
        for greedy in (0, 10)
    ]
    assert found[1].best[0].cost < found[0].best[0].cost
    assert found[1].structures > found[0].structures


def test_all_patterns_are_compared_only_at_root_and_after_the_place() -> None:
    """This model knows no difference between places, but likes tiles: the second phase finds them
    though the first one has strips.
    """

    def likes_tiles(batch: Batch) -> np.ndarray:
        orders = [entry.stages[0] for entry in batch.schedule.funcs if not entry.compute.is_inline]
        tiled = sum(len(order.loops) == 5 for order in orders)
        return batch.full(10.0 - tiled)

    options = attrs.evolve(Options.small(FOUR_CORES), placements=("root",))
    space = ScheduleSpace(chain(), FOUR_CORES, options)
    (found,) = spaces.best(spaces.search(space, likes_tiles, "sampling")).best
    assert found.cost == 7.0


def test_a_place_that_only_other_loops_make_legal_is_kept() -> None:
    """Rows of 32 are too short for the tiles of the first pattern; the last pattern fits."""

    def likes_root(batch: Batch) -> np.ndarray:
        return batch.full(10.0 - sum(entry.compute.is_root for entry in batch.schedule.funcs))

    options = Options(
        root=("tiles", "serial"), row_tiles=(64,), tiles=(64,), placements=("inline", "root"),
        long=1,
    )  # fmt: skip
    space = ScheduleSpace(blur(32, 16), FOUR_CORES, options)
    (found,) = spaces.best(spaces.search(space, likes_root, HierarchicalSampling(width=1))).best
    assert found.cost == 8.0
    pricer = Pricer.of(space, cost_model(likes_root, GPU), Limits())
    events = HierarchicalSampling(width=1).search_in_share(pricer)
    assert [event.best.cost for event in events if isinstance(event, Improved)] == [8.0]


def _priced(cost: float, outline: NestOutline) -> _PricedOption:
    """An option that needs no verdict."""
    placed = HalfDecided(None, {}, 0.0)  # type: ignore[arg-type]
    way = OpenWay(placed, ())
    return _PricedOption(
        _Option(way, outline, placed), PricedWay(way, np.array([cost]), is_legal=True)
    )


def test_known_bad_hashes_are_set_back_once() -> None:
    """[A21] 4.5. The options of the first pass are alike at depth 1 with two of the second, whose
    others have new hashes.
    """
    a, b = (NestOutline({f"block {name}": 1}) for name in "ab")
    a2, b2, c = (NestOutline({f"block {n[0]}": 1, f"threads {n}": 2}) for n in ("a2", "b2", "c"))
    known = _KnownHashes(1)

    def taken(*options: _PricedOption, width: int = 1, penalty: float = 1.0) -> list[float]:
        one = _Pass(*NOTHING, 1, width, penalty, random.Random(0), known)
        found = one._take_first(None, list(options), [], "f")  # type: ignore[arg-type]
        return [state.cost for state in found]

    assert taken(_priced(1.0, a), _priced(2.0, b)) == [1.0]
    assert known.times_poor("f", 1, b2) == 1
    assert known.times_poor("f", 1, a2) == known.times_poor("f", 1, c) == 0
    assert known.times_poor("g", 1, b2) == 0
    # 1.5 with the bad hash counts as 3, so 2.5 comes before it; what is left is taken all the same.
    assert taken(_priced(2.5, c), _priced(1.5, b2), penalty=0.0, width=3) == [1.5, 2.5]


def test_known_bad_hashes_let_others_go_first() -> None:
    bad, fresh = NestOutline({"bad": 1}), NestOutline({"fresh": 1})
    for penalty, first in ((1.0, 2.5), (0.5, 1.5)):
        known = _KnownHashes(1)
        known.add("f", [], [bad])
        one = _Pass(*NOTHING, 1, 2, penalty, random.Random(0), known)
        options = [_priced(1.5, bad), _priced(2.5, fresh)]
        found = one._take_first(None, options, [], "f")  # type: ignore[arg-type]
        assert [state.cost for state in found] == [first, 4.0 - first]


def test_hashes_that_were_kept_once_are_not_bad() -> None:
    one = NestOutline({"one": 1})
    known = _KnownHashes(1)
    known.add("f", [one], [one, one])
    assert known.times_poor("f", 1, one) == 0


def test_negative_costs_are_set_back_too() -> None:
    bad, fresh = NestOutline({"bad": 1}), NestOutline({"fresh": 1})
    known = _KnownHashes(1)
    known.add("f", [], [bad])
    one = _Pass(*NOTHING, 1, 1, 1.0, random.Random(0), known)
    found = one._take_first(None, [_priced(-3.0, bad), _priced(-2.0, fresh)], [], "f")  # type: ignore[arg-type]
    assert [state.cost for state in found] == [-2.0]


@pytest.mark.parametrize("make", [blur, row_sums, two_outputs, line])
def test_gpus_get_kernels(make) -> None:
    space = small_space(make(), GPU)
    (found,) = spaces.best(spaces.search(space, "occupancy", "sampling")).best
    verdict = spaces.verify(space.pipeline, found.schedule, GPU)
    assert verdict
    assert found.schedule in space
    kinds = {loop.kind for entry in found.schedule.funcs for loop in entry.stages[0].loops}
    assert {LoopKind.GPU_BLOCK, LoopKind.GPU_THREAD} <= kinds


def test_what_is_fixed_is_kept() -> None:
    pipeline = blur()
    hand = spaces.parse_schedule("blur_y.parallel(y)\nblur_x.compute_at(blur_y, y)", pipeline)
    for name in ("blur_y", "blur_x"):
        fixed = hand.with_funcs((hand.of(name),))
        if name == "blur_x":
            fixed = hand
        space = small_space(pipeline, FOUR_CORES, fixed=fixed)
        (found,) = spaces.best(spaces.search(space, "reuse", "sampling")).best
        assert found.schedule.of(name) == hand.of(name)


def test_freezing_samples_fewer_structures() -> None:
    """Of 4 Funcs 2 are frozen."""
    few = Options(row_tiles=(64,), tiles=(8,), lanes=(1,), storage="compute")
    space = ScheduleSpace(stencils(4), FOUR_CORES, few)
    alone, frozen = (
        spaces.best(spaces.search(space, "reuse", name)) for name in ("sampling", "frozen-sampling")
    )
    assert frozen.structures < alone.structures
    assert spaces.verify(space.pipeline, frozen.best[0].schedule, FOUR_CORES)


def test_no_pass_prices_a_structure_again() -> None:
    seen: list[Schedule] = []

    def recorded(batch: Batch) -> np.ndarray:
        seen.append(batch.schedule)
        return Reuse(FOUR_CORES).cost(batch)

    sampled = HierarchicalSampling()
    pricer = Pricer.of(small_space(chain(), FOUR_CORES), cost_model(recorded, GPU), Limits())
    list(sampled.search_in_share(pricer))
    board = pricer.board
    assert len(seen) == board.structures > 20
    again = len(seen) - len(set(seen))
    assert again <= 3 * board.limits.top, "Only the numbers of the best are chosen again."
