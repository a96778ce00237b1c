"""A batch: one structure with many choices of its tile sizes, costed at once."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np
from attrs import evolve, field, frozen
from numpy.typing import NDArray

from spaces.constraints.legality.lattice import Columns
from spaces.features.extraction import FeatureMemo, extract_features
from spaces.features.features import Features
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.formulas.algebra import FormulaError
from spaces.model.schedules.cases import followed, is_specialized
from spaces.model.schedules.parameters import bind, parameters
from spaces.model.schedules.schedule import Schedule
from spaces.model.showing import outline


class BatchError(ValueError):
    """A parameter or a size of a batch has no value, or a cost model gives no number."""


@frozen(repr=False)
class Batch:
    """One structure and the values of its parameters.

    Attributes:
        pipeline: the algorithm.
        schedule: the structure, with the names of parameters as factors. Of a specialized schedule,
            it is the case that applies at ``sizes``.
        columns: the values of the parameters. As open-mesh axes of a tile lattice (shapes
            ``(n, 1)`` and ``(1, m)``), a term that depends on one of them is computed once.
        sizes: the sizes to cost at; the pipeline's estimates if not given.
        formulas: the features as formulas, at these sizes.
    """

    pipeline: Pipeline
    schedule: Schedule
    columns: Columns = field(eq=False)
    sizes: Mapping[str, int] = field(eq=False)
    formulas: Features = field(eq=False, repr=False)

    def __repr__(self) -> str:
        return outline(self)

    @staticmethod
    def of(
        pipeline: Pipeline,
        schedule: Schedule,
        columns: Mapping[str, object] | None = None,
        sizes: Mapping[str, int] | None = None,
        memo: FeatureMemo | None = None,
    ) -> Batch:
        """The batch of a well-formed structure.

        Args:
            pipeline: the algorithm.
            schedule: the structure.
            columns: an array of ints for each of its parameters.
            sizes: size variables (``out.extent.0``); the pipeline's estimates if not given.
            memo: what earlier batches have counted; the result is the same without.

        Raises:
            BatchError: a parameter of the structure has no column.
            LevelError, UnboundedError: the schedule has no loop nest.
        """
        given = {n: np.asarray(c, dtype=np.int64) for n, c in (columns or {}).items()}
        missing = [name for name in parameters(schedule) if name not in given]
        if missing:
            raise BatchError(
                f"The parameters {', '.join(missing)} of the schedule have no values; "
                "give a column for each."
            )
        chosen = pipeline.sizes() if sizes is None else dict(sizes)
        plain = followed(schedule, chosen) if is_specialized(schedule) else schedule
        return Batch(
            pipeline, plain, given, chosen, extract_features(pipeline, plain, memo, chosen)
        )

    def at(self, columns: Columns) -> Batch:
        """The same structure with other values of its parameters."""
        return evolve(self, columns=columns)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The shape that the columns broadcast to; ``()`` for a structure without parameters."""
        return np.broadcast_shapes(*(column.shape for column in self.columns.values()))

    @cached_property
    def features(self) -> Features:
        """The features as arrays that broadcast to :attr:`shape`.

        Raises:
            BatchError: an output has no size, or a scalar that matters has no default.
        """
        try:
            return self.formulas.read(
                {**self.pipeline.scalar_defaults(), **self.sizes, **self.columns}
            )
        except FormulaError as error:
            raise BatchError(
                f"{error} Pipeline {self.pipeline.name} needs a size for every output and image: "
                "give estimates where it is defined, and a default for each scalar on which the "
                "sizes of Funcs depend (if it is of Halide, an estimate, too)."
            ) from None

    def full(self, value: object) -> NDArray[np.float64]:
        """``value`` in the shape of the batch.

        Raises:
            BatchError: ``value`` is not numeric, or does not broadcast to this shape.
        """
        try:
            numbers = np.broadcast_to(np.asarray(value), self.shape)
            return numbers.astype(np.float64, casting="same_kind")
        except (TypeError, ValueError):
            raise BatchError(
                f"A batch of shape {self.shape} takes one number a choice, and what a cost model "
                f"gives for it is {_describe(value)}."
            ) from None

    def schedule_at(self, index: int) -> Schedule:
        """The schedule of one choice, by its index in the flattened batch."""
        return bind(self.schedule, self.values_at(index))

    def values_at(self, index: int) -> dict[str, int]:
        """The parameters of one choice, by its index in the flattened batch."""
        place = np.unravel_index(index, self.shape) if self.shape else ()
        return {
            name: int(np.broadcast_to(column, self.shape)[place])
            for name, column in self.columns.items()
        }


def _describe(value: object) -> str:
    shape = getattr(value, "shape", None)
    return f"of type {type(value).__name__}" + (f" and shape {shape}" if shape is not None else "")
