"""The report of a replay: wrong accesses, and outputs that differ from the reference."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Literal, TypeAlias

from attrs import frozen

from spaces.model.amounts import named_numbers
from spaces.model.showing import outline

Number: TypeAlias = int | float
"""An element of a buffer; a boolean is 0 or 1."""

Action: TypeAlias = Literal["read", "write", "barrier"]
"""The action of a statement at a place; threads wait at a barrier."""

Coordinate: TypeAlias = tuple[int, ...]
"""Innermost first; in the flat memory of a kernel, the one index."""


class FaultKind(StrEnum):
    """The kinds of wrong accesses."""

    OUTSIDE = "outside of its allocation"
    UNWRITTEN = "never computed"
    OVERWRITTEN = "overwritten"
    RACE = "race"
    DIVERGED = "divergent barrier"


@frozen
class Fault:
    """An access that a correct program does not make.

    Attributes:
        kind: the kind of the fault.
        access: whether it reads, writes or waits.
        buffer: the accessed Func or image; for a barrier, the kernel.
        coordinate: the coordinate, innermost first; in a kernel, the flat index.
        iteration: the loop variables, by name, outermost first.
        detail: a clause that says what is wrong there.
        obtained: the value read or written.
        expected: the value of the reference there; None if it is not known.
        order: the order in which concurrent iterations ran; empty without concurrent iterations.
    """

    kind: FaultKind
    access: Action
    buffer: str
    coordinate: Coordinate
    iteration: Mapping[str, int]
    detail: str
    obtained: Number | None = None
    expected: Number | None = None
    order: str = ""

    def __str__(self) -> str:
        place = f"{self.buffer}({', '.join(map(str, self.coordinate))})"
        if self.kind is FaultKind.DIVERGED:
            place = f"a barrier of {self.buffer}"
        verb = {"read": "is read", "write": "is written", "barrier": "is reached"}[self.access]
        where = named_numbers(self.iteration)
        text = f"{place} {verb}" + (f" at {where}" if where else "") + f", but {self.detail}"
        if self.access == "read" and self.obtained is not None:
            text += f": {self.obtained} is obtained"
            text += "" if self.expected is None else f", {self.expected} expected"
        return f"{text}{_in_order(self.order)}."


def _in_order(order: str) -> str:
    return f" ({order})" if order else ""


@frozen
class WrongValue:
    """An output that differs from the reference, first seen at ``coordinate``.

    Attributes:
        wrong: how many of its ``elements`` differ.
        obtained: the value there; None if nothing was written.
    """

    output: str
    coordinate: Coordinate
    obtained: Number | None
    expected: Number
    wrong: int
    elements: int
    order: str

    def __str__(self) -> str:
        found = "is never written" if self.obtained is None else f"is {self.obtained}"
        return (
            f"{self.output}({', '.join(map(str, self.coordinate))}) {found}, where the reference "
            f"has {self.expected}; {self.wrong} of {self.elements} values of {self.output} are "
            f"wrong{_in_order(self.order)}."
        )


@frozen(repr=False)
class Replay:
    """The result of running a program unchecked.

    Attributes:
        sizes: the sizes and parameters it ran with.
        orders: the orders in which its concurrent loops ran to the end.
        faults: wrong accesses; of similar ones only the first.
        wrong: outputs that differ from the reference, each at its first difference.
        limit: why the replay ended early, as a sentence; empty if it did not.
    """

    sizes: Mapping[str, int]
    orders: tuple[str, ...]
    faults: tuple[Fault, ...]
    wrong: tuple[WrongValue, ...]
    limit: str = ""

    def __repr__(self) -> str:
        return outline(self)

    @property
    def shows_a_mistake(self) -> bool:
        """Whether an access is wrong or an output differs from the reference."""
        return bool(self.faults or self.wrong)

    def __str__(self) -> str:
        lines = [*map(str, self.faults), *map(str, self.wrong)]
        if self.limit:
            lines.append(self.limit)
        elif not lines:
            lines = ["Every access is right, and the outputs are those of the reference."]
        elif not self.wrong:
            lines.append("The outputs are those of the reference all the same.")
        return "\n".join(lines)
