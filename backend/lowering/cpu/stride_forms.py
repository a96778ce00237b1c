"""A second form of loops over interleaved arrays, for calls whose arrays are dense: for instance
pictures of three channels whose pixels lie next to each other.

The stride between pixels is a parameter of the call, so vectors along pixels access memory lane by
lane. Where the stride is a small number, ``interleave`` accesses dense vectors instead.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import TypeAlias

from attrs import evolve, frozen

from spaces.backend.ir.identities import coordinate
from spaces.backend.ir.node import map_children, walk_nodes
from spaces.backend.ir.program import BufferParameter, LoopProgram
from spaces.backend.ir.sizes import times
from spaces.backend.ir.statements import For, If, Provide, Statement
from spaces.backend.ir.vectors import Ramp, Shuffle
from spaces.backend.lowering.analyses.linear import origin_of
from spaces.backend.lowering.cpu.interleave import loads_pay, stores_pay
from spaces.backend.lowering.cpu.widen import Widening, is_vector
from spaces.backend.lowering.passes import named
from spaces.constraints.reasoning.formulas import all_of
from spaces.model.expressions.expr import Call, Const, Expr, Op, Variable, constant, walk
from spaces.model.expressions.types import Bool, Int32
from spaces.model.schedules.domain_order import LoopKind

_Buffers: TypeAlias = Mapping[str, BufferParameter]


@named("stride_forms")
def stride_forms(program: LoopProgram) -> LoopProgram:
    """The program in which outermost loops with vectors along pixels have two forms: one for
    arrays with the likely strides, and one for all others. A loop that gains nothing by known
    strides keeps its one form.
    """
    settled = {name for condition in program.assumptions for name in condition.names}
    buffers = {
        b.name: b for b in program.buffers if any(s.name not in settled for s, _ in _open(b))
    }
    return evolve(program, body=_with_forms(program.body, buffers)) if buffers else program


def _with_forms(statement: Statement, buffers: _Buffers) -> Statement:
    if not isinstance(statement, For):
        return map_children(statement, lambda part: _with_forms(part, buffers))
    likely = [c for name in _gaining(statement, buffers) for c in _are_likely(buffers[name])]
    return If(all_of(likely), statement, statement) if likely else statement


def _open(buffer: BufferParameter) -> Iterator[tuple[Variable, int]]:
    """The strides that the caller chooses but that have a likely value."""
    for d, (known, likely) in enumerate(zip(buffer.steps, buffer.likely_steps, strict=True)):
        if known is None and likely is not None:
            yield Variable(Int32, f"{buffer.name}.stride.{d}"), likely


def _are_likely(buffer: BufferParameter) -> Iterator[Expr]:
    """The conditions that an array has the likely strides."""
    for stride, likely in _open(buffer):
        yield Op(Bool, "eq", (stride, constant(likely, Int32)))


def _gaining(loop: For, buffers: _Buffers) -> tuple[str, ...]:
    """The buffers that the loop accesses by dense vectors if their strides are the likely ones."""
    gaining: dict[str, None] = {}
    for together in _vectorized_together(loop):
        loads: dict[_Neighbors, set[int]] = defaultdict(set)
        stores: dict[_Neighbors, set[int]] = defaultdict(set)
        for vectors in together:
            if not isinstance(vectors.extent, Const) or vectors.extent.value < 2:
                continue
            lanes = _LanePlaces(vectors.var, vectors.min, int(vectors.extent.value), buffers)
            for inner in walk_nodes(vectors.body):
                for node in walk(*inner.expressions):
                    if isinstance(node, Call):
                        for group, offset in lanes.places(node.target, node.args):
                            loads[group].add(offset)
                if isinstance(inner, Provide):
                    whole = tuple(lanes.places(inner.func, inner.args))
                    if len(whole) == 1:  # stores have no lanes by turns
                        ((group, offset),) = whole
                        stores[group].add(offset)
        gaining |= {g.buffer: None for g, found in loads.items() if loads_pay(g.step, len(found))}
        gaining |= {g.buffer: None for g, found in stores.items() if stores_pay(g.step, len(found))}
    return tuple(gaining)


def _vectorized_together(loop: For) -> list[list[For]]:
    """The vectorized loops, in lists of those that no other loop keeps apart."""
    found: list[list[For]] = [[]]
    stack: list[tuple[Statement, list[For]]] = [(loop, found[0])]
    while stack:
        node, together = stack.pop()
        if not isinstance(node, For):
            stack += [(child, together) for child in node.children]
        elif node.kind is LoopKind.VECTORIZED:
            together.append(node)
        else:
            found.append([])
            stack.append((node.body, found[-1]))
    return found


@frozen
class _Neighbors:
    """Vectors of one buffer and one distance between lanes, which begin a known number of elements
    apart. The ``row`` is what their indices have in common.
    """

    buffer: str
    step: int
    row: tuple[object, ...]


@frozen
class _LanePlaces:
    """The places of the lanes of a vectorized loop in the memory of some buffers."""

    var: Variable
    low: Expr
    lanes: int
    buffers: _Buffers

    def places(self, name: str, args: tuple[Expr, ...]) -> Iterator[tuple[_Neighbors, int]]:
        """The vectors of an access and their offsets, if the lanes vary along a dimension whose
        stride is only likely, and all strides between the lanes are known or likely.
        """
        buffer = self.buffers.get(name)
        if buffer is None:
            return
        index: Expr = constant(0, Int32)
        others: list[Expr] = []
        is_known = True
        for arg, known, likely in zip(args, buffer.steps, buffer.likely_steps, strict=True):
            moves = self.var.name in arg.names
            if moves and (likely is None or arg.loads):
                return
            if likely is None:
                others.append(arg)
            else:
                is_known = is_known and (known is not None or not moves)
                index = coordinate("add", index, times(arg, constant(likely, Int32)))
        if is_known or index.loads:
            return
        wide = Widening(self.var, self.low, self.lanes)(index)
        for part in wide.parts if isinstance(wide, Shuffle) else (wide,):
            if is_vector(part):
                if not isinstance(part, Ramp) or not isinstance(part.stride, Const):
                    return
                origin = origin_of(part.base)
                row = (origin.terms, *others)
                yield _Neighbors(name, int(part.stride.value), row), origin.offset
