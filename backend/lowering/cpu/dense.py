"""A second body for calls with interleaved arrays that are dense, such as pictures of three
channels whose pixels lie next to each other.

The stride between pixels is a parameter of the call, so vectors along pixels access memory lane by
lane. Where the stride is a small number, ``interleave`` accesses dense vectors instead.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from attrs import evolve, frozen

from spaces.backend.ir.identities import coordinate
from spaces.backend.ir.node import map_children, walk_nodes
from spaces.backend.ir.program import BufferParameter, LoopProgram
from spaces.backend.ir.sizes import times
from spaces.backend.ir.statements import For, If, Provide, Statement
from spaces.backend.ir.vectors import Ramp, Shuffle
from spaces.backend.lowering.cpu.interleave import SMALL_STRIDES
from spaces.backend.lowering.cpu.widen import Widening, is_vector
from spaces.backend.lowering.passes import named
from spaces.constraints.reasoning.formulas import all_of
from spaces.model.expressions.expr import Call, Const, Expr, Op, Variable, constant, walk
from spaces.model.expressions.types import Bool, Int32
from spaces.model.schedules.domain_order import LoopKind


@named("dense")
def dense(program: LoopProgram) -> LoopProgram:
    """The program in which each outermost loop with vectors along pixels has two forms: one for
    arrays with the likely strides, and one for all others. A loop that gains nothing by known
    strides has one form.
    """
    buffers = {b.name: b for b in program.buffers if b.likely_steps != b.steps}
    if not buffers:
        return program
    return evolve(program, body=_with_forms(program.body, buffers))


def _with_forms(statement: Statement, buffers: Mapping[str, BufferParameter]) -> Statement:
    if not isinstance(statement, For):
        return map_children(statement, lambda part: _with_forms(part, buffers))
    names = _gaining(statement, buffers)
    if not names:
        return statement
    strides = (strides for name in names for strides in _likely(buffers[name]))
    return If(all_of(strides), statement, statement)


def _likely(buffer: BufferParameter) -> Iterator[Expr]:
    """The conditions that an array has the likely strides."""
    for d, (known, likely) in enumerate(zip(buffer.steps, buffer.likely_steps, strict=True)):
        if known is None and likely is not None:
            stride = Variable(Int32, f"{buffer.name}.stride.{d}")
            yield Op(Bool, "eq", (stride, constant(likely, Int32)))


def _gaining(loop: For, buffers: Mapping[str, BufferParameter]) -> tuple[str, ...]:
    """The buffers that the loop accesses densely if their strides are the likely ones."""
    gaining: dict[str, None] = {}
    channels: dict[tuple[str, int], set[tuple[Expr, ...]]] = defaultdict(set)
    for vectors in walk_nodes(loop):
        if not isinstance(vectors, For) or vectors.kind is not LoopKind.VECTORIZED:
            continue
        if not isinstance(vectors.extent, Const) or vectors.extent.value < 2:
            continue
        lanes = _Lanes(vectors.var, vectors.min, int(vectors.extent.value))
        for inner in walk_nodes(vectors.body):
            for node in walk(*inner.expressions):
                if isinstance(node, Call) and node.target in buffers:
                    steps = lanes.steps(node.args, buffers[node.target])
                    if steps and steps <= {1, *SMALL_STRIDES}:
                        gaining[node.target] = None
            if isinstance(inner, Provide) and inner.func in buffers:
                for step in lanes.steps(inner.args, buffers[inner.func]):
                    stored = channels[inner.func, step]
                    stored.add(lanes.channel(inner.args, buffers[inner.func]))
                    if step in (1, *SMALL_STRIDES) and len(stored) >= step:
                        gaining[inner.func] = None
    return tuple(gaining)


@frozen
class _Lanes:
    """The lanes of a vectorized loop."""

    var: Variable
    low: Expr
    lanes: int

    def channel(self, args: tuple[Expr, ...], buffer: BufferParameter) -> tuple[Expr, ...]:
        """The coordinates that say which channel of a pixel is accessed."""
        inner = zip(args, buffer.likely_steps, strict=True)
        return tuple(a for a, step in inner if step is not None and self.var.name not in a.names)

    def steps(self, args: tuple[Expr, ...], buffer: BufferParameter) -> set[int]:
        """The distances in memory between neighboring lanes, if these vary along a dimension with
        a stride that is only likely, and if all distances follow from known and likely strides;
        else none.
        """
        index: Expr = constant(0, Int32)
        is_known = True
        for arg, known, likely in zip(args, buffer.steps, buffer.likely_steps, strict=True):
            if self.var.name not in arg.names:
                continue
            if arg.loads or likely is None:
                return set()
            is_known = is_known and known is not None
            index = coordinate("add", index, times(arg, constant(likely, Int32)))
        return set() if is_known else self._steps_of(index)

    def _steps_of(self, index: Expr) -> set[int]:
        wide = Widening(self.var, self.low, self.lanes)(index)
        parts = wide.parts if isinstance(wide, Shuffle) else (wide,)
        vectors = [part for part in parts if is_vector(part)]
        steps = {
            int(v.stride.value)
            for v in vectors
            if isinstance(v, Ramp) and isinstance(v.stride, Const)
        }
        return steps if all(isinstance(v, Ramp) for v in vectors) else set()
