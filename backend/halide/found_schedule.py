"""Reads the C++ text in which Halide's autoschedulers say what they found.

Each writes in its own manner. Mullapudi2016 puts each stage in a block, Adams2019 puts braces
around lists, Li2018 writes tails without ``TailStrategy::`` and forgets semicolons; Halide's
package writes names as C++ and Halide accept them. What remains is a schedule in our own text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from spaces.backend.halide.meaning import as_halide_means
from spaces.backend.halide.names import identifier
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.schedule import Schedule
from spaces.model.writing.text import parse_schedule

_DECLARATION = re.compile(r"(Var|RVar|Func|auto|using|Pipeline)\b")
_WORD = re.compile(r"[A-Za-z_]\w*(?:\$\w+)*")
_BARE_TAIL = re.compile(r"(?<!::)\b(?=(ShiftInwards|GuardWithIf|RoundUp|Auto)\b)")
_RESULT = re.compile(r"\w+ = ")
"""The C++ variable of a Func that an ``rfactor`` makes; its name is that which ours gets."""


def found_schedule(
    source: str, pipeline: Pipeline, spelled: Mapping[str, str] = MappingProxyType({})
) -> Schedule:
    """The schedule that an autoscheduler of Halide has found for a pipeline.

    Copies of images, which are Funcs there, are left out.
    :func:`~spaces.backend.halide.meaning.as_halide_means` says what else differs.

    Args:
        source: its own text, ``AutoSchedulerResults.schedule_source`` in Halide's package.
        pipeline: the pipeline for which it was found.
        spelled: the names of Funcs in Halide, for those whose names were taken there before.

    Raises:
        ScheduleSyntaxError: the text has something that schedules here do not have.
    """
    others = {name.replace("$", "_"): func for func, name in spelled.items()}
    names = _names(pipeline) | others
    images = "|".join(identifier(image.name) for image in pipeline.images)
    copy = re.compile(rf"({images})_im([$_]\d+)?")
    statements = []
    for statement in _statements(source):
        func = statement.partition(".")[0]
        if func.replace("$", "_") in names or not copy.fullmatch(func):
            statements.append(_named(statement, names))
    return as_halide_means(parse_schedule("\n".join(statements), pipeline), pipeline)


def _statements(source: str) -> Iterator[str]:
    """The directives on one stage after the other."""
    statement = ""
    for line in source.splitlines():
        part = line.strip().rstrip(";")
        if part.startswith("."):
            statement += part
        elif part not in ("", "{", "}") and not part.startswith("//"):
            if statement:
                yield statement
            statement = "" if _DECLARATION.match(part) else part
    if statement:
        yield statement


def _named(statement: str, names: Mapping[str, str]) -> str:
    """A statement with the names and the spelling of this library."""
    text = re.sub(r"[{}]", "", _RESULT.sub("", statement)).replace(".update()", ".update(0)")
    text = _WORD.sub(lambda word: names.get(word[0].replace("$", "_"), word[0]), text)
    return _BARE_TAIL.sub("TailStrategy::", text)


def _names(pipeline: Pipeline) -> dict[str, str]:
    """What Funcs, Vars and RVars are called here, by their names in Halide."""
    functions = pipeline.functions
    own = [function.name for function in functions]
    own += [arg for function in functions for arg in function.args]
    own += [r.name for function in functions for stage in function.stages for r in stage.rvars]
    return {identifier(name): name for name in own}
