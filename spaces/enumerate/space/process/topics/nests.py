"""Loops one by one, as experts nest them: far fewer orders than all that can be written."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from attrs import frozen

from spaces.constraints.dependences.hazards import racing_dimensions
from spaces.constraints.dependences.orders import trace
from spaces.enumerate.space.process.exactness import kept_order
from spaces.enumerate.space.process.state import ProcessState
from spaces.enumerate.space.process.topics.ordering import LoopsTopic
from spaces.model.expressions.expr import Const
from spaces.model.schedules.domain_order import LoopKind, OrderedLoop, Split, made_from

_OUTSIDE = {
    LoopKind.PARALLEL: (LoopKind.SERIAL, LoopKind.PARALLEL),
    LoopKind.GPU_BLOCK: (LoopKind.SERIAL, LoopKind.GPU_BLOCK),
    LoopKind.GPU_THREAD: (LoopKind.SERIAL, LoopKind.GPU_BLOCK, LoopKind.GPU_THREAD),
}
"""The loops that may stand outside a loop of each kind, within one stage."""


def may_follow(kind: LoopKind, outside: Iterable[LoopKind]) -> bool:
    """Whether a loop of this kind may stand inside loops of other kinds, within one stage."""
    if kind is LoopKind.VECTORIZED:
        return LoopKind.VECTORIZED not in outside
    return kind not in _OUTSIDE or all(one in _OUTSIDE[kind] for one in outside)


@frozen
class NestsTopic(LoopsTopic):
    """The next loop of a stage, from the outside, and its kind.

    The loop over tiles stands outside the loop inside tiles. Only serial and parallel loops stand
    outside parallel ones, and only serial loops, blocks and threads outside threads. Iterations of
    an update that depend on each other keep their order. A loop at root is vectorized or unrolled
    only if its extent is constant, or short at the estimates. At most one loop is vectorized.
    Iterations of an update that may touch the same element run at once only if it is atomic.
    """

    def allowed(self, state: ProcessState) -> Callable[[OrderedLoop], bool]:
        """Which loops may come next."""
        order = self.place.order(state.entry)
        outside = [one.kind for one in order.loops]
        waiting, short = self._waiting(state), self._short(state)
        stage = self.place.stage.stage
        is_atomic = stage in state.entry.atomic
        racing = () if is_atomic else racing_dimensions(state.function(self.func), stage)
        serial = made_from(racing, order.splits)

        def allows(loop: OrderedLoop) -> bool:
            if loop.name in waiting:
                return False
            match loop.kind:
                case LoopKind.SERIAL:
                    return True
                case LoopKind.UNROLLED:
                    return loop.name in short
                case LoopKind.VECTORIZED if loop.name not in short:
                    return False
                case _:
                    return loop.name not in serial and may_follow(loop.kind, outside)

        return allows

    def _short(self, state: ProcessState) -> set[str]:
        """The loops that may be vectorized or unrolled. A Func that is computed at a loop may need
        few values along any of its dimensions.
        """
        if not state.entry.compute.is_root:
            return set(self.remaining)
        stage = state.stage(self.place.stage)
        found = {r.name for r in stage.rvars if isinstance(r.extent, Const)}
        for name in stage.dimensions:
            extent = state.sizes.extent(self.func, name)
            if extent is not None and extent <= state.choices.short:
                found.add(name)
        for record in self.place.order(state.entry).splits:
            if all(loop in found for loop in record.taken):
                found.update(record.made)
            if isinstance(record, Split):
                found.add(record.inner)
        return found

    def _waiting(self, state: ProcessState) -> set[str]:
        """The loops whose loop over tiles has no place yet, or another loop that has to enclose
        them so that the iterations of an update keep their order.
        """
        stage, order = self.place.stage, self.place.order(state.entry)
        pairs = trace(state.stage(stage), order, kept_order(state, stage)).before
        origins = state.origins(self.place)
        over = [origins[name][:-2] for name in self.remaining if origins[name].endswith(".0")]
        inside_tiles = {
            name
            for name in self.remaining
            if any(origins[name].startswith(f"{tiles}.1") for tiles in over)
        }
        found = inside_tiles | {inner for outer, inner in pairs if outer in self.remaining}
        # Fused loops may have to enclose each other: no order of them is legal.
        return inside_tiles if found.issuperset(self.remaining) else found
