"""Reads the C++ text in which Halide's autoschedulers say what they found.

Each writes in its own manner. Mullapudi2016 puts each stage in a block, Adams2019 puts braces
around lists, Li2018 writes tails without ``TailStrategy::`` and forgets semicolons; Halide's
package writes names as C++ and Halide accept them. What remains is a schedule in our own text.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from types import MappingProxyType

from attrs import evolve

from spaces.backend.halide.names import identifier
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.domain_order import DomainOrder, LoopKind
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

    Serial loops between two thread loops, which Halide runs as if they were outside of both, are
    outside here. Orders of an output in memory are left out: Halide takes the array as it is. So
    are copies of images, which are Funcs there.

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
    schedule = parse_schedule("\n".join(statements), pipeline)
    levels = {level for entry in schedule.funcs for level in (entry.compute, entry.store)}
    entries = []
    for entry in schedule.funcs:
        is_output = entry.name in pipeline.outputs
        orders = () if is_output else entry.storage_orders
        named = {level.loop for level in levels if level.func == entry.name}
        stages = tuple(_threads_together(order, named) for order in entry.stages)
        entries.append(evolve(entry, stages=stages, storage_orders=orders))
    return schedule.with_funcs(entries)


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


def _threads_together(order: DomainOrder, named: Collection[str]) -> DomainOrder:
    """An order with the serial loops between its thread loops outside of them. The order itself if
    there are other loops between them, or if a Func is computed or stored at one of these.
    """
    places = [i for i, loop in enumerate(order.loops) if loop.kind is LoopKind.GPU_THREAD]
    if not places:
        return order
    first, last = places[0], places[-1] + 1
    between = order.loops[first:last]
    threads = tuple(loop for loop in between if loop.kind is LoopKind.GPU_THREAD)
    others = tuple(loop for loop in between if loop.kind is not LoopKind.GPU_THREAD)
    if any(loop.kind is not LoopKind.SERIAL or loop.name in named for loop in others):
        return order
    loops = (*order.loops[:first], *others, *threads, *order.loops[last:])
    return evolve(order, loops=loops)
