"""``spaces rules``: the rules that make a schedule illegal, and the advice for legal schedules."""

from __future__ import annotations

import inspect
import json
from collections.abc import Sequence
from typing import Annotated

import typer
from attrs import asdict

from spaces.apps.command_line.console import heading, line, table
from spaces.apps.command_line.program import AsJson, command
from spaces.apps.errors import WrongUsage
from spaces.constraints.rules.catalogue import ADVICE, RULES, rule
from spaces.constraints.rules.rule import AdviceRule, Rule
from spaces.model.suggestions import suggestion


def _ids(incomplete: str) -> list[str]:
    """The rules and subjects that begin so, for the shell."""
    ids = [one.id for one in (*RULES, *ADVICE)]
    return [
        i
        for i in dict.fromkeys([*(i.split(".")[0] for i in ids), *ids])
        if i.startswith(incomplete)
    ]


RuleId = Annotated[
    str,
    typer.Argument(
        metavar="[ID]",
        help="A rule such as order.factor, or a subject such as order; all if omitted.",
        autocompletion=_ids,
    ),
]


@command(
    "rules",
    "List the rules of legality and the advice, or show one.",
    "rules",
    "rules gpu",
    "rules gpu.shared-bytes",
)
def rules(id: RuleId = "", as_json: AsJson = False) -> None:
    """List the rules of legality and the advice, all or those of one subject; or show one rule
    whole.
    """
    every: tuple[Rule | AdviceRule, ...] = (*RULES, *ADVICE)
    chosen = [each for each in every if not id or _subject(each) == id]
    if chosen:
        _list(chosen, as_json)
        return
    only = _named(id)
    if as_json:
        line(json.dumps(_json(only), indent=2))
    else:
        _whole(only)


def _subject(chosen: Rule | AdviceRule) -> str:
    """The first part of an id, such as ``storage``."""
    return chosen.id.partition(".")[0]


def _named(id: str) -> Rule | AdviceRule:
    every: tuple[Rule | AdviceRule, ...] = (*RULES, *ADVICE)
    subjects = list(dict.fromkeys(map(_subject, every)))
    try:
        return rule(id)
    except KeyError:
        near = suggestion(id, [*subjects, *(each.id for each in every)], most=3)
        raise WrongUsage(
            f"There is no rule or subject {id!r}{near}; the subjects are "
            f"{', '.join(subjects)}, and `spaces rules` lists the rules."
        ) from None


def _list(chosen: Sequence[Rule | AdviceRule], as_json: bool) -> None:
    """Prints rules and advice as tables, the rules first, or as a JSON array."""
    if as_json:
        line(json.dumps([_json(each) for each in chosen], indent=2))
        return
    tables: list[tuple[str, Sequence[Rule | AdviceRule]]] = [
        ("rule", [r for r in chosen if isinstance(r, Rule)]),
        ("advice", [r for r in chosen if isinstance(r, AdviceRule)]),
    ]
    for place, (name, rows) in enumerate((name, rows) for name, rows in tables if rows):
        if place:
            line("")
        table((name, "statement", "source"), [(r.id, r.statement, r.source) for r in rows])


def _whole(chosen: Rule | AdviceRule) -> None:
    heading(chosen.id)
    line(chosen.statement)
    line(f"Source: {chosen.source}")
    line(f"Asked: {_question(chosen)}")
    for name, quantity in chosen.quantities.items():
        line(f"Quantity {name}: {quantity.definition}, in {quantity.unit}")


def _question(chosen: Rule | AdviceRule) -> str:
    """When and how often a rule is asked, from the docstring of its function."""
    return " ".join((inspect.getdoc(chosen.check) or "").split())


def _json(chosen: Rule | AdviceRule) -> dict[str, object]:
    return {
        "id": chosen.id,
        "kind": "advice" if isinstance(chosen, AdviceRule) else "rule",
        "statement": chosen.statement,
        "source": chosen.source,
        "asked": _question(chosen),
        "quantities": {name: asdict(one) for name, one in chosen.quantities.items()},
    }
