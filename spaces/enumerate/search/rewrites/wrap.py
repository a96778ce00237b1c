"""Wrappers of images that sums read, so that the loops of a nest read a copy.

The lines of an image are apart by its width, and so few of them may share a cache. A copy of the
part that a tile needs has them side by side.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from spaces.constraints.devices.device import CpuDevice
from spaces.enumerate.search.rewrites.derive import Derive
from spaces.enumerate.search.rewrites.for_device import for_cpus
from spaces.enumerate.search.rewrites.rewrite import FoundSchedule, Rewrite
from spaces.enumerate.space.patterns.stage_shapes import adds_up
from spaces.model.algorithm.pipeline import Image, Pipeline
from spaces.model.schedules.derivations import Wrap


@for_cpus
def find_wrappers(found: FoundSchedule, cpu: CpuDevice) -> Iterator[Rewrite]:
    """A wrapper of each image that a Func adds up along its own lines and that the second-level
    cache does not hold; those of the last Funcs first. None if the space does not wrap.
    """
    pipeline = found.space.pipeline
    if "in_" not in found.space.options.directives:
        return
    large = {one.name for one in pipeline.images if _bytes(pipeline, one) > cpu.l2_bytes}
    seen: set[str] = set()
    for function in reversed(pipeline.functions):
        if not adds_up(function):
            continue
        for stage in function.stages:
            for call in stage.calls:
                along = call.args and function.args and function.args[0] in call.args[0].names
                if along and call.target in large - seen:
                    seen.add(call.target)
                    yield Derive("in_", (Wrap(call.target),))


def _bytes(pipeline: Pipeline, image: Image) -> int:
    """The bytes of an image at the estimates; 0 if it has none."""
    sizes = pipeline.sizes()
    extents = (sizes.get(f"{image.name}.extent.{i}", 0) for i in range(image.dimensions))
    return image.type.bytes * math.prod(extents)


REWRITES = (find_wrappers,)
