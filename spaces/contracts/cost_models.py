"""What every cost model promises."""

from __future__ import annotations

import numpy as np

from spaces.contracts.examples import blur, tiled
from spaces.cost.batch import Batch
from spaces.cost.model import CostModel
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.schedule import Schedule


class CostModelContract:
    """The tests of a cost model."""

    def model(self) -> CostModel:
        """The model under test."""
        raise NotImplementedError("a contract test says which model it tests")

    def structures(self) -> list[tuple[Pipeline, Schedule]]:
        """Structures with parameters TX and TY that the model can cost."""
        pipe = blur()
        return [(pipe, tiled(pipe))]

    def batches(self) -> list[Batch]:
        """The structures with some choices of their parameters."""
        columns = {"TX": np.array([[16], [32], [64]]), "TY": np.array([[2, 4, 8, 14]])}
        return [Batch.of(pipe, structure, columns) for pipe, structure in self.structures()]

    def test_one_cost_for_each_choice(self) -> None:
        for batch in self.batches():
            cost = np.asarray(self.model().cost(batch))
            assert np.broadcast_shapes(cost.shape, (3, 4)) == (3, 4), (
                f"A batch of 3 x 4 choices has costs of shape {cost.shape}."
            )
            assert cost.dtype == np.float64, f"Costs are float64, not {cost.dtype}."

    def test_costs_order_choices(self) -> None:
        for batch in self.batches():
            cost = self.model().cost(batch)
            assert not np.isnan(cost).any(), f"A cost is not a number: {cost}."
            assert (cost >= 0).all(), f"A cost is negative: {cost}."
            assert np.isfinite(cost).any(), "No choice has a finite cost."

    def test_a_lattice_costs_what_its_points_cost(self) -> None:
        for batch in self.batches():
            lattice = np.broadcast_to(self.model().cost(batch), (3, 4))
            for index in range(lattice.size):
                point = {n: np.array([v]) for n, v in batch.values_at(index).items()}
                alone = np.broadcast_to(self.model().cost(batch.at(point)), (1,))
                assert np.isclose(alone[0], lattice.ravel()[index], rtol=1e-6), (
                    f"The choice {point} costs {alone[0]} alone and {lattice.ravel()[index]} "
                    "beside others."
                )

    def test_numbers_cost_what_parameters_cost(self) -> None:
        for batch in self.batches():
            lattice = np.broadcast_to(self.model().cost(batch), (3, 4))
            alone = self.model().cost(Batch.of(batch.pipeline, batch.schedule_at(5)))
            assert np.shape(alone) == (), "A schedule without parameters has one cost."
            assert np.isclose(float(alone), lattice.ravel()[5], rtol=1e-6), (
                f"A schedule with numbers costs {alone}, its choice {lattice.ravel()[5]}."
            )

    def test_the_same_batch_costs_the_same(self) -> None:
        for batch in self.batches():
            assert (self.model().cost(batch) == self.model().cost(batch)).all()
