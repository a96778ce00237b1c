"""The decisions of ranked schedules as parallel coordinates."""

from __future__ import annotations

from collections.abc import Mapping

from spaces.markup.charts.chart import Look, Parallel, ParallelAxis, Strand
from spaces.markup.charts.colors import BLUE, GRAY, GREEN, ORANGE
from spaces.markup.quantities import shown_count
from spaces.plots.decisions import BEST, UNDECIDED, Decided, DecisionColumn, DecisionTable
from spaces.plots.ranked_axis import ranked_axis, stride

MOST_STRANDS = 160
"""How many lines across parallel axes."""

AXES = 8
"""How many decisions are drawn."""

_MOST_VALUES = 9
"""An axis has this many values of its own; others share a place."""

_SPREAD = 0.05
"""The part of an axis over which equal values are spread, so that bundles of lines are seen."""

_REST = Look("others", GRAY, "line")
_BY_HAND = Look("by hand", ORANGE, "dashes")


def decisions_chart(table: DecisionTable, title: str) -> Parallel | None:
    """The decisions that explain most, as parallel coordinates; the last axis is the number that
    ranks the schedules. None if the schedules do not differ.
    """
    columns = table.columns[:AXES]
    if not columns:
        return None
    top = Look(f"the {table.ranking.best} {BEST}", BLUE, "line")
    winner = Look(f"the {table.ranking.best}", GREEN, "line")
    values = [one.value for one in table.rows]
    by_hand = [one.value for one in table.rows if one.is_by_hand]
    end = ranked_axis(table.ranking.quantity, values, by_hand)
    scales = [_value_places(column) for column in columns]
    axes = [
        ParallelAxis(_heading(column), _value_ticks(scale))
        for column, scale in zip(columns, scales, strict=True)
    ]
    ticks = tuple((end.place(v), _with_unit(shown, table)) for v, shown in end.ticks)
    axes.append(ParallelAxis((table.ranking.quantity,), ticks))
    count = len(table.rows)
    strands = []
    for row, one in enumerate(table.rows):
        look = _BY_HAND if one.is_by_hand else top if row < BEST else _REST
        look = look if row else winner
        if look is _REST and row % stride(count, MOST_STRANDS):
            continue
        spread = row / count - 0.5  # equal values lie beside each other, the best lowest
        places = [
            scale[column.values[row]] + _SPREAD * spread
            for column, scale in zip(columns, scales, strict=True)
        ]
        named = f"{one.name} ({one.source})" if one.source else one.name
        about = f"{named}: {_with_unit(shown_count(one.value), table)}"
        places.append(min(end.place(one.value), 1.0))
        strands.append(Strand(look, tuple(places), "" if look is _REST else about))
    strands.sort(key=lambda one: (_REST, _BY_HAND, top, winner).index(one.look))
    return Parallel(title, tuple(axes), tuple(strands))


def _with_unit(shown: str, table: DecisionTable) -> str:
    return f"{shown} {table.ranking.unit}".rstrip()


def _heading(column: DecisionColumn) -> tuple[str, ...]:
    return _clipped(column.decision.stage, 17), _clipped(column.decision.what, 17)


def _clipped(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _value_places(column: DecisionColumn) -> dict[Decided, float]:
    """The place of each value: numbers rise, and other values stand with the one of the best
    schedule at the bottom.
    """
    met = list(dict.fromkeys(column.values))
    own = met[: _MOST_VALUES - 1] if len(met) > _MOST_VALUES else met
    if all(isinstance(value, int) or value == UNDECIDED for value in own):
        own = sorted(own, key=lambda value: value if isinstance(value, int) else -1)
    count = len(own) + (len(own) < len(met))
    step = (1 - _SPREAD) / max(count - 1, 1)
    places = {value: _SPREAD / 2 + place * step for place, value in enumerate(own)}
    return places | {value: 1.0 - _SPREAD / 2 for value in met if value not in places}


def _value_ticks(places: Mapping[Decided, float]) -> tuple[tuple[float, str], ...]:
    at: dict[float, list[Decided]] = {}
    for value, place in places.items():
        at.setdefault(place, []).append(value)
    return tuple(
        (place, _clipped(str(values[0]), 17) if len(values) == 1 else f"{len(values)} others")
        for place, values in at.items()
    )
