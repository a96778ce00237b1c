"""Definition: each computation is the one that the Func's definition gives for its coordinate.

The value of a computation and the definition with that coordinate put in are compared node by
node; where both are index arithmetic of other form, they must be equal numbers.
"""

from __future__ import annotations

from collections.abc import Iterator

from spaces.constraints.proofs.formulas import FALSE, all_of, at_most, equal, less
from spaces.constraints.proofs.obligations import obligation
from spaces.constraints.proofs.records import Obligation
from spaces.constraints.proofs.sites import Site, Subject
from spaces.model.expr import Call, Expr
from spaces.model.rewrite import substitute
from spaces.model.types import Int32


def definition(subject: Subject) -> Iterator[Obligation]:
    """One obligation for each computation."""
    for site in subject.sites:
        yield _as_defined(subject, site)


def coordinates(subject: Subject, site: Site) -> dict[str, Expr]:
    """The Vars and RVars of a stage, over its loops: for a pure stage where it writes, for an
    update what bounds inference says.
    """
    placement = subject.nest.placements[site.compute.func]
    stage = placement.function.stages[site.compute.stage]
    if site.compute.stage == 0:
        return dict(zip(placement.function.args, site.compute.args, strict=True))
    visited = placement.stages[site.compute.stage].coordinates
    return {name: visited[name] for name in stage.dimensions}


def _as_defined(subject: Subject, site: Site) -> Obligation:
    compute = site.compute
    stage = subject.nest.placements[compute.func].function.stages[compute.stage]
    formula = subject.opaque.formula
    at = coordinates(subject, site)
    conditions = [
        equal(a, formula(substitute(b, at)))
        for a, b in zip(site.write.args, stage.args, strict=True)
    ]
    conditions += _same(subject, compute.value, substitute(stage.value, at))
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
    )


def _same(subject: Subject, value: Expr, defined: Expr) -> Iterator[Expr]:
    """Conditions under which two values are the same; literally false where their forms differ."""
    formula = subject.opaque.formula
    pairs, seen = [(value, defined)], set()
    while pairs:
        a, b = pairs.pop()
        if a is b or (a, b) in seen:
            continue
        seen.add((a, b))
        is_index = a.type == Int32 and b.type == Int32
        alike = type(a) is type(b) and len(a.children) == len(b.children)
        if isinstance(a, Call) and isinstance(b, Call) and a.target == b.target:
            yield from (equal(formula(x), formula(y)) for x, y in zip(a.args, b.args, strict=True))
        elif is_index and not (_reads(a) or _reads(b)):
            yield equal(formula(a), formula(b))
        elif alike and a.children and a.with_children(b.children) is b:
            pairs += zip(a.children, b.children, strict=True)
        else:
            yield FALSE


def _reads(expr: Expr) -> bool:
    stack = [expr]
    while stack:
        node = stack.pop()
        if isinstance(node, Call):
            return True
        stack.extend(node.children)
    return False
