"""Whether two accesses may run between the same two barriers.

All threads of a block run a kernel's body in the order of its text and pass its barriers together
(another obligation proves this). So two accesses of different threads are unordered if no barrier
stands between them in that order. They may be in one round of the loops around both, or in two
rounds of one of these loops.
"""

from __future__ import annotations

from collections.abc import Iterator

from attrs import frozen

from spaces.backend.ir.statements import Allocate, Barrier, Block, For, If, Statement
from spaces.backend.proofs.sites import StatementSite
from spaces.model.expressions.expr import Const


@frozen(eq=False)
class Meeting:
    """Rounds of the loops around two accesses with no barrier between the accesses.

    Attributes:
        same: the outer loops; both accesses run in the same round of them.
        carried: the loop whose rounds differ; None if all loops around both are in ``same``.
        next_only: whether the later round is the next round; otherwise it may be any later round.
        first_is_earlier: whether the first access runs in the earlier round.
    """

    same: tuple[For, ...]
    carried: For | None = None
    next_only: bool = False
    first_is_earlier: bool = True


def meetings(first: StatementSite, second: StatementSite) -> Iterator[Meeting]:
    """The ways in which two accesses have no barrier between them. The first access must not be
    later in the text.
    """
    depth = _common(first, second)
    around = first.path[:depth]
    loops = tuple(s for s in around if isinstance(s, For))
    if _between(first, second, depth):
        yield Meeting(loops)
    for level, loop in enumerate(around):
        if not isinstance(loop, For):
            continue
        same = tuple(s for s in around[:level] if isinstance(s, For))
        next_only = not passable(loop.body)
        if _after(first, level) and _before(second, level):
            yield Meeting(same, loop, next_only, first_is_earlier=True)
        if _after(second, level) and _before(first, level):
            yield Meeting(same, loop, next_only, first_is_earlier=False)


def passable(statement: Statement) -> bool:
    """Whether a thread may run a statement without a barrier."""
    match statement:
        case Barrier():
            return False
        case Block(body=body):
            return all(map(passable, body))
        case For(body=inside):
            return passable(inside) or not _runs(statement)
        case Allocate(body=inside):
            return passable(inside)
        case If(otherwise=otherwise):
            return passable(statement.body) or otherwise is None or passable(otherwise)
    return True


def is_exact(statement: Statement) -> bool:
    """Whether :func:`passable` is exact for everything inside: no barrier depends on a condition or
    on the number of a loop's rounds.
    """
    match statement:
        case Block(body=body):
            return all(map(is_exact, body))
        case For(body=inside):
            return is_exact(inside) and (_runs(statement) or _has_no_barrier(inside))
        case Allocate(body=inside):
            return is_exact(inside)
        case If():
            return _has_no_barrier(statement)
    return True


def _has_no_barrier(statement: Statement) -> bool:
    match statement:
        case Barrier():
            return False
        case Block(body=body):
            return all(map(_has_no_barrier, body))
        case For(body=inside) | Allocate(body=inside):
            return _has_no_barrier(inside)
        case If(otherwise=otherwise):
            return _has_no_barrier(statement.body) and (
                otherwise is None or _has_no_barrier(otherwise)
            )
    return True


def _runs(loop: For) -> bool:
    """Whether a loop surely has a round."""
    return isinstance(loop.extent, Const) and loop.extent.value >= 1


def _common(first: StatementSite, second: StatementSite) -> int:
    """The number of statements around both sites."""
    shared = 0
    for a, b in zip(first.places[:-1], second.places[:-1], strict=False):
        if a != b:
            break
        shared += 1
    return shared


def _between(first: StatementSite, second: StatementSite, depth: int) -> bool:
    """Whether a thread may go from ``first`` to ``second`` without a barrier, in the same round of
    the loops around both.
    """
    if first.places == second.places:
        return True
    level = len(first.path) - 1
    if first.is_around(second):  # its bounds are read before each round
        return _before(second, level) or _after(second, level)
    around = first.path[depth - 1]
    if not isinstance(around, Block):  # branches of a condition
        return True
    gap = around.body[first.places[depth] + 1 : second.places[depth]]
    return _after(first, depth) and all(map(passable, gap)) and _before(second, depth)


def _after(site: StatementSite, level: int) -> bool:
    """Whether a thread may go from a site to the end of the statement at ``level`` of its path
    without a barrier.
    """
    return all(all(map(passable, b.body[place + 1 :])) for b, place in _blocks(site, level))


def _before(site: StatementSite, level: int) -> bool:
    """Whether a thread may go from the beginning of the statement at ``level`` of its path to a
    site without a barrier.
    """
    return all(all(map(passable, b.body[:place])) for b, place in _blocks(site, level))


def _blocks(site: StatementSite, level: int) -> Iterator[tuple[Block, int]]:
    """The blocks around a site from ``level`` of its path inwards, and the site's position in
    each.
    """
    for depth in range(level, len(site.path) - 1):
        outer = site.path[depth]
        if isinstance(outer, Block):
            yield outer, site.places[depth + 1]
