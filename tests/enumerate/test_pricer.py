"""One pricer judges and prices: what it gives a finite cost is legal, and costs this much."""

from __future__ import annotations

import re
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import spaces
from spaces.constraints.legality.verify import verify
from spaces.cost.batch import Batch
from spaces.cost.model import FunctionModel
from spaces.enumerate.search.pricer import Pricer
from spaces.enumerate.space.structure import Structure
from tests.cpus import FOUR_CORES
from tests.enumerate.pipelines import blur, chain, row_sums
from tests.small_space import small_space

SM_80 = spaces.device("sm_80")

KNOWN_TO = {
    r"\bBatch\b": {"pricer"},
    r"\b(AdditiveModel|FunctionModel|lattice_costs)\b": {"pricer"},
    r"\blegal_mask\b": {"judged_sizes"},
    r"\bUnboundedError\b": {"pricer", "bounds", "restricted", "estimated_boxes", "tidying"},
}
"""The files of the search that may know a name. ``judged_sizes`` defines the mask of a space, and
``restricted`` that of its conditions; ``bounds`` counts Funcs that have no batch yet.
"""


def restricted_blur(lanes: int, device: spaces.Device = FOUR_CORES) -> Pricer:
    """Of a space with a condition and with a predicate."""
    refused = spaces.schedule(blur()).schedule
    where = [spaces.lanes("blur_y") == lanes, lambda one: one != refused and "64" not in str(one)]
    return Pricer.of(small_space(blur(), device, where=where), reuse(device), spaces.Limits())


def reuse(device: spaces.Device) -> spaces.CostModel:
    return spaces.cost_model("reuse" if device is FOUR_CORES else "occupancy", device)


@pytest.mark.parametrize("names", KNOWN_TO)
def test_only_the_pricer_makes_batches_and_asks_models(names: str) -> None:
    folder = Path(spaces.__file__).parent / "enumerate"
    found = {path.stem for path in folder.rglob("*.py") if re.search(names, path.read_text())}
    assert found == KNOWN_TO[names]


def test_searches_and_tuning_ask_the_pricer_what_is_legal() -> None:
    """Masks of spaces are for counting and listing."""
    folder = Path(spaces.__file__).parent
    files = [*(folder / "enumerate" / "search").rglob("*.py"), *(folder / "tuning").rglob("*.py")]
    asking = {file.stem for file in files if re.search(r"\bspace\.legal\(", file.read_text())}
    assert not asking


@given(
    st.sampled_from([blur, chain, row_sums]),
    st.sampled_from([FOUR_CORES, SM_80]),
    st.integers(0, 60),
    st.randoms(use_true_random=False),
)
def test_a_finite_cost_is_that_of_a_legal_schedule(make, device, number, chosen) -> None:
    space = small_space(make(), device)
    pricer = Pricer.of(space, reuse(device), spaces.Limits())
    structure = next(islice(space.structures(), number, None), None)
    if structure is None:
        return
    costs = pricer.keep_legal(structure, pricer.price_structure(structure))
    index = chosen.randrange(costs.size)
    schedule = structure.at(index)
    if np.isfinite(costs.flat[index]):
        assert verify(space.pipeline, schedule, device, exact=space.options.exact)
        batch = Batch.of(space.pipeline, structure.schedule, structure.numbers(index))
        assert costs.flat[index] == pytest.approx(float(pricer.model.cost(batch)))
    cheapest = pricer.find_cheapest(structure)
    assert (np.inf if cheapest is None else cheapest.cost) == costs.min()
    if cheapest is not None:
        assert pricer.find_cheapest_below(structure, cheapest.cost) == cheapest
        assert pricer.find_cheapest_below(structure, cheapest.cost * (1 - 1e-9)) is None


