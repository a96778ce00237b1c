"""Explains why no schedule of a universe is legal, by a minimal set of rules and menus."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

import z3
from attrs import frozen

from spaces.constraints.devices.device import Device
from spaces.constraints.rules.catalogue import rule
from spaces.constraints.rules.rule import RESTRICTION
from spaces.constraints.solver.clauses import CLOSED
from spaces.constraints.solver.encode import Encoded, Label, encode
from spaces.constraints.solver.restricted_cases import RestrictedCases
from spaces.constraints.solver.universe import Decision, Universe
from spaces.model.deadline import Deadline, OutOfTime
from spaces.model.formulas.smt import NO_TIMEOUT, Term


@frozen
class Emptiness:
    """Whether a universe has no legal schedule, and why.

    Attributes:
        answer: ``empty``; ``inhabited`` if there is a legal schedule; ``unknown`` if the time was
            up before, or if the universe is only a part of the space.
        rules: the rules, each about one Func, that exclude every schedule together with the menus.
        decisions: the decisions whose menus take part. Each rule and menu is necessary unless
            ``minimal`` is false: without the rule, or with any option in the menu, a schedule would
            be legal.
        minimal: whether the time sufficed to make the set minimal.
    """

    answer: Literal["empty", "inhabited", "unknown"]
    rules: tuple[Label, ...] = ()
    decisions: tuple[Decision, ...] = ()
    minimal: bool = True

    def __str__(self) -> str:
        if self.answer == "inhabited":
            return "The space is not empty."
        if self.answer == "unknown" and not self.rules:
            return "Whether the space is empty is unknown: the time was up."
        which = "" if self.answer == "empty" else " of whole patterns alone"
        lines = [f"No schedule{which} is legal. Together, this excludes all of them:"]
        lines += [f"  {_reason(label)}" for label in self.rules]
        lines += [f"  {_menu(decision)}" for decision in self.decisions]
        if self.decisions:
            lines.append("Another option for any of these decisions may help.")
        if not self.minimal:
            lines.append("Some of this may be needless: the time was up.")
        return "\n".join(lines)


def _reason(label: Label) -> str:
    if label.rule.startswith(RESTRICTION):
        return f"{label.rule}: a restriction of this space."
    return f"{label}: {rule(label.rule).statement}"


def _menu(decision: Decision) -> str:
    if not decision.options:
        return f"{decision.name} has no options."
    options = ", ".join(map(str, decision.options))
    return (
        f"{decision.name} is one of {options}."
        if len(decision.options) > 1
        else (f"{decision.name} is {options}.")
    )


def explain_empty(universe: Universe, device: Device, *, seconds: float = 10.0) -> Emptiness:
    """A minimal set of rules and menus that leaves a universe without a legal schedule.

    If there are several such sets, it finds one. Rules about the loop nest judge only structures
    that all other rules allow, so that both kinds may be among the reasons. A restriction stands
    without the rules that exclude only schedules which it excludes, too. ``seconds`` limits the
    time.
    """
    without = tuple(d for d in universe.decisions if not d.options)
    if without:
        return Emptiness("empty", (), without)
    deadline = Deadline.after(seconds)
    try:
        encoded = encode(universe, device, timeout_ms=NO_TIMEOUT, seconds=seconds)
    except TimeoutError:
        return Emptiness("unknown")
    always = [term for label, term in encoded.labels.items() if label.rule == CLOSED]
    reasons = [term for label, term in encoded.labels.items() if label.rule != CLOSED]
    assumed = {str(term): term for term in (*encoded.menus.values(), *reasons)}
    answer = _check(encoded, always, assumed, deadline)
    if answer != z3.unsat:
        return Emptiness("inhabited" if answer == z3.sat else "unknown")
    core = {str(term) for term in encoded.solver.unsat_core()}
    kept = {name: term for name, term in assumed.items() if name in core}
    restrictions = [one for one in encoded.labels if one.rule.startswith(RESTRICTION)]
    named = {str(one) for one in restrictions}
    kept, minimal = _without(encoded, always, kept, named & kept.keys(), deadline)
    needed = [one for one in restrictions if str(one) in kept]
    if needed:
        menus = {str(term): term for term in encoded.menus.values()}
        others = {str(label) for label in encoded.labels} & kept.keys() - named
        cases = RestrictedCases(encoded, needed)
        fewer, is_sure = _without(encoded, always, {**kept, **menus}, others, deadline, cases)
        minimal &= is_sure
        if others - fewer.keys():
            kept = fewer
    kept, is_sure = _without(encoded, always, kept, set(kept) - named, deadline)
    minimal &= is_sure
    rules = tuple(label for label in encoded.labels if str(label) in kept)
    names = {name for name, term in encoded.menus.items() if str(term) in kept}
    decisions = tuple(d for d in universe.decisions if d.name in names)
    return Emptiness("empty", rules, decisions, minimal)


def _without(
    encoded: Encoded,
    always: list[Term],
    kept: dict[str, Term],
    names: Collection[str],
    deadline: Deadline,
    cases: RestrictedCases | None = None,
) -> tuple[dict[str, Term], bool]:
    """Leaves out, one after another, the assertions of some names that are not needed. Returns the
    others, and whether the time sufficed to ask about each. ``cases`` may exclude further choices.
    """
    is_sure = True
    for name in sorted(names):
        fewer = {other: term for other, term in kept.items() if other != name}
        answer = _check(encoded, always, fewer, deadline)
        while answer == z3.sat and cases is not None:
            try:
                with deadline.kept():
                    if not cases.exclude():
                        break
            except OutOfTime:
                answer = z3.unknown
                break
            answer = _check(encoded, always, fewer, deadline)
        is_sure &= answer != z3.unknown
        if answer == z3.unsat:
            kept = fewer
    return kept, is_sure


def _check(
    encoded: Encoded, always: list[Term], assumed: dict[str, Term], deadline: Deadline
) -> Term:
    try:
        with deadline.kept():
            return encoded.ask(*always, *assumed.values())
    except OutOfTime:
        return z3.unknown
