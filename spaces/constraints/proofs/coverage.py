"""Coverage: every value is computed before it is read.

The proof has three parts. Each stage visits every point of its domain; the proof names the
iteration. Each read lies in the box that is required of the Func in the same iteration of the loops
around it. Where an update reads its own Func, this is shown only for points that are asked for. And
the required box is computed there, or an earlier iteration of a sliding window required it
(:mod:`spaces.constraints.obligations.sliding`).
"""

from __future__ import annotations

from collections.abc import Iterator

from spaces.constraints.obligations.obligation import obligation
from spaces.constraints.obligations.points import free_names, in_box, point_of
from spaces.constraints.obligations.records import Obligation
from spaces.constraints.obligations.sites import (
    Access,
    Site,
    Subject,
    common_depth,
    coordinates,
    encloses,
    loops_of,
)
from spaces.constraints.proofs.witness import Span, witness
from spaces.constraints.reasoning.formulas import FALSE, all_of, equal, within
from spaces.constraints.rules.phrases import stage_name
from spaces.model.algorithm.pipeline import size_variable
from spaces.model.expressions.expr import Expr
from spaces.model.expressions.rewrite import substitute
from spaces.model.nest.loopnest import Loop


def coverage(subject: Subject) -> Iterator[Obligation]:
    """One obligation for each stage, and one for each read of a Func."""
    for func in dict.fromkeys((*subject.productions, *subject.nest.pipeline.outputs)):
        yield from _stages(subject, func)
    for func in subject.nest.pipeline.outputs:
        if subject.nest.schedule.of(func).bounds:
            yield _whole(subject, func)
    for site in subject.sites:
        for read in site.reads:
            if read.buffer not in subject.images:
                yield _covered(subject, site, read)


def _stages(subject: Subject, func: str) -> Iterator[Obligation]:
    """Every stage runs once in the production of its Func, after the earlier stages."""
    path = subject.productions.get(func, ())
    turn: tuple[int, ...] = ()
    for index in range(len(subject.nest.placements[func].stages)):
        sites = [s for s in subject.of(func) if s.compute.stage == index]
        place = sites[0].path if len(sites) == 1 else ()  # a second run would update again
        inside = tuple(step.index for step in place[len(path) :])
        if not path or place[: len(path)] != path or inside <= turn:
            yield _out_of_turn(subject, func, index)
        else:
            turn = inside
            yield _visits(subject, sites[0])


def _whole(subject: Subject, func: str) -> Obligation:
    """The whole output lies within its explicit bounds, which the nest computes."""
    placement = subject.nest.placements[func]
    point = point_of(func, placement.function.args)
    values = tuple(point.values())
    ends = (
        (low, low + size_variable(func, "extent", d) - 1)
        for d in range(len(values))
        for low in (size_variable(func, "min", d),)
    )
    inside = [c for v, pair in zip(values, ends, strict=True) for c in within(v, *pair)]
    return obligation(
        subject,
        "coverage",
        (func, 0),
        f"The whole output {func} lies within its explicit bounds.",
        (*subject.known.common, *inside),
        all_of(in_box(subject, values, placement.storage.target)),
        func,
        values,
        exact=False,
        free=free_names(point),
    )


def spans_of(subject: Subject, func: str, stage: int) -> dict[str, Span]:
    """For each Var and RVar of a stage the first value and the number of values in one visit."""
    placement = subject.nest.placements[func]
    formula = subject.opaque.formula
    definition = placement.function.stages[stage]
    target = dict(zip(placement.function.args, placement.storage.target, strict=True))
    spans = {}
    for name in definition.pure_vars:
        low, high = target[name].min, target[name].max
        if low is not None and high is not None:
            spans[name] = (formula(low), formula(high) - formula(low) + 1)
    for rvar in definition.rvars:
        spans[rvar.name] = (formula(rvar.min), formula(rvar.extent))
    return spans


