"""Where a Func may be computed and stored by the options of a space."""

from __future__ import annotations

from attrs import frozen

from spaces.enumerate.space.options import Options
from spaces.model.algorithm.pipeline import Pipeline


@frozen
class FuncPlaces:
    """The places of a Func, whatever is decided about the others.

    Attributes:
        inline: whether it may be inlined.
        root: whether it may be computed at root.
        at: whether it may be computed at loops.
        outside: whether it may be stored outside the loop where it is computed.
    """

    inline: bool
    root: bool
    at: bool
    outside: bool

    @staticmethod
    def of(pipeline: Pipeline, options: Options, func: str) -> FuncPlaces:
        """The places of a Func of a pipeline."""
        is_output, placements = func in pipeline.outputs, options.placements
        return FuncPlaces(
            inline="inline" in placements and pipeline.may_inline(func) and not is_output,
            root="root" in placements or is_output,
            at="at" in placements and not is_output,
            outside=options.storage == "outside",
        )


NO_PLACES = FuncPlaces(inline=False, root=False, at=False, outside=False)
"""Those of a Func without decisions."""
