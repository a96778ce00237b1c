"""Sliding windows: an iteration computes each required value, or an earlier iteration required it.

The proof is an induction over the loops between the storage of a Func and its computation: all
required values exist once an iteration has computed the Func. First iterations compute all of them.
A later iteration may leave a value out if the iteration before, of one of these loops, required it.
Only loops whose iterations run in sequence have an iteration before. Obligations about folding say
that the values are still in place.
"""

from __future__ import annotations

from collections.abc import Iterator

from spaces.constraints.obligations.obligation import obligation
from spaces.constraints.obligations.points import free_names, in_box, point_of
from spaces.constraints.obligations.records import Obligation
from spaces.constraints.obligations.sites import Subject, loops_of
from spaces.constraints.reasoning.formulas import Second, all_of, any_of, at_most
from spaces.model.expressions.expr import Expr
from spaces.model.expressions.rewrite import substitute
from spaces.model.nest.traversal import LoopVar


def sliding(subject: Subject) -> Iterator[Obligation]:
    """One obligation for each Func that computes less than it is required to provide."""
    for func in subject.productions:
        placement = subject.nest.placements[func]
        if placement.storage.target != placement.required:
            yield _kept(subject, func)
            if not placement.function.is_pure:
                yield from _only_new(subject, func)


def _only_new(subject: Subject, func: str) -> Iterator[Obligation]:
    """Kept values of a Func with updates are not initialized or updated again: each stage writes
    only new values along the sliding dimension.
    """
    placement = subject.nest.placements[func]
    args, target = placement.function.args, placement.storage.target
    moved_along = [args.index(slide.dimension) for slide in placement.storage.slides]
    for site in subject.of(func):
        written = tuple(site.write.args[d] for d in moved_along)
        yield obligation(
            subject,
            "sliding",
            site,
            f"{site.name} overwrites no kept value of {func}.",
            subject.runs(site),
            all_of(in_box(subject, written, tuple(target[d] for d in moved_along))),
            func,
            site.write.args,
        )


def _kept(subject: Subject, func: str) -> Obligation:
    placement = subject.nest.placements[func]
    point = point_of(func, placement.function.args)
    values = tuple(point.values())
    required = in_box(subject, values, placement.required)
    computed = all_of(in_box(subject, values, placement.storage.target))
    earlier = [
        all_of((exists, *(moved(c, before) for c in required)))
        for exists, before in steps_back(subject, func)
    ]
    loops = ", ".join(loop.loop for loop in subject.between(func)) or "no loop"
    return obligation(
        subject,
        "sliding",
        (func, 0),
        f"An earlier iteration of {loops} required each value that {func} does not compute again.",
        (*subject.known.common, *subject.ranges(loops_of(subject.productions[func])), *required),
        any_of((computed, *earlier)),
        func,
        values,
        exact=False,
        free=free_names(point),
    )


def steps_back(subject: Subject, func: str) -> Iterator[tuple[Expr, dict[str, Expr]]]:
    """For each loop between the storage and the computation of a Func, outermost first: the
    condition that there is an iteration before, and the loop variables in that iteration.
    """
    between = subject.between(func)
    for index, loop in enumerate(between):
        if not loop.kind.is_concurrent:
            before: dict[str, Expr] = {loop.var.name: loop.var - 1}
            yield all_of(_exists(subject, loop, between[index + 1 :], before)), before


def _exists(
    subject: Subject, loop: LoopVar, inner: tuple[LoopVar, ...], before: dict[str, Expr]
) -> Iterator[Expr]:
    yield at_most(subject.opaque.formula(loop.min), before[loop.var.name])
    for other in inner:
        for condition in subject.range(other):
            there = moved(condition, before)
            if there is not condition:
                yield there


def moved(condition: Expr, values: dict[str, Expr]) -> Expr:
    """A condition in another iteration, where it may read other values."""
    return Second()(substitute(condition, values))
