"""Races: iterations that run at once neither write the same place, nor does one read what another
writes.

Of a loop whose iterations run at once two different ones are taken, and all loops inside it twice.
Storage allocated inside the loop is private to an iteration. What different threads of a block do
one after the other to shared memory is ordered by barriers and is no matter of one loop.

Lanes of a vectorized loop go through the loops inside it in step, and every lane has read before
any lane writes. An access by one lane and a later write by another are therefore wrong only where
this order is another than that of the loops.

Where a stage is atomic, its iterations change an element one after the other, in some order, which
makes no difference: it accumulates by an operator that is associative and commutative.

A Func without updates has one value at a coordinate, so that iterations which overlap (tiles that
are shifted inwards) write the same value to the same place; of it different coordinates must have
different places. So do writes of a pure definition that updates follow, among themselves.
"""

from __future__ import annotations

from collections.abc import Iterator

from spaces.constraints.proofs.folding import same_place
from spaces.constraints.proofs.obligations import obligation
from spaces.constraints.proofs.records import Obligation
from spaces.constraints.proofs.sites import Access, Site, Subject, TreePath, all_paths, encloses
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
    """For each loop whose iterations run at once: one obligation for each write inside it together
    with each access to the same storage.
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
    """Two different iterations of the loop that ``path`` leads to: the first writes, the second
    writes or reads.
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
    """Which pairs of iterations may clash: those of any two threads; of lanes those that the loops
    would run in another order.
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
    """Why both accesses see the same value at a coordinate; empty where they may not."""
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
        f"of {write.buffer} that {write.site.name} writes in another one."
    )
