"""Take scratch memory once for all iterations of a serial loop.

A Func that is computed in each row has storage in the loop over rows. Storage whose size is not
known when compiling comes from the scratch memory of the runtime. For a short row, taking it and
giving it back can cost as much as computing the row. Where all rows need as much, the loop runs
inside of the allocation.

Memory is then not new in each iteration. Programs do not notice that, except hardened ones, which
fill new memory with poison: they keep their allocations where they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from attrs import evolve

from spaces.backend.ir.lifetimes import parts_of
from spaces.backend.ir.node import map_children, walk_nodes
from spaces.backend.ir.program import LoopProgram
from spaces.backend.ir.sizes import known_elements
from spaces.backend.ir.statements import Allocate, Assert, For, If, Invoke, Statement
from spaces.backend.lowering.passes import named
from spaces.model.expressions.expr import Const, Expr
from spaces.model.schedules.domain_order import LoopKind
from spaces.model.schedules.schedule import AUTO_STACK_BYTES, MemoryType


@named("hoist")
def hoist(program: LoopProgram) -> LoopProgram:
    """Moves allocations whose size is not known out of the serial loops in which it does not vary,
    unless the loop would need more memory at once. A loop without iterations allocates nothing.
    """
    return evolve(program, body=_hoisted(program.body))


def _hoisted(statement: Statement) -> Statement:
    inside = map_children(statement, _hoisted)
    if isinstance(inside, For) and inside.kind is LoopKind.SERIAL:
        return _inside_allocations(inside)
    return inside


def _inside_allocations(loop: For) -> Statement:
    """The loop inside of the allocations with which each of its iterations begins."""
    conditions, chain, body = _beginning(loop.body)
    moved = [one for one in chain if not one.within and known_elements(one.sizes) is None]
    decisive = (loop.extent, *conditions, *(size for one in moved for size in one.expressions))
    if not moved or _vary(loop, decisive) or not _meet(moved, chain):
        return loop
    names = {one.buffer for one in moved}
    left = (one for one in chain if one.buffer not in names)
    result: Statement = evolve(loop, body=_nested(left, body))
    result = _nested(moved, result)
    for condition in (*reversed(conditions), *_has_iterations(loop)):
        result = If(condition, result)
    return result


def _beginning(body: Statement) -> tuple[list[Expr], list[Allocate], Statement]:
    """The conditions around a statement and the allocations directly in one another in them,
    outermost first, and what is inside of all.
    """
    conditions: list[Expr] = []
    while isinstance(body, If) and body.otherwise is None:
        conditions.append(body.condition)
        body = body.body
    chain: list[Allocate] = []
    while isinstance(body, Allocate):
        chain.append(body)
        body = body.body
    return conditions, chain, body


def _nested(storage: Iterable[Allocate], body: Statement) -> Statement:
    for one in reversed(tuple(storage)):
        body = evolve(one, body=body)
    return body


def _vary(loop: For, decisive: Iterable[Expr]) -> bool:
    """Whether some expression may have another value in another iteration."""
    return any(one.loads or loop.var.name in one.names for one in decisive)


def _has_iterations(loop: For) -> tuple[Expr, ...]:
    """The condition that a loop runs, if that is not known: a run must not fail because memory
    is missing that it does not need.
    """
    is_sure = isinstance(loop.extent, Const) and loop.extent.value > 0
    return () if is_sure else (loop.extent > 0,)


def _meet(moved: Sequence[Allocate], chain: Sequence[Allocate]) -> bool:
    """Whether an iteration needs as much memory at once as it does when all that is ``moved`` lives
    throughout: some statement uses all of it, and so does each statement that needs other memory.
    Otherwise the memory of a buffer that is used no more may serve another one. Nor does the
    program end before that statement for another reason than a lack of memory.
    """
    names = {one.buffer for one in moved}
    others = {one.buffer for one in chain if _is_on_heap(one)} - names
    live: set[str] = set()
    met = False
    for part in parts_of(chain[0]):
        live |= {one.buffer for one in part.begins}
        inside = walk_nodes(part.statement)
        if names <= live:
            met = True
        elif live & others or any(_is_on_heap(s) or (not met and _may_fail(s)) for s in inside):
            return False
        live -= {one.buffer for one in part.ends}
    return met


def _is_on_heap(statement: Statement) -> bool:
    """Whether a statement takes memory that is not on the stack."""
    if not isinstance(statement, Allocate) or statement.within:
        return False
    known = known_elements(statement.sizes)
    is_large = known is None or known * statement.type.bytes > AUTO_STACK_BYTES
    return is_large or statement.memory is MemoryType.HEAP


def _may_fail(statement: Statement) -> bool:
    """Whether a statement itself may end the program although there is memory."""
    return isinstance(statement, Assert | Invoke)
