"""The rule about the estimates of a pipeline: some schedule must be able to meet them.

It runs once for a pipeline and reads no schedule: it refuses a pipeline under every schedule.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from attrs import frozen

from spaces.constraints.devices.device import Device
from spaces.constraints.rules.bounds import image_overrun, output_overrun
from spaces.constraints.rules.findings import Violation
from spaces.constraints.rules.phrases import listed
from spaces.constraints.rules.rule import Check, pipeline_rule, refuse
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.nest.needed import needed_ranges


@frozen
class Shortage:
    """A dimension of an image or output along which the estimates of the outputs need more than it
    has; both ranges include their ends. ``along`` is the name of the dimension in messages: the
    number for an image, the Var for an output.
    """

    buffer: str
    dimension: int
    along: int | str
    needed: tuple[int, int]
    given: tuple[int, int]


def shortages(pipeline: Pipeline) -> tuple[Shortage, ...]:
    """Every shortage, images first."""
    if not pipeline.estimates and not pipeline.promises:
        return ()
    usual = pipeline.usual_values().items()
    whole = {name: value for name, value in usual if isinstance(value, int)}
    sizes = {**pipeline.promised_sizes(), **whole}
    images = {image.name for image in pipeline.images}
    ranges = needed_ranges(pipeline, sizes)
    found = [
        Shortage(
            buffer, d, d if buffer in images else pipeline.function(buffer).args[d], needed, given
        )
        for buffer, dimensions in ranges.items()
        for d, needed in enumerate(dimensions)
        for given in _given(buffer, d, sizes)
        if needed is not None and (needed[0] < given[0] or needed[1] > given[1])
    ]
    return tuple(sorted(found, key=lambda s: s.buffer not in images))


def _given(buffer: str, dimension: int, sizes: Mapping[str, int]) -> Iterator[tuple[int, int]]:
    low, extent = (sizes.get(f"{buffer}.{part}.{dimension}") for part in ("min", "extent"))
    if low is not None and extent is not None:
        yield low, low + extent - 1


@pipeline_rule(
    "bounds.impossible-estimates",
    "Estimates of images and outputs that hold less than the estimated outputs need are illegal, "
    "because every call of these sizes fails under any schedule.",
    "Halide refuses such buffers when the pipeline runs.",
)
def impossible_estimates(subject: tuple[Pipeline, Device], name: str) -> Iterator[Check]:
    """At most one check."""
    pipeline = subject[0]
    short = shortages(pipeline)
    if not short:
        return
    buffers = tuple(dict.fromkeys(s.buffer for s in short))
    yield refuse(
        pipeline.outputs[0],
        "No schedule can meet the known sizes of {pipeline}: {shortages}.",
        "{enough}{choices}.",
        loop=buffers[0],
        pipeline=name,
        shortages="; ".join(_described(pipeline, b, short) for b in buffers),
        enough="; ".join(_enough(pipeline, b, short) for b in buffers),
        choices=_choices(pipeline, buffers),
    )


def _described(pipeline: Pipeline, buffer: str, short: tuple[Shortage, ...]) -> str:
    """``image im holds 0 to 63 in dimension 0, but -1 to 64 is needed (g reads it)``."""
    parts = listed(
        f"holds {_range(s.given)} {_along(pipeline, s)}, but {_range(s.needed)} is needed"
        for s in short
        if s.buffer == buffer
    )
    return f"{_kind(pipeline, buffer)} {buffer} {parts} ({_why(pipeline, buffer)})"


def _range(ends: tuple[int, int]) -> str:
    return f"{ends[0]} to {ends[1]}"


def _kind(pipeline: Pipeline, buffer: str) -> str:
    return "image" if pipeline.is_image[buffer] else "output"


def _along(pipeline: Pipeline, short: Shortage) -> str:
    return f"{'in dimension' if pipeline.is_image[short.buffer] else 'along'} {short.along}"


def _why(pipeline: Pipeline, buffer: str) -> str:
    readers = pipeline.consumers(buffer)
    read = f"{listed(readers)} read{'s' * (len(readers) == 1)} it" if readers else ""
    writes = not pipeline.is_image[buffer] and not pipeline.function(buffer).is_pure
    written = "its updates reach there" if writes else ""
    return ", ".join(filter(None, (read, written)))


def _enough(pipeline: Pipeline, buffer: str, short: tuple[Shortage, ...]) -> str:
    """``Estimate im as [(-1, 66), 48]``; large enough dimensions stay."""
    lacking = {s.dimension: s for s in short if s.buffer == buffer}
    given = pipeline.estimate(buffer)
    if given is None:
        widths = {d: (s.needed[0], s.needed[1] - s.needed[0] + 1) for d, s in lacking.items()}
        shown = (f"{_pair(*w)} {_along(pipeline, lacking[d])}" for d, w in widths.items())
        return f"Let the definition of {buffer} give {listed(shown)}"
    pairs = []
    for d, (low, extent) in enumerate(given):
        last = low + extent - 1
        if d in lacking:
            low, last = min(low, lacking[d].needed[0]), max(last, lacking[d].needed[1])
        pairs.append(_pair(low, last - low + 1))
    return f"Estimate {buffer} as [{', '.join(pairs)}]"


def _pair(low: int, extent: int) -> str:
    return f"({low}, {extent})" if low else str(extent)


def _choices(pipeline: Pipeline, buffers: tuple[str, ...]) -> str:
    images = [b for b in buffers if pipeline.is_image[b]]
    if not images:
        return "; or let what needs it ask for less"
    return f"; or estimate smaller outputs; or read {listed(images)} through a boundary condition"


def is_repeated(violation: Violation, short: tuple[Shortage, ...]) -> bool:
    """Whether a violation only repeats a shortage: its schedule computes and reads there what every
    schedule does.
    """
    if violation.rule not in (output_overrun.id, image_overrun.id):
        return False
    place = (violation.values.get("image", violation.func), violation.values["dimension"])
    reached = violation.values["reached"]
    return any(
        place == (s.buffer, s.along)
        and isinstance(reached, int)
        and s.needed[0] <= reached <= s.needed[1]
        for s in short
    )


RULES = (impossible_estimates,)
