"""The rules that a legal schedule was asked, with their numbers and the distance to the limits."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from spaces.constraints.legality.margins import Margin
from spaces.constraints.rules.findings import Advice
from spaces.markup.element import Child, Markup, joined, share_bar, tag
from spaces.markup.quantities import shown_share
from spaces.model.amounts import amount
from spaces.model.schedules.schedule import StageOf

_CHECKS = 40
"""How many checks of a rule the page lists."""


def rule_view(margins: Sequence[Margin], advice: Sequence[Advice]) -> Markup:
    """A row for each rule: how many checks held, and the one nearest to its limit."""
    groups = [list(found) for _, found in groupby(margins, lambda one: one.rule.id)]
    groups.sort(key=lambda group: -(group[0].used or 0.0))
    told = f"{amount(len(margins), 'check')} of {amount(len(groups), 'rule')} hold."
    pieces = [tag("p", tag("b", one.rule), f" {one.message}", class_="advice") for one in advice]
    return joined(tag("p", told), pieces, [_rule(group) for group in groups])


def _rule(group: list[Margin]) -> Markup:
    nearest = group[0]
    parts: list[Child] = [tag("code", nearest.rule.id), " ", _numbers(nearest)]
    if nearest.used is not None:
        parts += [" ", share_bar(nearest.used, "used"), " ", shown_share(nearest.used)]
    parts.append(tag("small", f" {amount(len(group), 'check')}"))
    checks = [tag("li", _place(one), " ", _numbers(one)) for one in group[:_CHECKS]]
    left = len(group) - _CHECKS
    more = tag("li", f"... and {left:,} more") if left > 0 else None
    statement = tag("p", nearest.rule.statement, " ", tag("small", nearest.rule.source))
    return tag("details", tag("summary", *parts), statement, tag("ul", checks, more), class_="rule")


def _place(margin: Margin) -> Markup:
    about = f", {margin.loop}" if margin.loop else ""
    return tag("span", f"{StageOf(margin.func, margin.stage)}{about}:", data_func=margin.func)


def _numbers(margin: Margin) -> str:
    if margin.value is None or margin.limit is None:
        told = ", ".join(f"{name} {value:,}" for name, value in margin.numbers.items())
        return f"holds ({told})" if told else "holds"
    bound = "at most" if margin.is_most else "at least"
    return f"{margin.value:,} ({bound} {margin.limit:,})"
