"""What ``verify`` answers: a checked schedule, or everything that is wrong with it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, TypeAlias

from attrs import field, frozen

from spaces.constraints.devices import Device
from spaces.constraints.kernels import Kernel, kernels
from spaces.constraints.rules.advice import Advice
from spaces.constraints.rules.rule import Check, Value
from spaces.model.expr import Expr
from spaces.model.loopnest import LoopNest, assemble
from spaces.model.pipeline import Pipeline
from spaces.model.placement import Bounds
from spaces.model.schedule import Schedule

Quantity: TypeAlias = int | str


@frozen
class Violation:
    """One rule that a schedule breaks.

    Attributes:
        rule: the rule's id.
        func: the Func whose schedule breaks it.
        stage: 0 for its pure stage, n for its update n - 1.
        loop: the loop, Var, dimension or image at fault, as written; empty where it is none.
        message: a sentence that says what is wrong, and one that says what to change.
        values: the quantities that clash, by name; a formula stands as text.
    """

    rule: str
    func: str
    stage: int
    loop: str
    message: str
    values: Mapping[str, Quantity] = field(factory=dict)

    def __str__(self) -> str:
        return f"{self.rule}: {self.message}"

    def json(self) -> dict[str, Any]:
        """As a dictionary of JSON's types."""
        return {
            "rule": self.rule,
            "func": self.func,
            "stage": self.stage,
            "loop": self.loop,
            "message": self.message,
            "values": dict(self.values),
        }


@frozen
class Requirement:
    """A condition on the sizes of a call under which a rule holds.

    ``condition`` is over size variables (``out.extent.0``) and scalar parameters.
    """

    rule: str
    check: Check

    @property
    def func(self) -> str:
        """The Func whose schedule needs it."""
        return self.check.func

    @property
    def condition(self) -> Expr:
        """What must hold."""
        return self.check.holds

    @property
    def message(self) -> str:
        """What is wrong with a call where it does not hold, with formulas for what is not known."""
        return told(self.check, {n: _plain(v) for n, v in self.check.values.items()})


def told(check: Check, values: Mapping[str, Quantity]) -> str:
    """The message and advice of a check with its quantities filled in."""
    return f"{check.message} {check.advice}".strip().format_map(values)


def _plain(value: Value) -> Quantity:
    return str(value) if isinstance(value, Expr) else value


@frozen
class CheckedSchedule:
    """A schedule that is legal for a device; only ``verify`` makes one.

    Attributes:
        bounds: where each Func is computed and stored, and the regions of both.
        requirements: what must hold of the sizes of a call.
        advice: what the schedule says without effect.
    """

    pipeline: Pipeline
    schedule: Schedule
    device: Device
    bounds: Bounds = field(repr=False, eq=False)
    requirements: tuple[Requirement, ...] = field(default=(), repr=False)
    advice: tuple[Advice, ...] = field(default=(), repr=False)

    @property
    def legal(self) -> bool:
        """True."""
        return True

    @property
    def violations(self) -> tuple[Violation, ...]:
        """None."""
        return ()

    @cached_property
    def nest(self) -> LoopNest:
        """What the schedule means, as a tree."""
        return assemble(self.bounds)

    @cached_property
    def kernels(self) -> tuple[Kernel, ...]:
        """The GPU kernels, with what each takes."""
        return kernels(self.bounds)

    def __bool__(self) -> bool:
        return True

    def json(self) -> dict[str, Any]:
        """The verdict as a dictionary of JSON's types."""
        return {"legal": True, "violations": []}


@frozen
class Illegal:
    """A schedule that is not legal, with all that is wrong with it."""

    violations: tuple[Violation, ...]

    @property
    def legal(self) -> bool:
        """False."""
        return False

    def __bool__(self) -> bool:
        return False

    def __str__(self) -> str:
        return "\n".join(map(str, self.violations))

    def json(self) -> dict[str, Any]:
        """The verdict as a dictionary of JSON's types."""
        return {"legal": False, "violations": [v.json() for v in self.violations]}


Verdict: TypeAlias = CheckedSchedule | Illegal