def _visits(subject: Subject, site: Site) -> Obligation:
    """The iteration that :func:`witness` names visits the point, for every point of a stage."""
    compute = site.compute
    func, index = compute.func, compute.stage
    placement = subject.nest.placements[func]
    definition = placement.function.stages[index]
    outer = loops_of(subject.productions[func])
    own = site.loops[len(outer) :]
    point = point_of(func, definition.dimensions)
    spans = spans_of(subject, func, index)
    hypotheses = [*subject.known.common, *subject.ranges(outer)]
    hypotheses.append(subject.opaque.formula(placement.when))
    for name, value in point.items():
        low, extent = spans[name]
        hypotheses += within(value, low, low + extent - 1)
    order = subject.nest.schedule.of(func).stages[index]
    found = witness(definition, order, index > 0, spans, point)
    formula = subject.opaque.formula
    later = {one.loop: one.shift for one in placement.stages[index].joined}
    values = {
        loop.var.name: found[loop.loop] + formula(later[loop.loop])
        if loop.loop in later
        else found[loop.loop]
        for loop in own
        if loop.loop in found
    }
    runs = [substitute(c, values) for loop in own for c in subject.range(loop)]
    runs += [substitute(g, values) for g in site.guards]
    visited = coordinates(subject, site)
    same = [equal(substitute(formula(visited[n]), values), point[n]) for n in definition.dimensions]
    where = " and ".join(definition.dimensions)
    return obligation(
        subject,
        "coverage",
        site,
        f"{site.name} is computed at every required {where}."
        if where
        else f"{site.name} is computed.",
        hypotheses,
        all_of([*runs, *same]),
        func,
        tuple(formula(substitute(a, point)) for a in definition.args),
        exact=False,
        free=free_names(point),
    )


def _out_of_turn(subject: Subject, func: str, stage: int) -> Obligation:
    """A false obligation for a stage that is left out, repeated, or preceded by a later one."""
    name = stage_name(func, stage)
    return obligation(
        subject,
        "coverage",
        (func, stage),
        f"{name} is computed once where {func} is, in its turn among the stages.",
        subject.known.common,
        FALSE,
        func,
        (),
    )


def _covered(subject: Subject, site: Site, read: Access) -> Obligation:
    """A read lies in the box that is required of the Func there, and the Func comes before."""
    func = read.buffer
    placement = subject.nest.placements[func]
    statement = f"{site.name} reads {read.written} where {func} was computed before."
    before = _comes_before(subject, func, site)
    asks = subject.opaque.formula(placement.when)
    inside = all_of((asks, *in_box(subject, read.args, placement.required)))
    asked = asked_for(subject, site) if func == site.compute.func else ()
    return obligation(
        subject,
        "coverage",
        site,
        statement,
        (*subject.runs(site), *asked),
        inside if before else FALSE,
        func,
        read.args,
        exact=False,
    )


def asked_for(subject: Subject, site: Site) -> tuple[Expr, ...]:
    """The condition that an update is at a point of the box that is asked for. Whole tiles may
    reach beyond the box. There the update reads arbitrary values of its own Func and writes
    arbitrary ones; no Func reads those.
    """
    placement = subject.nest.placements[site.compute.func]
    pure = placement.function.stages[site.compute.stage].pure_vars
    at = coordinates(subject, site)
    target = dict(zip(placement.function.args, placement.storage.target, strict=True))
    point = tuple(subject.opaque.formula(at[name]) for name in pure)
    return in_box(subject, point, tuple(target[name] for name in pure))


def _comes_before(subject: Subject, func: str, site: Site) -> bool:
    """Whether the production of a Func ends before a computation runs, in the same iteration of the
    loops around it and in the same storage. It is true for updates of this Func, too.
    """
    production = subject.productions.get(func, ())
    storage = subject.allocations.get(func, ())
    is_stored = bool(storage) or func in subject.nest.pipeline.outputs
    kept = encloses(storage, production) and encloses(storage, site.path)
    if not (production and is_stored and kept):
        return False
    shared = common_depth(production, site.path)
    if shared == len(production):
        return site.compute.func == func
    inside = any(isinstance(step.node, Loop) for step in production[shared:])
    return not inside and production[shared].index < site.path[shared].index
