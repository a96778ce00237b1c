"""The answer of ``verify``: a checked schedule, or all its violations."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, TypeAlias

from attrs import field, frozen

from spaces.constraints.devices.device import Device
from spaces.constraints.legality.advise import advise
from spaces.constraints.legality.placed_violations import placed_violations
from spaces.constraints.rules.findings import Advice, Violation, sentence_at, stated_under
from spaces.constraints.rules.records import Records
from spaces.constraints.rules.rounding import Rounding, roundings
from spaces.constraints.rules.rule import Check
from spaces.constraints.sizes.kernels import Kernel, kernels
from spaces.markup.card import Card, Listing, Styled, card, few, more, paragraph
from spaces.markup.shows_card import ShowsCard
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.amounts import amount
from spaces.model.expressions.expr import Expr
from spaces.model.formulas.algebra import evaluate
from spaces.model.nest.bounds import Bounds
from spaces.model.nest.loopnest import LoopNest, assemble
from spaces.model.schedules.schedule import Schedule
from spaces.model.showing import few_lines
from spaces.model.suggestions import some_of

_SHOWN = 12
"""The most violations, or pieces of advice, on a card."""


@frozen(repr=False)
class SizeCondition:
    """A condition on the sizes of a call under which a rule holds.

    ``condition`` is over size variables (``out.extent.0``) and scalar parameters.
    """

    rule: str
    check: Check

    @property
    def func(self) -> str:
        """The Func whose schedule needs the condition."""
        return self.check.func

    @property
    def condition(self) -> Expr:
        """The condition that must hold."""
        return self.check.holds

    @property
    def message(self) -> str:
        """The message for a call that fails the condition; unknown numbers appear as formulas."""
        return sentence_at(self.check, {})

    def __repr__(self) -> str:
        return f"<SizeCondition {self.rule}: {self.condition}>"


@frozen(repr=False)
class CheckedSchedule(ShowsCard):
    """A schedule that is legal for a device; only ``verify`` makes one.

    Attributes:
        bounds: where each Func is computed and stored, with the regions.
        size_conditions: the conditions on the sizes of a call.
        cases: each case of a schedule with specializations. ``bounds`` belongs to the last case, in
            which no condition holds.
    """

    pipeline: Pipeline
    schedule: Schedule
    device: Device
    bounds: Bounds = field(repr=False, eq=False)
    size_conditions: tuple[SizeCondition, ...] = field(default=(), repr=False)
    cases: tuple[CheckedSchedule, ...] = field(default=(), repr=False)

    @property
    def legal(self) -> bool:
        """True."""
        return True

    @property
    def violations(self) -> tuple[Violation, ...]:
        """None."""
        return ()

    def at(self, values: Mapping[str, int]) -> CheckedSchedule:
        """The case whose assumptions hold at these sizes and parameters."""
        for case in self.cases:
            if all(evaluate(condition, values) for condition in case.bounds.assumptions):
                return case
        return self

    @cached_property
    def nest(self) -> LoopNest:
        """The loop nest: the meaning of the schedule as a tree."""
        return assemble(self.bounds)

    @cached_property
    def advice(self) -> tuple[Advice, ...]:
        """The directives without an effect, or with an unexpected one, at the estimated sizes.
        Advice on only some of several cases names their conditions.
        """
        if self.cases:
            every = dict.fromkeys(one for case in self.cases for one in case.advice)
            return tuple(advice for one in every for advice in self._with_its_cases(one))
        return advise(self.bounds, self.device)

    def _with_its_cases(self, advice: Advice) -> tuple[Advice, ...]:
        """Advice on every case as it stands; other advice with the condition of its case."""
        about = [case for case in self.cases if advice in case.advice]
        if len(about) == len(self.cases):
            return (advice,)
        return tuple(stated_under(advice, case.bounds.assumptions) for case in about)

    @cached_property
    def rounding(self) -> tuple[Rounding, ...]:
        """The directives that let a stage combine floats in another order than the algorithm."""
        if self.cases:
            return tuple(dict.fromkeys(one for case in self.cases for one in case.rounding))
        return roundings(Records(self.pipeline, self.schedule, self.device))

    @property
    def is_exact(self) -> bool:
        """Whether results equal those of the algorithm bit for bit: always for integers, and for
        floats if the compiled code rounds each operation as written. The processor decides the bits
        of a NaN and the last places of functions such as ``exp`` and ``sin``. If false,
        ``rounding`` says where results may differ.
        """
        return not self.rounding

    @cached_property
    def kernels(self) -> tuple[Kernel, ...]:
        """The GPU kernels with their resources; for several cases, those of each case in turn."""
        if self.cases:
            return tuple(kernel for case in self.cases for kernel in case.kernels)
        return kernels(self.bounds)

    def __bool__(self) -> bool:
        return True

    def __str__(self) -> str:
        head = f"The schedule of {self.pipeline.name} is legal for {self.device.name}."
        if not self.advice:
            return head
        return f"{head}\nAdvice:\n" + few_lines((f"  {one}" for one in self.advice), rest="pieces")

    def _card(self) -> Card:
        advice = few(((str(one),) for one in self.advice), _SHOWN, "pieces of advice")
        exact = "; its results are exact" if self.is_exact else f"; {self.rounding[0]}"
        answer = paragraph(Styled("ok", "legal"), exact)
        schedule = Listing(str(self.schedule))
        about = f"for {self.device.name}"
        return card(f"Schedule of {self.pipeline.name}", about, answer, schedule, advice)

    def __repr__(self) -> str:
        return f"<CheckedSchedule of {self.pipeline.name} for {self.device.name}>"

    def json(self) -> dict[str, Any]:
        """The verdict and the advice as a dictionary of JSON's types."""
        return {
            "legal": True,
            "violations": [],
            "advice": [a.json() for a in self.advice],
            "exact": self.is_exact,
            "rounding": [one.json() for one in self.rounding],
        }


@frozen
class JudgedSchedule:
    """What was judged."""

    pipeline: Pipeline
    schedule: Schedule
    device: Device


@frozen(repr=False)
class Illegal(ShowsCard):
    """A schedule that is not legal, with all violations.

    Attributes:
        violations: the violations.
        judged: what ``verify`` judged; None if something else made the verdict.
    """

    violations: tuple[Violation, ...]
    judged: JudgedSchedule | None = field(default=None, eq=False)

    @property
    def legal(self) -> bool:
        """False."""
        return False

    @property
    def advice(self) -> tuple[Advice, ...]:
        """Always empty: only legal schedules get advice."""
        return ()

    def __bool__(self) -> bool:
        return False

    def __str__(self) -> str:
        return few_lines(map(str, self.violations), rest="violations")

    def _card(self) -> Card:
        count = len(self.violations)
        answer = paragraph(Styled("bad", "illegal"), f": {amount(count, 'violation')}")
        judged = self.judged
        schedule = judged.schedule if judged else None
        placed = placed_violations(self.violations[:_SHOWN], schedule)
        title = f"Schedule of {judged.pipeline.name}" if judged else "Verdict"
        about = f"for {judged.device.name}" if judged else ""
        return card(title, about, answer, placed, more(count, _SHOWN, "violations"))

    def __repr__(self) -> str:
        rules = some_of(list(dict.fromkeys(violation.rule for violation in self.violations)))
        return f"<Illegal: {amount(len(self.violations), 'violation')} of {rules}>"

    def json(self) -> dict[str, Any]:
        """The verdict as a dictionary of JSON's types."""
        return {"legal": False, "violations": [v.json() for v in self.violations]}


Verdict: TypeAlias = CheckedSchedule | Illegal
