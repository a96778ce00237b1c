"""The lines that move between caches, and the rows that the prefetcher finds."""

from __future__ import annotations

from spaces.cost.cpu.term import FITTED, FROM_L2, FROM_L3, FROM_MEMORY, Core, Price, term
from spaces.features.footprints import Footprint
from spaces.model.formulas.symbolic import SymbolicNumber, where

_MORE = f"{FITTED}, but higher: few of these schedules tile short rows"

LINE_FROM_L2 = Price("line_from_l2", 0.25, "a line from the second-level cache", _MORE)
LINE_FROM_L3 = Price("line_from_l3", 1.2, "a line from the third-level cache", _MORE)
LINE_FROM_MEMORY = Price("line_from_memory", 5.0, "a line from memory", _MORE)
LANE_FROM_L2 = Price(
    "lane_from_l2", 3.0, "a line from the second-level cache for a value without neighbors"
)
ROW_FROM_L3 = Price("row_from_l3", 10.0, "a new row in the third-level cache", _MORE)
ROW_FROM_MEMORY = Price("row_from_memory", 25.0, "a new row in memory", _MORE)


@term(FROM_L2, LINE_FROM_L2)
def lines_from_l2(core: Core, moved: Footprint) -> SymbolicNumber:
    """Lines from the second-level cache."""
    return moved.lines * core[LINE_FROM_L2]


@term(FROM_L2, LANE_FROM_L2)
def lanes_from_l2(core: Core, moved: Footprint) -> SymbolicNumber:
    """Lines that the first-level cache loses before a second value is read: as where each lane of
    a vector reads another row, and the lines of all lanes do not fit.
    """
    is_apart = (moved.innermost <= 1) & (moved.rows > 1)
    return where(is_apart, moved.rows, 0) * core[LANE_FROM_L2]


@term(FROM_L3, LINE_FROM_L3)
def lines_from_l3(core: Core, moved: Footprint) -> SymbolicNumber:
    """Lines from the third-level cache."""
    return moved.lines * core[LINE_FROM_L3]


@term(FROM_L3, ROW_FROM_L3)
def rows_from_l3(core: Core, moved: Footprint) -> SymbolicNumber:
    """Rows that the prefetcher finds in the third-level cache."""
    return moved.rows * core[ROW_FROM_L3]


@term(FROM_MEMORY, LINE_FROM_MEMORY)
def lines_from_memory(core: Core, moved: Footprint) -> SymbolicNumber:
    """Lines from memory."""
    return moved.lines * core[LINE_FROM_MEMORY]


@term(FROM_MEMORY, ROW_FROM_MEMORY)
def rows_from_memory(core: Core, moved: Footprint) -> SymbolicNumber:
    """Rows that the prefetcher finds in memory."""
    return moved.rows * core[ROW_FROM_MEMORY]


TERMS = (
    lines_from_l2,
    lanes_from_l2,
    lines_from_l3,
    rows_from_l3,
    lines_from_memory,
    rows_from_memory,
)
