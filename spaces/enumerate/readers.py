"""The Funcs in whose loops the values of a Func are read."""

from __future__ import annotations

from collections.abc import Collection

from spaces.model.algorithm.pipeline import Pipeline


def computed_readers(
    pipeline: Pipeline, name: str, inlined: Collection[str] = ()
) -> frozenset[str]:
    """The Funcs that read a Func, directly or through inlined ones.

    Args:
        pipeline: the pipeline.
        name: the Func.
        inlined: the inlined Funcs.
    """
    found: set[str] = set()
    open_ = [name]
    while open_:
        for reader in pipeline.consumers(open_.pop()):
            if reader in inlined:
                open_.append(reader)
            elif reader != name:
                found.add(reader)
    return frozenset(found)
