"""Makes obligations and sorts their variables by meaning."""

from __future__ import annotations

from collections.abc import Iterable

from spaces.constraints.obligations.records import Obligation, ObligationKind
from spaces.constraints.obligations.sites import Site, Subject
from spaces.constraints.reasoning.formulas import SECOND, Second
from spaces.model.expressions.expr import Expr
from spaces.model.expressions.rewrite import variables


def obligation(
    subject: Subject,
    kind: ObligationKind,
    site: Site | tuple[str, int],
    statement: str,
    hypotheses: Iterable[Expr],
    goal: Expr,
    buffer: str,
    coordinate: tuple[Expr, ...],
    exact: bool = True,
    free: frozenset[str] = frozenset(),
    second: Second | None = None,
) -> Obligation:
    """An obligation about one stage. Variables that are neither loops, copies of loops, values nor
    ``free`` (coordinates) are sizes. All copies belong to one ``second`` iteration.
    """
    given = tuple(hypotheses)
    names = variables(*given, goal, *coordinate)
    known = subject.opaque.known(names, second)
    if known:
        given = (*given, *known)
        names = variables(*given, goal, *coordinate)
    loops, values = subject.loop_names, subject.opaque.meaning
    bare = {name: name.removesuffix(SECOND) for name in names}
    func, stage = site if isinstance(site, tuple) else (site.compute.func, site.compute.stage)
    others = {*loops, *values, *free}
    return Obligation(
        kind=kind,
        func=func,
        stage=stage,
        statement=statement,
        hypotheses=given,
        goal=goal,
        buffer=buffer,
        coordinate=coordinate,
        sizes=tuple(sorted(n for n in names if bare[n] not in others)),
        iteration=tuple(n for n in names if n in loops),
        other=tuple((n, bare[n]) for n in names if n not in loops and bare[n] in loops),
        opaque=tuple((n, values[bare[n]]) for n in names if bare[n] in values),
        exact=exact,
    )
