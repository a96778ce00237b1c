"""Where Funcs may be computed and stored, from names alone: cheap enough for every neighbour."""

from __future__ import annotations

from attrs import define, field

from spaces.model.schedules.derive import derived
from spaces.model.schedules.levels import Levels


@define
class NamedLevels(Levels):
    """:class:`Levels` from the names that stages call, without substituting inlined Funcs.

    That is much faster, and gives an inlined Func the uses it would have if it were computed. A
    call in an argument that an inlined Func ignores counts as a use here. ``reads`` has, for each
    inlined Func, all that it reads, by itself and through the Funcs it inlines.
    """

    reads: dict[str, tuple[str, ...]] = field(init=False, factory=dict)
    _uses: dict[str, dict[tuple[str, int], None]] = field(init=False, factory=dict)

    def __attrs_post_init__(self) -> None:
        self.pipeline = derived(self.pipeline, self.schedule)
        self.functions = ()
        for function in self.pipeline.functions:
            is_inlined = self.schedule.of(function.name).compute.is_inline
            for index, stage in enumerate(function.stages):
                called: dict[str, None] = {}
                for call in stage.calls:
                    called[call.target] = None
                    called.update(dict.fromkeys(self.reads.get(call.target, ())))
                called.pop(function.name, None)
                if is_inlined:
                    self.reads[function.name] = (*self.reads.get(function.name, ()), *called)
                    continue
                for name in called:
                    self._uses.setdefault(name, {})[function.name, index] = None

    def uses(self, name: str) -> tuple[tuple[str, int], ...]:
        return tuple(self._uses.get(name, ()))
