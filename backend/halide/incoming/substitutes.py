"""Wrappers and clones as derivations of the pipeline that their author wrote."""

from __future__ import annotations

from collections.abc import Mapping

from spaces.backend.halide.incoming.problems import Problems
from spaces.backend.halide.incoming.roles import Roles, Substitute
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.derivations import Clone, Derivation, Wrap
from spaces.model.schedules.derive import derivation
from spaces.model.schedules.schedule import Schedule

MOST_LOOKS = 100_000
"""Each wrapper and clone looks at each Func of the pipeline."""


def derivations(
    pipeline: Pipeline, roles: Roles, names: Mapping[int, str], problems: Problems
) -> tuple[tuple[Derivation, ...], dict[int, str]]:
    """The derivations of a pipeline, and the names here of all of its Funcs and images, by the
    places of their Funcs in the file; ``names`` gives those of the pipeline itself.
    """
    known = dict(names)
    many, funcs = len(roles.substitutes), len(roles.contents.funcs)
    if many * funcs > MOST_LOOKS:
        problems.add(f"{many} wrappers and clones among {funcs} Funcs are too many.")
        return (), known
    places = {func.name: place for place, func in enumerate(roles.contents.funcs)}
    steps: list[Derivation] = []
    waiting = list(roles.substitutes.values())
    while waiting:
        # Halide clones a Func before it has wrappers; one for all readers leaves clones alone.
        cloned = {one.of for one in waiting if not one.is_wrapper}
        free = [one for one in waiting if not one.is_wrapper or one.of not in cloned]
        ready = {one.place: one for one in free if _is_ready(one, known, places)}
        if not ready:
            break
        for one in ready.values():
            step = _step(one, known, places)
            steps.append(step)
            known[one.place] = step.name
        waiting = [one for one in waiting if one.place not in ready]
    for one in waiting:
        name = roles.contents.funcs[one.place].name
        with problems.at(f"wrapper or clone {name}"):
            problems.add("the Func that it stands for, or one that reads it, is unknown.")
    for refusal in derivation(pipeline, Schedule((), tuple(steps))).refusals:
        problems.add(f"{refusal.message} {refusal.advice}")
    return tuple(steps), known


def _is_ready(one: Substitute, known: Mapping[int, str], places: Mapping[str, int]) -> bool:
    return one.of in known and all(places.get(name) in known for name in one.readers)


def _step(one: Substitute, known: Mapping[int, str], places: Mapping[str, int]) -> Derivation:
    readers = sorted(known[places[name]] for name in one.readers)  # Halide keeps no order
    kind = Wrap if one.is_wrapper else Clone
    return kind(known[one.of], tuple(readers))
