"""The loop nests that a decision about a Func changes.

A decision about a Func changes the nests of its readers, and may add one. So if a model adds up the
costs of nests, a search prices these only: [A21] section 3.3 keeps the costs of the stages that a
decision does not change, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attrs import field, frozen

from spaces.enumerate.process.decided_part import part_alone
from spaces.enumerate.process.sizes import sizes_of
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.schedule import FuncSchedule


@frozen
class ChangedNests:
    """The nests around the readers of a Func.

    Attributes:
        readers: the decided Funcs that are computed in them.
        before: their pipeline, which reads the Func as an image.
        after: their pipeline with the Func.
    """

    readers: frozenset[str]
    before: Pipeline = field(repr=False)
    after: Pipeline = field(repr=False)


def changed_nests(
    pipeline: Pipeline, entries: Sequence[FuncSchedule], name: str
) -> ChangedNests | None:
    """The nests that a decision about a Func changes; None if these are all nests, or if the sizes
    of one are not known.

    Args:
        pipeline: the whole pipeline, after derivations.
        entries: those of all decided Funcs, which are all that read the Func.
        name: a Func that is computed in no other, such as the next to decide.
    """
    if name in pipeline.outputs or any(entry.companions for entry in entries):
        return None
    roots = _roots(pipeline, {entry.name: entry for entry in entries})
    changed = set().union(*(roots[one] for one in pipeline.consumers(name) if one != name))
    readers = frozenset(one for one, around in roots.items() if around & changed)
    boxes = sizes_of(pipeline).boxes
    known = all(set(pipeline.function(one).args) <= set(boxes.get(one, {})) for one in changed)
    if len(readers) == len(roots) or not known:
        return None
    outputs = frozenset(changed)
    return ChangedNests(
        readers,
        part_alone(pipeline, readers, outputs),
        part_alone(pipeline, readers | {name}, outputs),
    )


def _roots(pipeline: Pipeline, entries: Mapping[str, FuncSchedule]) -> dict[str, frozenset[str]]:
    """For each decided Func the Funcs at root in whose nests it is computed."""
    found: dict[str, frozenset[str]] = {}
    for function in reversed(pipeline.functions):  # readers first
        entry = entries.get(function.name)
        if entry is None:
            continue
        if entry.compute.is_root:
            found[entry.name] = frozenset({entry.name})
        elif entry.compute.is_inline:
            readers = (one for one in pipeline.consumers(entry.name) if one != entry.name)
            found[entry.name] = frozenset().union(*(found[one] for one in readers))
        else:
            found[entry.name] = found[entry.compute.func]
    return found
