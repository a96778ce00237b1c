"""What LLVM is told about memory: accesses to different buffers never meet, loops stay loops."""

from __future__ import annotations

from backend.llvm.runtime.blocks import IRType, Value

_NEAR = 24
"""A buffer is told apart from so many before and after it, in the order of their allocation: those
that one loop touches stand close together, and all pairs of hundreds would take LLVM seconds."""


def _near(buffers: tuple[str, ...], place: int) -> tuple[str, ...]:
    first = max(0, place - _NEAR)
    return buffers[first:place] + buffers[place + 1 : place + 1 + _NEAR]


class AliasScopes:
    """Metadata that says which buffer each load and store touches.

    Buffers of a program never overlap: scratch is its own, and the caller's inputs and outputs
    are kept apart. So a store to one need not keep loads from another inside a loop.
    """

    def __init__(self, module: IRType, buffers: tuple[str, ...]) -> None:
        domain = module.add_metadata(["spaces"])
        scopes = {name: module.add_metadata([name, domain]) for name in buffers}
        self._own = {name: module.add_metadata([scope]) for name, scope in scopes.items()}
        self._others = {
            name: module.add_metadata([scopes[other] for other in _near(buffers, place)])
            for place, name in enumerate(buffers)
            if len(buffers) > 1
        }

    def mark(self, access: Value, buffer: str) -> None:
        """Say that a load or store touches ``buffer`` and no other."""
        access.set_metadata("alias.scope", self._own[buffer])
        if buffer in self._others:
            access.set_metadata("noalias", self._others[buffer])


class LoopHint:
    """Metadata of every loop but the shortest: vectors and unrolled loops are where the schedule
    says, and nowhere else.
    """

    _NODE = 1_000_000  # beyond the numbers of all metadata that the module prints itself

    def get_reference(self) -> str:
        """How the branch back to the head of a loop names it."""
        return f"!{self._NODE}"

    @classmethod
    def text(cls) -> str:
        """What it stands for, to be put at the end of a module; the builder has no such nodes."""
        loop, vectorize, unroll = range(cls._NODE, cls._NODE + 3)
        return (
            f"!{loop} = distinct !{{!{loop}, !{vectorize}, !{unroll}}}\n"
            f'!{vectorize} = !{{!"llvm.loop.vectorize.enable", i1 false}}\n'
            f'!{unroll} = !{{!"llvm.loop.unroll.disable"}}\n'
        )
