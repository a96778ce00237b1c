"""The requirements of an algorithm on its values, checked wherever they are computed."""

from __future__ import annotations

from typing import Any

import numpy as np
from attrs import frozen

from spaces.backend.arguments import Array, RequirementError
from spaces.backend.reference.formula import Environment, Formula, Read
from spaces.model.algorithm.required import Requirement, required
from spaces.model.expressions.expr import Call, Expr, Variable, walk
from spaces.model.expressions.message import shown


@frozen
class Requirements:
    """The conditions inside some expressions."""

    conditions: tuple[Requirement, ...]

    @staticmethod
    def of(*roots: Expr) -> Requirements:
        """The requirements inside ``roots``."""
        return Requirements(tuple(required(*roots)))

    def check(self, env: Environment, read: Read) -> None:
        """Checks the requirements at the points of ``env``.

        Raises:
            RequirementError: a requirement does not hold. The message shows the values that it
                names, at the first such point.
        """
        for one in self.conditions:
            named = [n for n in walk(one.condition) if isinstance(n, Variable | Call)]
            parts = one.values
            holds, *values = Formula((one.condition, *parts, *named)).values(env, read)
            if not np.all(holds):
                first = np.unravel_index(int(np.argmin(holds)), np.shape(holds))
                numbers = [_at(v, np.shape(holds), first) for v in values]
                texts = [shown(e.type, n) for e, n in zip(parts, numbers, strict=False)]
                message = one.message.filled(texts).rstrip(".")
                here = zip(named, numbers[len(parts) :], strict=True)
                raise RequirementError(
                    f"{message}. Here {', '.join(f'{n} is {v}' for n, v in here)}."
                )


def _at(value: Array, shape: tuple[int, ...], point: tuple[np.intp, ...]) -> Any:
    return np.broadcast_to(value, shape)[point]
