"""Clones of Funcs at root that several loop nests read.

A Func that several nests read must be inlined or computed at root. A clone for one of these nests
can be computed inside it, next to its readers, and so can the Func itself in the other one.
"""

from __future__ import annotations

from collections.abc import Iterator

from spaces.enumerate.search.rewrites.derive import Derive
from spaces.enumerate.search.rewrites.rewrite import FoundSchedule, Rewrite
from spaces.enumerate.search.stagewise.root_nests import nests_of_funcs, nests_of_readers
from spaces.model.schedules.derivations import Clone


def find_clones(found: FoundSchedule) -> Iterator[Rewrite]:
    """For each Func at root that several nests read, the clones that give each nest its own copy;
    the nest that runs last keeps the Func itself. None if the space does not clone.
    """
    options, pipeline = found.space.options, found.pipeline
    if "clone_in" not in options.directives:
        return
    by_name = {entry.name: entry for entry in found.schedule.funcs}
    nests = nests_of_funcs(pipeline, by_name)
    for name in nests:
        if name in pipeline.outputs or not by_name[name].compute.is_root:
            continue
        read_in = nests_of_readers(pipeline, nests, name)
        _last, *others = (one for one in nests if one in read_in)
        readers = [one for one in pipeline.consumers(name) if one != name]
        groups = [tuple(sorted(one for one in readers if nests[one] == {nest})) for nest in others]
        if others and all(0 < len(group) <= options.clone_consumers for group in groups):
            yield Derive("clone_in", tuple(Clone(name, group) for group in groups))


REWRITES = (find_clones,)
