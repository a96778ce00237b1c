"""The Funcs in whose loops the values of a Func are read."""

from __future__ import annotations

from collections.abc import Collection

from spaces.model.algorithm.inlined import live_functions
from spaces.model.algorithm.pipeline import Pipeline


def computed_readers(
    pipeline: Pipeline, name: str, inlined: Collection[str] = ()
) -> frozenset[str]:
    """The computed Funcs that read a Func, directly or through inlined ones; none if the inlined
    ones leave no read of it.

    Args:
        pipeline: the pipeline.
        name: the Func.
        inlined: the inlined Funcs.
    """
    found: set[str] = set()
    through = {name}
    for function in live_functions(pipeline, frozenset(inlined)):
        if not through.isdisjoint(function.callees):
            (through if function.name in inlined else found).add(function.name)
    return frozenset(found)
