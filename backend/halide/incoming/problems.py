"""What cannot come in, collected until all of it is known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from attrs import define, field, frozen

from spaces.model.expressions.definition_error import DefinitionError


@frozen
class ImportProblem:
    """One thing of a pipeline of Halide that has no counterpart here.

    Attributes:
        place: where it stands, such as ``update 0 of Func blur``.
        what: what it is, and what to do.
    """

    place: str
    what: str

    def __str__(self) -> str:
        return f"{self.place}: {self.what}" if self.place else self.what


class HalideImportError(ValueError):
    """A pipeline of Halide cannot come in; ``problems`` says what stops it, one for each place."""

    def __init__(self, name: str, problems: Sequence[ImportProblem]) -> None:
        super().__init__(name, tuple(problems))
        self.name = name
        self.problems = tuple(problems)

    def __str__(self) -> str:
        listed = "".join(f"\n- {problem}" for problem in self.problems)
        return f"Pipeline {self.name} of Halide cannot come in:{listed}"


class Unsupported(Exception):
    """One part has no counterpart here; the message says what it is."""


@contextmanager
def refusals_unsupported() -> Iterator[None]:
    """Makes what definitions here refuse :class:`Unsupported`, in the same words."""
    try:
        yield
    except (DefinitionError, TypeError, OverflowError) as error:
        raise Unsupported(str(error)) from None


@define
class Problems:
    """The problems of the pipeline called ``name`` that are known so far, and the place that is
    being read.
    """

    name: str
    found: dict[ImportProblem, None] = field(factory=dict)
    """In the order in which they came up; a damaged file has tens of thousands."""
    notes: dict[str, None] = field(factory=dict)
    """What came in otherwise than Halide has it."""
    _places: list[str] = field(factory=list)

    @contextmanager
    def at(self, place: str) -> Iterator[None]:
        """Says where the problems that come up inside stand. A part that is
        :class:`Unsupported` ends the block, and becomes a problem.
        """
        self._places.append(place)
        try:
            yield
        except Unsupported as error:
            self.add(str(error))
        finally:
            self._places.pop()

    def add(self, what: str) -> None:
        """Adds a problem at the present place, once."""
        self.found[ImportProblem(" of ".join(reversed(self._places)), what)] = None

    def note(self, what: str) -> None:
        """Adds a note, once."""
        self.notes[what] = None

    def error(self) -> HalideImportError:
        """The error that lists all problems."""
        return HalideImportError(self.name, tuple(self.found))

    def stop(self) -> None:
        """Goes on only if there is no problem.

        Raises:
            HalideImportError: there are some.
        """
        if self.found:
            raise self.error()

    def __len__(self) -> int:
        return len(self.found)
