"""Clones that a search tries: of Funcs at root that several loop nests read.

A Func that several nests read must be inlined or computed at root. A clone for one of these nests
can be computed inside it, next to its readers, and so can the Func itself in the other one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from spaces.enumerate.search.stagewise.root_nests import nests_of_funcs, nests_of_readers
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.derivations import Clone
from spaces.model.schedules.schedule import FuncSchedule


def clones_for_nests(
    pipeline: Pipeline, entries: Iterable[FuncSchedule], most: int
) -> Iterator[tuple[Clone, ...]]:
    """For each Func at root that several nests read, the clones that give each nest its own copy;
    the nest that runs last keeps the Func itself.

    Args:
        pipeline: the pipeline.
        entries: those of all Funcs.
        most: the number of readers that a clone may be for.
    """
    by_name = {entry.name: entry for entry in entries}
    nests = nests_of_funcs(pipeline, by_name)
    for name in nests:
        if name in pipeline.outputs or not by_name[name].compute.is_root:
            continue
        read_in = nests_of_readers(pipeline, nests, name)
        _last, *others = (one for one in nests if one in read_in)
        readers = [one for one in pipeline.consumers(name) if one != name]
        groups = [tuple(sorted(one for one in readers if nests[one] == {nest})) for nest in others]
        if others and all(0 < len(group) <= most for group in groups):
            yield tuple(Clone(name, group) for group in groups)
