"""What schedules of a pipeline may change in fast float mode."""

from __future__ import annotations

from spaces.backend.measuring.agreement import DECIDED_OTHERWISE, EXACT, NEAR_SHARE, Tolerance
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.expressions.expr import walk


def tolerance(pipeline: Pipeline) -> Tolerance:
    """What schedules of a pipeline may change in fast float mode: nothing but the last digits of
    floats, unless integers or truth values are computed from floats.
    """
    roots = (e for f in pipeline.functions for stage in f.stages for e in stage.expressions)
    rounds = any(
        not node.type.is_float and any(child.type.is_float for child in node.children)
        for node in walk(*roots)
    )
    return Tolerance(NEAR_SHARE, DECIDED_OTHERWISE) if rounds else EXACT
