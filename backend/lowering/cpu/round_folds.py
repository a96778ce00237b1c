"""Fold buffers by powers of two along the dimension that lies densest in memory.

A window that slides along a row is stored modulo its width, and each access to it calculates a
remainder. By 32 this is a bit mask, by 18 several instructions in each lane of a vector. More room
than the width is never wrong. Halide folds by powers of two always.
"""

from __future__ import annotations

import math

from attrs import evolve

from spaces.backend.ir.node import map_children, walk_nodes
from spaces.backend.ir.program import LoopProgram
from spaces.backend.ir.statements import Allocate, Recall, Statement
from spaces.backend.lowering.passes import named
from spaces.model.expressions.expr import Const, constant
from spaces.model.expressions.types import Int32
from spaces.model.schedules.schedule import AUTO_STACK_BYTES


@named("round_folds")
def round_folds(program: LoopProgram) -> LoopProgram:
    """Makes each fold of a dense dimension a power of two, unless the buffer would be too large for
    the stack then. Buffers that others hold or copy keep their sizes.
    """
    parts = list(walk_nodes(program.body))
    kept = {name for part in parts if isinstance(part, Recall) for name in part.buffers}
    kept |= {part.within for part in parts if isinstance(part, Allocate)}
    return evolve(program, body=_rounded(program.body, frozenset(kept)))


def _rounded(statement: Statement, kept: frozenset[str]) -> Statement:
    if isinstance(statement, Allocate) and statement.buffer not in kept:
        statement = _with_power_of_two(statement)
    return map_children(statement, lambda inner: _rounded(inner, kept))


def _with_power_of_two(node: Allocate) -> Allocate:
    if node.within or not node.order or node.sizes != node.extents:
        return node
    dense = node.order[0]
    fold = node.folds[dense]
    if not isinstance(fold, Const) or fold is not node.extents[dense]:
        return node
    least = 1 << (int(fold.value) - 1).bit_length()
    extents = [e.value for e in node.extents if isinstance(e, Const)]
    if least == fold.value or len(extents) < len(node.extents):
        return node
    before = math.prod(map(int, extents)) * node.type.bytes
    if before <= AUTO_STACK_BYTES < before // int(fold.value) * least:
        return node
    wide = constant(least, Int32)
    rounded = tuple(wide if d == dense else e for d, e in enumerate(node.extents))
    folds = tuple(wide if d == dense else f for d, f in enumerate(node.folds))
    return evolve(node, extents=rounded, sizes=rounded, folds=folds)
