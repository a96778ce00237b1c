"""The features of a stage that its schedule does not change: [A21] section 5, after Adams et al.
(SIGGRAPH 2019), in few bins.
"""

from __future__ import annotations

from collections.abc import Mapping

from spaces.features.accesses import ReadGroup
from spaces.features.features import Features
from spaces.features.histogram import OPERATIONS, WIDTHS
from spaces.features.records import StageFeatures

SHAPES = ("pointwise", "transposed", "broadcast", "slice", "lookup")
"""How a read moves. ``pointwise``: each dimension has the same Var of the stage. ``transposed``:
the Vars have another order. ``broadcast``: some Vars are missing. ``slice``: some dimension has a
constant or an RVar. ``lookup``: values say where to read.
"""

OF = ("func", "self", "image")
"""What a read reads."""

ALGORITHM_FEATURES = (
    *(f"{kind}_{width}" for kind in OPERATIONS for width in WIDTHS),
    *(f"{shape}_{buffer}" for shape in SHAPES for buffer in OF),
    "expr_branching",
)
"""The names, in their order."""


def algorithm_features(features: Features, stage: StageFeatures) -> Mapping[str, int]:
    """The operations of one evaluation by kind and type, its reads by shape, and the Strahler
    number of its expressions.
    """
    args = features.func(stage.func).args
    found = dict.fromkeys(ALGORITHM_FEATURES, 0)
    counts = stage.work.histogram.counts
    found.update(zip(ALGORITHM_FEATURES[: len(counts)], counts, strict=True))
    for access in stage.work.accesses:
        is_image = features.is_image[access.buffer]
        buffer = "image" if is_image else "self" if access.buffer == stage.func else "func"
        found[f"{_shape(access, args)}_{buffer}"] += access.reads
    found["expr_branching"] = stage.work.histogram.branching
    return found


def _shape(access: ReadGroup, args: tuple[str, ...]) -> str:
    if not all(index.is_known for index in access.indices):
        return "lookup"
    moved = [tuple(var for var in args if index.step(var)) for index in access.indices]
    if any(len(names) != 1 for names in moved):
        return "slice"
    order = [args.index(names[0]) for names in moved]
    if order == list(range(len(args))):
        return "pointwise"
    return "broadcast" if order == sorted(order) else "transposed"
