"""How many structures the search of a study has made, judged legal and priced."""

from __future__ import annotations

from attrs import frozen


@frozen
class SearchCounts:
    """Counts of a search. Older stores know the structures with a cost alone.

    Attributes:
        structures: the structures with a cost.
        made: the structures that it looked at; None if nobody noted it.
        legal: the structures with a legal choice, among those judged; None if nobody noted it. The
            search judges only those that are cheap enough.
    """

    structures: int = 0
    made: int | None = None
    legal: int | None = None

    def __add__(self, other: SearchCounts) -> SearchCounts:
        """The counts of two parts of a search. A count that one part does not know is unknown in
        the sum.
        """
        return SearchCounts(
            self.structures + other.structures,
            _sum(self.made, other.made),
            _sum(self.legal, other.legal),
        )


def _sum(first: int | None, second: int | None) -> int | None:
    return None if first is None or second is None else first + second
