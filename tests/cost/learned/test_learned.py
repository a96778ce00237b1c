"""The model: batches and single choices, pieces of large lattices, files of weights."""

from __future__ import annotations

import json
from importlib import resources

import numpy as np
import pytest
from attrs import evolve

from spaces.contracts.examples import blur, tiled
from spaces.cost.batch import Batch
from spaces.cost.learned import model as module
from spaces.cost.learned.inputs import INPUTS_OF, compress
from spaces.cost.learned.model import Learned
from spaces.cost.learned.weights import (
    WeightsError,
    read_network,
    shipped_network,
    write_network,
)
from spaces.cost.registry import cost_model
from spaces.tuning.learning.examples import examples
from spaces.tuning.learning.training import Training, start_network
from tests.cost.learned.networks import measured, random_network
from tests.cpus import FOUR_CORES

COLUMNS = {"TX": np.array([[16], [32], [64]]), "TY": np.array([[2, 4, 8, 14]])}

LARGER = {"TX": np.arange(16, 23).reshape(7, 1), "TY": np.arange(2, 9).reshape(1, 7)}


@pytest.fixture(scope="module", params=["learned", "hybrid"])
def found(request):
    pipe = blur()
    return examples(measured(pipe, tiled(pipe), COLUMNS), FOUR_CORES, request.param)


def test_a_batch_costs_what_its_choices_cost(found) -> None:
    """By the sum over stages of coefficients times terms, as the network gives them one by one."""
    network = random_network(found)
    model, batch = Learned(FOUR_CORES, network), Batch.of(blur(), tiled(blur()), COLUMNS)
    costs = model.cost(batch)
    assert costs.shape == (3, 4)
    for one, cost in zip(found.examples, costs.ravel(), strict=True):
        rows = range(len(one.terms))
        alone = [network.cost(one.algorithm[[r]], one.schedule[[r]], one.terms[[r]]) for r in rows]
        assert float(np.sum(alone)) == pytest.approx(cost)


def test_an_untrained_network_gives_the_prices(found) -> None:
    network = start_network(found, Training())
    one = found.examples[0]
    given = network.coefficients(one.algorithm, one.schedule)
    assert given == pytest.approx(np.tile(network.scales["prices"], (len(one.terms), 1)))


def test_a_lattice_is_costed_in_pieces(found, monkeypatch) -> None:
    model = Learned(FOUR_CORES, random_network(found))
    batch = Batch.of(blur(), tiled(blur()), LARGER)
    whole = model.cost(batch)
    for most in (1, 5, 20):
        monkeypatch.setattr(module, "AT_ONCE", most)
        assert model.cost(batch) == pytest.approx(whole)


def test_a_file_keeps_a_network(found, tmp_path) -> None:
    network = random_network(found)
    path = tmp_path / "mine.npz"
    write_network(network, path)
    batch = Batch.of(blur(), tiled(blur()), COLUMNS)
    read = cost_model(str(path), FOUR_CORES)
    assert (read.cost(batch) == Learned(FOUR_CORES, network).cost(batch)).all()


def test_weights_of_other_features_are_refused(found) -> None:
    network = random_network(found)
    other = evolve(network, schedule=(*network.schedule[1:], "moon_phase"))
    with pytest.raises(WeightsError, match="trained on other features than this version"):
        Learned(FOUR_CORES, other).cost(Batch.of(blur(), tiled(blur()), COLUMNS))


def test_what_are_no_weights_is_refused(tmp_path) -> None:
    with pytest.raises(WeightsError, match=r"There is no file .*none\.npz"):
        read_network(tmp_path / "none.npz")
    path = tmp_path / "other.npz"
    path.write_bytes(b"no archive")
    with pytest.raises(WeightsError, match="does not hold the weights of a network"):
        read_network(path)
    np.savez(path, a=np.zeros(3))
    with pytest.raises(WeightsError, match="train it again"):
        read_network(path)


def test_a_file_that_lacks_one_sort_of_arrays_is_refused(found, tmp_path) -> None:
    path = tmp_path / "mine.npz"
    write_network(random_network(found), path)
    with np.load(path) as file:
        arrays = dict(file)
    for lacking in {name.partition("_")[0]: name for name in arrays}.values():
        kept = {name: array for name, array in arrays.items() if name != lacking}
        np.savez(path, **kept)
        with pytest.raises(WeightsError, match="train it again"):
            read_network(path)


def test_numbers_below_0_are_taken_for_0() -> None:
    assert compress(np.array([-3.0, 0.0, np.e - 1])).tolist() == [0.0, 0.0, 1.0]


@pytest.mark.parametrize("kind", INPUTS_OF)
def test_weights_come_with_the_library(kind: str) -> None:
    """They read the features of this version, and a log says where they come from."""
    network = shipped_network(kind)
    pipe = blur()
    own = examples(measured(pipe, tiled(pipe), {"TX": [8], "TY": [8]}), FOUR_CORES, kind)
    assert (network.algorithm, network.schedule, network.terms) == own.names
    log = json.loads((resources.files("spaces.cost.learned") / f"{kind}.json").read_text("utf-8"))
    assert log["kind"] == kind
    assert log["schedules"] == sum(log["sources"].values())
    assert len(log["held_out"]["subjects"]) >= 1
