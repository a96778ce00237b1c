"""What Halide does not tell of foreign code (``define_extern``), and its user says."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from attrs import field, frozen

from spaces.model.algorithm.foreign import Corners
from spaces.model.suggestions import some_of, suggestion

ForeignNeeds: TypeAlias = Mapping[str, Callable[..., Sequence[Corners | None]]]
"""For each Func that foreign code computes, by its name here, a function of its Vars. It returns,
for each Func and image that the code reads, the box that one element needs, as
``Func.define_extern`` takes it.
"""

ForeignCycles: TypeAlias = Mapping[str, float]
"""For each Func that foreign code computes, by its name here: what one element costs, in cycles of
one core of a CPU.
"""


@frozen
class ForeignFacts:
    """What is said of foreign code: ``needs`` and ``cycles``, by the names of Funcs."""

    needs: ForeignNeeds = field(factory=dict)
    cycles: ForeignCycles = field(factory=dict)

    @staticmethod
    def of(needs: ForeignNeeds | None, cycles: ForeignCycles | None) -> ForeignFacts:
        """Those that somebody has given."""
        return ForeignFacts(needs or {}, cycles or {})

    def strangers(self, known: Iterable[str]) -> Iterator[str]:
        """Sentences about names that are no Func of foreign code; ``known`` are these."""
        funcs = list(known)
        there = f"it computes {some_of(funcs)}" if funcs else "there is no foreign code"
        for what, given in (("needs", self.needs), ("cycles", self.cycles)):
            for name in given:
                if name not in funcs:
                    yield (
                        f"{what} names {name!r}, and foreign code computes no such Func"
                        f"{suggestion(name, funcs)}; {there}."
                    )
