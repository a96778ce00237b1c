"""The directives of a schedule as source text for Funcs that a program has already."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping

from attrs import frozen

from spaces.backend.halide.incoming.names import number_added, unnumbered
from spaces.backend.halide.source import Source
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.schedule import Schedule
from spaces.model.writing.tokens import quote

_WORDS = re.compile(r"\w+")


@frozen
class ScheduleText:
    """The parts of a function that gives the Funcs of a user a schedule, in the language of
    ``source``.

    Attributes:
        source: it has written the directives, and writes what they need.
        lines: the directives.
        arguments: the images and Params that the directives name.
        funcs: for each Func that they name, the arguments that find it: the name as its author
            wrote it, and which one it is of those that were written alike. Numbers that Halide
            adds to names differ each time that a program is built.
        owners: each Var of these Funcs as its Func tells it. A Var without a name gets another one
            each time that a program is built.
    """

    source: Source
    lines: tuple[str, ...]
    arguments: tuple[str, ...]
    funcs: Mapping[str, str]
    owners: Mapping[str, str]

    @staticmethod
    def of(
        language: type[Source],
        pipeline: Pipeline,
        schedule: Schedule,
        names: Mapping[str, str],
        leave: Collection[str],
    ) -> ScheduleText:
        """The text in a language.

        Args:
            language: what writes the parts.
            pipeline: the pipeline.
            schedule: the schedule.
            names: the names in Halide of Funcs that have others there.
            leave: Funcs that have their schedule already.

        Raises:
            DirectiveError: the schedule has no counterpart in Halide.
            ValueError: ``schedule`` is not a schedule of this pipeline.
        """
        source = language.of(pipeline, schedule)
        for function in pipeline.functions:
            source.find_rvars(function)
        # The lines of Funcs to leave are written too: they tell which loops are made of RVars.
        written = [(calls, tuple(source.schedule_lines(calls))) for calls in source.calls]
        lines = tuple(
            line
            for calls, some in written
            if calls.adds is not None or calls.func not in leave
            for line in some
        )
        words = _words(lines)
        theirs = {f.name: names.get(f.name, f.name) for f in pipeline.functions}
        images = (image.name for image in pipeline.images)
        owners: dict[str, str] = {}
        funcs: dict[str, str] = {}
        for function in pipeline.functions:
            name = source.name("buffer", function.name)
            if name in words:
                funcs[function.name] = _place(theirs[function.name], theirs.values())
                for number, arg in enumerate(function.args):
                    owners.setdefault(arg, f"{name}.args()[{number}]")
        return ScheduleText(
            source,
            lines,
            arguments=(
                *(name for name in images if source.name("buffer", name) in words),
                *(s.name for s in pipeline.scalars if source.name("scalar", s.name) in words),
            ),
            funcs=funcs,
            owners=owners,
        )

    def found(self) -> Iterator[tuple[str, str, str]]:
        """The kind, the name and the value of each variable that takes something from the
        pipeline: Funcs, then their Vars.
        """
        for func, place in self.funcs.items():
            yield "Func", self.source.name("buffer", func), place
        words = _words(self.lines)
        for var, owner in self.owners.items():
            name = self.source.name("Var", var)
            if name in words:
                yield "Var", name, owner


def _words(lines: Iterable[str]) -> set[str]:
    return {word for line in lines for word in _WORDS.findall(line)}


def _place(name: str, others: Collection[str]) -> str:
    """The arguments that find a Func."""
    written = unnumbered(name)
    alike = sorted({one for one in others if unnumbered(one) == written}, key=number_added)
    place = alike.index(name)
    return f"{quote(written)}, {place}" if place else quote(written)
