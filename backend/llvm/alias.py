"""Metadata for LLVM: accesses to different buffers never overlap, and loops stay loops."""

from __future__ import annotations

from spaces.backend.llvm.runtime.blocks import IRType, Value

_NEAR = 24
"""Metadata separates a buffer from this many before and after it, in the order of allocation.
Buffers that one loop touches are close in this order, and all pairs of hundreds would cost LLVM
seconds.
"""


def _near(buffers: tuple[str, ...], place: int) -> tuple[str, ...]:
    first = max(0, place - _NEAR)
    return buffers[first:place] + buffers[place + 1 : place + 1 + _NEAR]


class AliasScopes:
    """Metadata that says which buffer each load and store touches.

    Buffers of a program never overlap: scratch is separate memory, and so are the caller's inputs
    and outputs. So LLVM can move loads from one buffer out of a loop that stores to another.
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
        """Marks a load or store: it touches ``buffer`` and no other."""
        access.set_metadata("alias.scope", self._own[buffer])
        if buffer in self._others:
            access.set_metadata("noalias", self._others[buffer])


class LoopHint:
    """Metadata of every loop except the shortest ones: LLVM must not vectorize or unroll it,
    because the schedule decides that.
    """

    _NODE = 1_000_000  # larger than all metadata numbers that the module itself prints

    def get_reference(self) -> str:
        """The text that names it in the branch back to the head of a loop."""
        return f"!{self._NODE}"

    @classmethod
    def text(cls) -> str:
        """Its definition, for the end of a module's text; the builder has no such nodes."""
        loop, vectorize, unroll = range(cls._NODE, cls._NODE + 3)
        return (
            f"!{loop} = distinct !{{!{loop}, !{vectorize}, !{unroll}}}\n"
            f'!{vectorize} = !{{!"llvm.loop.vectorize.enable", i1 false}}\n'
            f'!{unroll} = !{{!"llvm.loop.unroll.disable"}}\n'
        )
