"""The price of one schedule by a cost model, and the part of each Func."""

from __future__ import annotations

import math

from attrs import frozen

from spaces.constraints.legality.verdict import CheckedSchedule
from spaces.cost.batch import Batch
from spaces.cost.errors import PartName, PriceParts
from spaces.cost.model import CostFunction, CostModel, PartedModel
from spaces.cost.registry import cost_model, default_model
from spaces.features.features import Features
from spaces.markup.card import Card, Share, Table, WrittenNumber, card, more
from spaces.markup.shows_card import ShowsCard
from spaces.model.articles import shown_kind
from spaces.model.formulas.symbolic import as_array
from spaces.model.showing import few_lines, outline

_ROWS = 12
"""How many Funcs a card shows."""


@frozen
class PricePart:
    """A part of a price.

    Attributes:
        func: the Func that costs it.
        stage: 0 for its pure stage, n for its update n - 1.
        what: the kind of cost, such as ``compute`` or ``from_memory``.
        cost: how much, in the unit of the model.
    """

    func: str
    stage: int
    what: str
    cost: float


@frozen(repr=False)
class SchedulePrice(ShowsCard):
    """The price of one schedule by a cost model, at the estimates.

    Attributes:
        model: the name of the model.
        cost: the whole price; lower is better.
        parts: the parts of the price, the dearest first; empty for a model without parts.
    """

    model: str
    cost: float
    parts: tuple[PricePart, ...] = ()

    @property
    def by_part(self) -> dict[PartName, float]:
        """The cost of each part by Func, stage and kind, the dearest first."""
        return {(part.func, part.stage, part.what): part.cost for part in self.parts}

    @property
    def by_func(self) -> dict[str, float]:
        """The cost of each Func, the dearest first."""
        costs: dict[str, float] = {}
        for part in self.parts:
            costs[part.func] = costs.get(part.func, 0.0) + part.cost
        return dict(sorted(costs.items(), key=lambda item: -item[1]))

    def __str__(self) -> str:
        head = f"{self.cost:,.6g} by {self.model}"
        return few_lines([head, *map(self._line, self.by_func)], rest="Funcs")

    def _line(self, func: str) -> str:
        """``blur_x  12.3 %  1.2e+06: compute 8e+05, from_memory 4e+05``."""
        cost = self.by_func[func]
        sums: dict[str, float] = {}
        for part in self.parts:
            if part.func == func:
                sums[part.what] = sums.get(part.what, 0.0) + part.cost
        share = cost / self.cost if self.cost and math.isfinite(self.cost) else 0.0
        told = ", ".join(f"{what} {number:,.3g}" for what, number in sums.items() if number)
        width = max(map(len, self.by_func))
        return f"  {func:{width}}  {share:6.1%}  {cost:,.4g}" + (f": {told}" if told else "")

    def _card(self) -> Card:
        total = self.cost if self.cost and math.isfinite(self.cost) else math.inf
        rows = [
            (f, c, WrittenNumber(f"{c / total:.1%}"), Share(c / total))
            for f, c in self.by_func.items()
        ]
        told = Table(("Func", "cost", "share", ""), tuple(rows[:_ROWS])) if rows else None
        left = more(len(rows), _ROWS, "Funcs")
        return card("Price", f"{self.cost:,.6g} by {self.model}", told, left)

    def __repr__(self) -> str:
        return outline(self)


def price(
    checked: CheckedSchedule, model: str | CostModel | CostFunction | None = None
) -> SchedulePrice:
    """The price of a legal schedule at the estimates of its pipeline, with its parts.

    The models of the library have parts. One of your own has them with a method ``parts(features)``
    (:class:`~spaces.cost.model.PartedModel`).

    Args:
        checked: what :func:`verify` returns for a legal schedule.
        model: a cost model, its name, or a function of a batch; by default :func:`default_model`.

    Raises:
        UnknownModelError: no model has this name.
        ValueError: the model does not model the device.
        BatchError: the model gives no number, or an output has no estimate.
        TypeError: something else is given than a legal schedule.

    >>> print(price(verify(pipeline, schedule, device("cpu"))))
    """
    if not isinstance(checked, CheckedSchedule):
        raise TypeError(
            f"price takes what verify returns for a legal schedule, not {shown_kind(checked)}."
        )
    made = cost_model(default_model(checked.device) if model is None else model, checked.device)
    batch = Batch.of(checked.pipeline, checked.schedule)
    cost = float(batch.full(made.cost(batch)))
    parts = read_parts(made, batch.features) if isinstance(made, PartedModel) else {}
    found = sorted((PricePart(*name, one) for name, one in parts.items()), key=lambda p: -p.cost)
    return SchedulePrice(name_of_model(model or default_model(checked.device)), cost, tuple(found))


def name_of_model(model: str | CostModel | CostFunction) -> str:
    """What a reader calls a cost model: its name, or that of its function or class."""
    return model if isinstance(model, str) else getattr(model, "__name__", type(model).__name__)


def read_parts(model: PartedModel, features: Features) -> PriceParts:
    """The parts of the price of one schedule."""
    return {
        (func, stage, what): float(as_array(cost))
        for (func, stage), costs in model.parts(features).items()
        for what, cost in costs.items()
    }
