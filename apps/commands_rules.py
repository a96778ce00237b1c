"""``spaces rules``: what makes a schedule illegal, and what is advised of legal ones."""

from __future__ import annotations

import inspect
import json
from collections.abc import Sequence
from typing import Annotated

import typer

from apps.commands import command
from apps.console import heading, line, table
from apps.errors import WrongUsage
from apps.options import AsJson
from spaces.constraints.rules.catalogue import ADVICE, RULES, rule
from spaces.constraints.rules.rule import AdviceRule, Rule

RuleId = Annotated[
    str, typer.Argument(metavar="[ID]", help="A rule such as order.factor; all, where left out.")
]


@command("rules")
def rules(id: RuleId = "", as_json: AsJson = False) -> None:
    """List the rules of legality and the kinds of advice; or tell all of one."""
    chosen = (_named(id),) if id else (*RULES, *ADVICE)
    if as_json:
        found = [_json(each) for each in chosen]
        line(json.dumps(found[0] if id else found, indent=2))
    elif id:
        _whole(chosen[0])
    else:
        _listed("rule", RULES)
        line("")
        _listed("advice", ADVICE)


def _named(id: str) -> Rule | AdviceRule:
    try:
        return rule(id)
    except KeyError as error:
        raise WrongUsage(error.args[0]) from None


def _listed(kind: str, chosen: Sequence[Rule | AdviceRule]) -> None:
    table((kind, "statement", "source"), [(r.id, r.statement, r.source) for r in chosen])


def _whole(chosen: Rule | AdviceRule) -> None:
    heading(chosen.id)
    line(chosen.statement)
    line(f"Source: {chosen.source}")
    line(f"Asked: {_asked(chosen)}")
    for name, unit in chosen.units.items():
        line(f"Quantity {name}: in {unit}")


def _asked(chosen: Rule | AdviceRule) -> str:
    """When and how often a rule is asked, as its function says."""
    return " ".join((inspect.getdoc(chosen.check) or "").split())


def _json(chosen: Rule | AdviceRule) -> dict[str, object]:
    return {
        "id": chosen.id,
        "kind": "advice" if isinstance(chosen, AdviceRule) else "rule",
        "statement": chosen.statement,
        "source": chosen.source,
        "asked": _asked(chosen),
        "units": dict(chosen.units),
    }
