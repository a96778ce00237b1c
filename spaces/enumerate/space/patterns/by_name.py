"""Patterns of domain orders by name: the loops that people write, with tile sizes as parameters."""

from __future__ import annotations

from typing import Literal

from spaces.enumerate.space.patterns.builder import Maker, Pattern, Shape, serial
from spaces.enumerate.space.patterns.cpu import (
    channel_strips,
    channel_tiles,
    channel_vectors,
    interleaved_lines,
    plane_sums_in_registers,
    planes,
    register_columns,
    register_planes,
    register_rows,
    registers,
    strips,
    strips_across,
    sums_in_registers,
    tiles,
    vectors,
    vectors_across,
)
from spaces.enumerate.space.patterns.gpu import (
    atomic_blocks,
    blocks,
    grid,
    thread_blocks,
    thread_boxes,
    thread_registers,
    threads,
)
from spaces.model.articles import shown_kind
from spaces.model.registry import Registry


def _patterns(**own: Maker) -> Registry[Maker]:
    """Patterns by name. Those of other packages may be used at any level."""
    return Registry("spaces.patterns", "Pattern", own, "a function from a Shape to a Pattern")


ROOT_PATTERNS = _patterns(
    serial=serial,
    vectors=vectors,
    strips=strips,
    tiles=tiles,
    interleaved_lines=interleaved_lines,
    planes=planes,
    strips_across=strips_across,
    channel_strips=channel_strips,
    channel_tiles=channel_tiles,
    register_rows=register_rows,
    register_columns=register_columns,
    register_planes=register_planes,
    sums_in_registers=sums_in_registers,
    plane_sums_in_registers=plane_sums_in_registers,
    blocks=blocks,
    grid=grid,
    thread_blocks=thread_blocks,
    thread_boxes=thread_boxes,
    atomic_blocks=atomic_blocks,
)
"""Patterns for Funcs computed at root."""

INNER_PATTERNS = _patterns(
    serial=serial,
    vectors=vectors,
    channel_vectors=channel_vectors,
    registers=registers,
    vectors_across=vectors_across,
    threads=threads,
    thread_registers=thread_registers,
)
"""Patterns for Funcs computed at a loop of their consumers."""

LOOP_BY_LOOP = ("nests", "loops")
"""Patterns that decide the splits, fuses and loops of a stage one by one: as experts nest them, or
without limits.
"""


class PatternError(ValueError):
    """A registered pattern makes no domain order of its stage; the message says why."""


def register_pattern(name: str, maker: Maker, where: Literal["root", "inner"] = "root") -> None:
    """Registers a pattern under a name for ``Options.root`` or ``Options.inner``; a later
    registration replaces an earlier one.

    >>> def columns(shape: Shape) -> Pattern | None:
    ...     loops = (OrderedLoop(name) for name in (*shape.free, *shape.bound))
    ...     return Pattern(DomainOrder(loops=tuple(loops)), ())
    >>> register_pattern("columns", columns)
    >>> space = ScheduleSpace(pipeline, device("cpu"), Options(root=("columns",)))

    Raises:
        ValueError: the name belongs to a pattern that decides loop by loop.
        TypeError: ``maker`` is not a function.
    """
    if name in LOOP_BY_LOOP:
        raise ValueError(f"{name} is a pattern that decides loop by loop; choose another name.")
    if not callable(maker):
        raise TypeError(
            f"register_pattern takes a function from a Shape to a Pattern, not {shown_kind(maker)}."
        )
    {"root": ROOT_PATTERNS, "inner": INNER_PATTERNS}[where][name] = maker


def make_pattern(name: str, maker: Maker, shape: Shape) -> Pattern | None:
    """The pattern of a stage.

    Raises:
        PatternError: the maker returns no Pattern, or one that does not fit the stage.
    """
    pattern = maker(shape)
    if pattern is None:
        return None
    stage = f"stage {shape.stage} of {shape.func}"
    if not isinstance(pattern, Pattern):
        raise PatternError(
            f"Pattern {name} makes {shown_kind(pattern)} of {stage}; it returns a "
            "Pattern, or None if the stage lacks its dimensions."
        )
    open_ = {*shape.free, *shape.bound}
    for record in pattern.order.splits:
        lost = [loop for loop in record.taken if loop not in open_]
        if lost:
            raise PatternError(
                f"Pattern {name} splits or fuses {', '.join(lost)} of {stage}, which has only the "
                f"loops {', '.join(sorted(open_))} there."
            )
        open_ = (open_ - {*record.taken}) | {*record.made}
    if sorted(pattern.order.names) != sorted(open_):
        raise PatternError(
            f"Pattern {name} orders the loops {', '.join(pattern.order.names) or 'none'} of "
            f"{stage}; it has {', '.join(sorted(open_))}, each once."
        )
    menus = dict(pattern.menus)
    for record in pattern.order.splits:
        factor = getattr(record, "factor", None)
        if isinstance(factor, str) and not menus.get(factor):
            raise PatternError(
                f"Pattern {name} has no numbers to choose from for factor {factor} of {stage}; "
                "give them in Pattern.menus."
            )
    return pattern
