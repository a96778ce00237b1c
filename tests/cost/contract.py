"""The promises of every cost model: inherit :class:`CostModelContract` and name the model.

>>> class TestMine(CostModelContract):
...     def model(self):
...         return Mine()
"""

from __future__ import annotations

import numpy as np
import pytest

from spaces.cost.batch import Batch
from spaces.cost.model import CostModel
from spaces.model.algorithm.freeze import pipeline
from spaces.model.algorithm.func import Func
from spaces.model.algorithm.image_param import ImageParam
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.algorithm.var import Var
from spaces.model.directives.directives import schedule
from spaces.model.expressions.types import UInt16
from spaces.model.schedules.schedule import Schedule


def blur() -> Pipeline:
    """A blur of 3x3 pixels in two stages, at 512 x 256."""
    x, y = Var("x"), Var("y")
    image = ImageParam(UInt16, 2, "input")
    blur_x, blur_y = Func("blur_x"), Func("blur_y")
    blur_x[x, y] = (image[x - 1, y] + image[x, y] + image[x + 1, y]) / 3
    blur_y[x, y] = (blur_x[x, y - 1] + blur_x[x, y] + blur_x[x, y + 1]) / 3
    return pipeline(blur_y, estimates={blur_y: [512, 256], image: [(-1, 514), (-1, 258)]})


def tiled(pipe: Pipeline) -> Schedule:
    """Tiles of TX x TY in parallel, blur_x sliding inside them."""
    out = schedule(pipe).tile("x", "y", "xi", "yi", "TX", "TY").vectorize("xi", 8).parallel("y")
    inner = out.func("blur_x").store_at("blur_y", "x").compute_at("blur_y", "yi")
    return inner.vectorize("x", 8).schedule


def gpu_tiled(pipe: Pipeline) -> Schedule:
    """Blocks of TX x TY threads, blur_x in shared memory."""
    out = schedule(pipe).gpu_tile("x", "y", "xi", "yi", "TX", "TY")
    return out.func("blur_x").compute_at("blur_y", "x").gpu_threads("x", "y").schedule


class CostModelContract:
    """Tests that every cost model must pass."""

    def model(self) -> CostModel:
        """The model under test."""
        raise AssertionError("a contract test says which model it tests")

    def structures(self) -> list[tuple[Pipeline, Schedule]]:
        """Structures with parameters TX and TY that the model can cost."""
        pipe = blur()
        return [(pipe, tiled(pipe))]

    @pytest.fixture
    def batches(self) -> list[Batch]:
        columns = {"TX": np.array([[16], [32], [64]]), "TY": np.array([[2, 4, 8, 14]])}
        return [Batch.of(pipe, structure, columns) for pipe, structure in self.structures()]

    def test_one_cost_for_each_choice(self, batches: list[Batch]) -> None:
        for batch in batches:
            cost = self.model().cost(batch)
            assert cost.shape == (3, 4)
            assert cost.dtype == np.float64

    def test_costs_order_choices(self, batches: list[Batch]) -> None:
        """No cost is negative or NaN, and at least one is finite."""
        for batch in batches:
            cost = self.model().cost(batch)
            assert not np.isnan(cost).any()
            assert (cost >= 0).all()
            assert np.isfinite(cost).any()

    def test_a_lattice_costs_what_its_points_cost(self, batches: list[Batch]) -> None:
        """The cost of a choice does not depend on the choices beside it."""
        for batch in batches:
            lattice = self.model().cost(batch)
            for index in range(lattice.size):
                point = {n: np.array([v]) for n, v in batch.values_at(index).items()}
                (alone,) = self.model().cost(batch.at(point))
                assert alone == pytest.approx(lattice.ravel()[index])

    def test_numbers_cost_what_parameters_cost(self, batches: list[Batch]) -> None:
        """A schedule with numbers costs as much as its choice in the family."""
        for batch in batches:
            lattice = self.model().cost(batch)
            alone = self.model().cost(Batch.of(batch.pipeline, batch.schedule_at(5)))
            assert alone.shape == ()
            assert float(alone) == pytest.approx(lattice.ravel()[5])

    def test_the_same_batch_costs_the_same(self, batches: list[Batch]) -> None:
        for batch in batches:
            assert (self.model().cost(batch) == self.model().cost(batch)).all()
