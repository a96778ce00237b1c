"""Races: concurrent iterations never write the same place, and none reads a place that another
writes.

An obligation takes two different iterations of a concurrent loop, and two copies of all loops
inside it. Storage allocated inside the loop is private to an iteration. Barriers order the accesses
of a block's threads to shared memory between loops; these obligations are about one loop.

Lanes of a vectorized loop run in step, and every lane reads before any lane writes. So an access by
one lane and a later write by another are wrong only if this order differs from the order of the
loops.

The iterations of an atomic stage change an element one at a time, in any order. The order does not
matter, because the operator is associative and commutative.

A Func without updates has one value at a coordinate, so that overlapping iterations (tiles that
shift inwards) write the same value to the same place. For it, different coordinates must have
different places. The same holds for writes of a pure definition before updates.
"""

from __future__ import annotations

from collections.abc import Iterator

from spaces.constraints.obligations.folding import same_place
from spaces.constraints.obligations.obligation import obligation
from spaces.constraints.obligations.records import Obligation
from spaces.constraints.obligations.sites import (
    Access,
    Site,
    Subject,
    TreePath,
    all_paths,
    encloses,
)
from spaces.constraints.reasoning.formulas import (
    TRUE,
    Second,
    all_of,
    any_of,
    different,
    equal,
    less,
    negation,
    precedes,
)
from spaces.model.expressions.expr import Expr
from spaces.model.nest.loopnest import Loop
from spaces.model.nest.traversal import LoopVar
from spaces.model.schedules.domain_order import LoopKind


def races(subject: Subject) -> Iterator[Obligation]:
    """One obligation for each loop whose iterations run concurrently, each write inside it and each
    access to the same storage.
    """
    for path in all_paths(subject.nest.body):
        node = path[-1].node
        if isinstance(node, Loop) and node.var.kind.is_concurrent:
            inside = [s for s in subject.sites if encloses(path, s.path)]
            for site in inside:
                if not encloses(path, subject.allocations.get(site.compute.func, ())):
                    yield from _of_write(subject, path, site, inside)


def _of_write(
    subject: Subject, path: TreePath, site: Site, inside: list[Site]
) -> Iterator[Obligation]:
    write = site.write
    loop = path[-1].node
    assert isinstance(loop, Loop)
    entry = subject.nest.schedule.of(site.compute.func)
    for other in inside:
        same = (other.compute.func, other.compute.stage) == (site.compute.func, site.compute.stage)
        if same and site.compute.stage in entry.atomic:
            continue
        if other.compute.func == write.buffer and other.compute.stage >= site.compute.stage:
            yield _apart(subject, path, write, other.write)
        for read in other.reads:
            if read.buffer == write.buffer:
                yield _apart(subject, path, write, read)


def _apart(subject: Subject, path: TreePath, write: Access, access: Access) -> Obligation:
    """Two different iterations of the loop at ``path``: the first writes, the second writes or
    reads.
    """
    loop = path[-1].node
    assert isinstance(loop, Loop)
    depth = sum(isinstance(step.node, Loop) for step in path) - 1
    second = Second(x.var.name for x in access.site.loops[depth:])
    place = tuple(map(second, access.args))
    same = all_of(same_place(subject, write.buffer, write.args, place))
    reason = _one_value(subject, write, access)
    alike = all_of(equal(a, b) for a, b in zip(write.args, place, strict=True))
    goal = (
        TRUE
        if reason and alike is same
        else any_of((negation(same), alike))
        if reason
        else negation(same)
    )
    return obligation(
        subject,
        "race",
        write.site,
        _statement(loop.var, write, access, reason),
        (
            *subject.known.common,
            *subject.ranges(write.site.loops),
            *write.site.conditions,
            *map(second, subject.ranges(access.site.loops[depth:])),
            *map(second, access.site.conditions),
            _order(loop.var, depth, write, access, second),
        ),
        goal,
        write.buffer,
        write.args,
        second=second,
    )


def _order(loop: LoopVar, depth: int, write: Access, access: Access, second: Second) -> Expr:
    """The condition under which two iterations may clash: always for threads; for lanes if the
    loops run them in another order.
    """
    first, other = loop.var, second(loop.var)
    same_site = write.site is access.site
    if loop.kind is not LoopKind.VECTORIZED or not same_site:
        return less(first, other) if write is access else different(first, other)
    inner = [x.var for x in write.site.loops[depth + 1 :] if not x.kind.is_concurrent]
    steps, others = tuple(inner), tuple(map(second, inner))
    later = all_of((less(first, other), precedes(others, steps, or_equal=True)))
    if access.is_write:
        return later
    return any_of((later, all_of((less(other, first), precedes(steps, others)))))


def _one_value(subject: Subject, write: Access, access: Access) -> str:
    """The reason why both accesses see the same value at a coordinate; empty if they may not."""
    if subject.nest.placements[write.buffer].function.is_pure:
        return f"{write.buffer} has no updates"
    if access.is_write and write.site.compute.stage == access.site.compute.stage == 0:
        return "it is that of the pure definition"
    return ""


def _statement(loop: LoopVar, write: Access, access: Access, reason: str) -> str:
    does = "writes" if access.is_write else "reads"
    if reason:
        return (
            f"Iterations of {loop.func}.{loop.loop} ({loop.kind}): where {write.site.name} writes "
            f"{write.buffer} and {access.site.name} {does} the same place, it is the same "
            f"coordinate, whose value is the same, for {reason}."
        )
    return (
        f"Iterations of {loop.func}.{loop.loop} ({loop.kind}): {access.site.name} {does} no place "
        f"of {write.buffer} that {write.site.name} writes in another iteration."
    )
