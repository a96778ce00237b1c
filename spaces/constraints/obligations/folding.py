"""Folding: no value that is still to be read is overwritten by another one at the same place.

A required value is in place once its iteration has computed the Func. Either that iteration
computed it, or it was in place in the iteration before, of one of the loops between storage and
computation. In both cases no later write may go to its place, except a write of the same value.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from spaces.constraints.obligations.obligation import obligation
from spaces.constraints.obligations.points import free_names, in_box, point_of
from spaces.constraints.obligations.records import Obligation
from spaces.constraints.obligations.sites import Site, Subject, loops_of
from spaces.constraints.obligations.sliding import moved, steps_back
from spaces.constraints.reasoning.formulas import Second, all_of, equal, negation, precedes
from spaces.model.expressions.expr import Expr
from spaces.model.expressions.rewrite import substitute
from spaces.model.nest.loopnest import Allocate
from spaces.model.nest.traversal import LoopVar


def folding(subject: Subject) -> Iterator[Obligation]:
    """For each computation of a Func with folded storage: one obligation about the iteration that
    writes, and one for each loop whose later iterations still need values.
    """
    for func in subject.productions:
        allocation = subject.allocation(func)
        if allocation is None or all(fold is None for fold in allocation.folds):
            continue
        for site in subject.of(func):
            yield _within_iteration(subject, func, site, allocation)
            yield from _across_iterations(subject, func, site, allocation)


def same_place(
    subject: Subject, buffer: str, a: tuple[Expr, ...], b: tuple[Expr, ...]
) -> tuple[Expr, ...]:
    """The condition that two coordinates have the same place, for each dimension."""
    allocation = subject.allocation(buffer)
    folds = (None,) * len(a) if allocation is None else allocation.folds
    conditions = []
    for x, y, fold in zip(a, b, folds, strict=True):
        if fold is None:
            conditions.append(equal(x, y))
        else:
            factor = subject.opaque.formula(fold)
            conditions.append(equal(x % factor, y % factor))
    return tuple(conditions)


def _within_iteration(subject: Subject, func: str, site: Site, allocation: Allocate) -> Obligation:
    """The writes of an iteration overwrite no value that is required there."""
    placement = subject.nest.placements[func]
    point = point_of(func, placement.function.args)
    outer = loops_of(subject.productions[func])
    written = Second(loop.var.name for loop in site.loops[len(outer) :])
    return _no_overlap(
        subject,
        site,
        point,
        tuple(written(a) for a in site.write.args),
        (
            *subject.known.common,
            *subject.ranges(outer),
            *in_box(subject, tuple(point.values()), placement.required),
            *map(written, subject.ranges(site.loops[len(outer) :])),
            *map(written, site.conditions),
        ),
        "in the iteration that requires them",
        allocation,
    )


def _across_iterations(
    subject: Subject, func: str, site: Site, allocation: Allocate
) -> Iterator[Obligation]:
    """The writes between an iteration and the one before overwrite no value that both require. For
    the innermost loop these are the writes of the iteration itself.
    """
    placement = subject.nest.placements[func]
    between = subject.between(func)
    outer = loops_of(subject.productions[func])
    around = outer[: len(outer) - len(between)]
    for loop, exists, before, deeper in _after_slides(subject, func):
        moving = Second(x.var.name for x in site.loops[len(around) :])
        point = point_of(func, placement.function.args)
        required = in_box(subject, tuple(point.values()), placement.required)
        now = tuple(x.var for x in between)
        earlier = tuple(substitute(x.var, before) for x in between)
        then = tuple(moving(x.var) for x in between)
        yield _no_overlap(
            subject,
            site,
            point,
            tuple(moving(a) for a in site.write.args),
            (
                *subject.known.common,
                *subject.ranges(outer),
                *required,
                exists,
                *(moved(c, before) for c in required),
                negation(all_of(in_box(subject, tuple(point.values()), placement.storage.target))),
                *(
                    negation(all_of((there, *(moved(c, step) for c in required))))
                    for there, step in deeper
                ),
                *map(moving, subject.ranges(site.loops[len(around) :])),
                *map(moving, site.conditions),
                precedes(earlier, then),
                precedes(then, now, or_equal=True),
            ),
            f"from one iteration of {loop.loop} to the next",
            allocation,
        )


_Step: TypeAlias = tuple[Expr, dict[str, Expr]]


def _after_slides(
    subject: Subject, func: str
) -> Iterator[tuple[LoopVar, Expr, dict[str, Expr], list[_Step]]]:
    """The loops over which values are kept, without the innermost; each with the step back along it
    and the loops inside it.
    """
    placement = subject.nest.placements[func]
    if placement.storage.target == placement.required:
        return
    between = {loop.var.name: loop for loop in subject.between(func)}
    steps = list(steps_back(subject, func))
    for index, (exists, before) in enumerate(steps):
        (name,) = before
        if between[name] is not subject.between(func)[-1]:
            yield between[name], exists, before, steps[index + 1 :]


def _no_overlap(
    subject: Subject,
    site: Site,
    point: dict[str, Expr],
    written: tuple[Expr, ...],
    hypotheses: tuple[Expr, ...],
    when: str,
    allocation: Allocate,
) -> Obligation:
    func = site.compute.func
    values = tuple(point.values())
    folded = [d for d, fold in enumerate(allocation.folds) if fold is not None]
    along = " and ".join(f"{list(point)[d]} modulo {allocation.folds[d]}" for d in folded)
    return obligation(
        subject,
        "folding",
        site,
        f"{site.name}, folded along {along}, overwrites no value still to be read {when}.",
        (*hypotheses, *same_place(subject, func, values, written)),
        all_of(equal(values[d], written[d]) for d in folded),
        func,
        values,
        exact=False,
        free=free_names(point),
    )