@given(st.integers(0, 19), st.integers(0, 3), st.randoms(use_true_random=False))
def test_the_legal_choices_come_in_the_order_of_their_costs(number, dear, chosen) -> None:
    """Some costs are infinite, and the restrictions leave few choices legal."""
    pricer = restricted_blur(16)
    structure = next(islice(pricer.space.structures(), number, None))
    drawn = [chosen.choice((1.0, 2.0, 2.5, np.inf)) for _ in range(structure.size)]
    drawn[:dear] = [np.inf] * min(dear, len(drawn))
    wanted = [
        (cost, index)
        for index, cost in enumerate(drawn)
        if cost < np.inf and pricer.space.verdict(structure.at(index))
    ]
    costs = np.reshape(drawn, structure.shape)
    assert list(pricer.order_legal(structure, costs)) == [index for _, index in sorted(wanted)]
    assert pricer.board.legal == 0


@pytest.mark.parametrize(("device", "lanes"), [(FOUR_CORES, 16), (SM_80, 1)])
def test_what_verdicts_have_in_common_changes_none(device: spaces.Device, lanes: int) -> None:
    """One memo serves the verdicts on all structures, legal and illegal ones."""
    pricer = restricted_blur(lanes, device)
    answers = set()
    for structure in islice(pricer.space.structures(), 40):
        for index in {0, structure.size - 1}:
            schedule = structure.at(index)
            answers.add(pricer.is_legal(schedule))
            assert pricer.is_legal(schedule) == bool(pricer.space.verdict(schedule))
    assert answers == {True, False}


@pytest.mark.parametrize("lanes", [16, 32])
def test_restrictions_count(lanes: int) -> None:
    pricer = restricted_blur(lanes)
    found = 0
    for structure in islice(pricer.space.structures(), 20):
        costs = pricer.keep_legal(structure, pricer.price_structure(structure))
        one = pricer.find_cheapest(structure)
        assert (one is None) == (not np.isfinite(costs).any())
        if one is not None:
            found += 1
            assert pricer.space.verdict(one.schedule)
            assert structure.at(int(np.argmin(costs))) == one.schedule
    assert found
    assert pricer.board.legal == 2 * found


def test_what_costs_too_much_gets_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    pricer = Pricer.of(small_space(blur(), FOUR_CORES), reuse(FOUR_CORES), spaces.Limits())
    structure = next(pricer.space.structures())
    least = pricer.price_structure(structure).min()
    monkeypatch.setattr(Pricer, "find_legal", None)
    assert pricer.find_cheapest_below(structure, least / 2) is None
    assert pricer.board.legal == 0
    assert pricer.board.structures == 2


def test_what_has_no_loop_nest_costs_infinitely_much() -> None:
    x = spaces.Var("x")
    image, table, out = (
        spaces.ImageParam(spaces.Int32, 1, "image"),
        spaces.Func("t"),
        spaces.Func("o"),
    )
    table[x] = x * 2
    out[x] = table[image[x]]
    pipe = spaces.pipeline(out, estimates={out: [64], image: [64]})
    space = spaces.ScheduleSpace(pipe, FOUR_CORES, spaces.Options.small(FOUR_CORES))
    pricer = Pricer.of(space, FunctionModel(lambda batch: batch.full(1.0)), spaces.Limits())
    schedule = spaces.parse_schedule("t.compute_root()", pipe)
    assert pricer.price_schedule(schedule) == np.inf
    assert pricer.price_structure(Structure(schedule, {})) == np.inf
    assert pricer.find_cheapest(Structure(schedule, {})) is None
    assert pricer.board.structures == 0


def test_choices_are_legal_where_the_conditions_of_the_space_hold() -> None:
    options = spaces.Options(root=("strips",), row_tiles=(32, 64), tiles=(8, 32), lanes=(1,))
    space = spaces.ScheduleSpace(blur(), FOUR_CORES, options, where=["parallel_tasks >= 16"])
    pricer = Pricer.of(space, spaces.cost_model("reuse", FOUR_CORES), spaces.Limits())
    left_out = 0
    for structure in space.structures():
        allowed = [structure.at(choice) for choice in range(structure.size)]
        legal = [bool(verify(space.pipeline, one, FOUR_CORES)) for one in allowed]
        kept = [next(space.restricted.broken(one), None) is None for one in allowed]
        left_out += sum(a and not b for a, b in zip(legal, kept, strict=True))
        wanted = [a and b for a, b in zip(legal, kept, strict=True)]
        assert pricer.find_legal(structure).ravel().tolist() == wanted
    assert left_out
