"""Definition: each computation equals the Func's definition at its coordinate.

The proof compares the value of a computation with the definition at that coordinate, node by node.
Integers that are calculated in different ways must be equal numbers.
"""

from __future__ import annotations

from collections.abc import Iterator

from spaces.constraints.obligations.obligation import obligation
from spaces.constraints.obligations.records import Obligation
from spaces.constraints.obligations.sites import Site, Subject, coordinates
from spaces.constraints.reasoning.formulas import FALSE, all_of, at_most, equal, less
from spaces.model.expressions.expr import Call, Expr, walk
from spaces.model.expressions.rewrite import substitute
from spaces.model.expressions.types import Int32


def definition(subject: Subject) -> Iterator[Obligation]:
    """One obligation for each computation."""
    for site in subject.sites:
        yield _as_defined(subject, site)


def _as_defined(subject: Subject, site: Site) -> Obligation:
    compute = site.compute
    stage = subject.nest.placements[compute.func].function.stages[compute.stage]
    formula = subject.opaque.formula
    at = coordinates(subject, site)
    conditions = [
        condition
        for value, defined in (
            *zip(compute.values, stage.values, strict=True),
            *zip(compute.predicates, stage.predicates, strict=False),
        )
        for condition in _same(subject, value, substitute(defined, at))
    ]
    if len(compute.predicates) != len(stage.predicates):
        conditions.append(FALSE)
    for written, defined in zip(compute.args, stage.args, strict=True):
        conditions.append(equal(formula(written), formula(substitute(defined, at))))
    for rvar in stage.rvars:
        value, low = formula(at[rvar.name]), formula(rvar.min)
        conditions += [at_most(low, value), less(value, low + formula(rvar.extent))]
    return obligation(
        subject,
        "definition",
        site,
        f"{site.name} takes the value of its definition at each coordinate that it writes.",
        subject.runs(site),
        all_of(conditions),
        compute.func,
        site.write.args,
        exact=FALSE not in conditions,
    )


def _same(subject: Subject, value: Expr, defined: Expr) -> Iterator[Expr]:
    """Conditions under which two values are the same; literally false if their forms differ.

    Coordinates are simplified; the arithmetic of a value stays as written.
    """
    formula = subject.opaque.formula
    pairs, seen = [(value, defined)], set()
    while pairs:
        a, b = pairs.pop()
        if a is b or (a, b) in seen:
            continue
        seen.add((a, b))
        if isinstance(a, Call) and isinstance(b, Call) and a.buffer == b.buffer:
            yield from (equal(formula(x), formula(y)) for x, y in zip(a.args, b.args, strict=True))
        elif a.type == b.type == Int32 and not any(isinstance(n, Call) for n in walk(a, b)):
            yield equal(formula(a), formula(b))
        elif _alike(a, b):
            pairs += zip(a.children, b.children, strict=True)
        else:
            yield FALSE


def _alike(a: Expr, b: Expr) -> bool:
    """Whether two expressions are the same except for their operands."""
    same_shape = type(a) is type(b) and len(a.children) == len(b.children) > 0
    return same_shape and a.with_children(b.children) is b
