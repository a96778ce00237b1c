"""``spaces.search_report``: a page about the result of a search that a colleague can open."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
from attrs import frozen

from spaces.cost.model import CostFunction, CostModel
from spaces.enumerate.search.events import Done
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.model.schedules.schedule import Schedule
from spaces.model.writing.text import format_schedule
from spaces.pages.json_values import json_value
from spaces.pages.search_page import search_page
from spaces.pages.written_page import WrittenPage
from spaces.plots.searches.search_funnel import search_funnel
from spaces.plots.searches.search_record import PricedSchedule, SearchRecord, search_record


@frozen(repr=False)
class SearchReport(WrittenPage):
    """A page about the result of a search.

    Attributes:
        html: the text of the page: one file that needs nothing from elsewhere.
        record: the result, with prices by Func and the schedules by hand beside.
    """

    record: SearchRecord

    def json(self) -> dict[str, Any]:
        """The numbers of the page as JSON's types."""
        record = self.record
        found: dict[str, Any] = {"pipeline": record.space.pipeline.name, "model": record.model}
        found["improvements"] = [
            {"seconds": one.seconds, "structures": one.structures, "cost": one.cost}
            for one in record.done.improvements
        ]
        found["funnel"] = [attrs.asdict(one) for one in search_funnel(record.done)]
        found["schedules"] = [_as_json(one, record) for one in record.ranked]
        found["illegal"] = list(record.illegal)
        made: dict[str, Any] = json_value(found)
        return made

    def __repr__(self) -> str:
        name = self.record.space.pipeline.name
        return f"<Report on a search of {name}: {self._size}>"


_NONE: Mapping[str, Schedule] = {}


def search_report(
    done: Done,
    space: ScheduleSpace,
    model: str | CostModel | CostFunction | None = None,
    by_hand: Mapping[str, Schedule] = _NONE,
    *,
    model_name: str = "",
) -> SearchReport:
    """A page about the result of a search. It shows the least cost against time and structures,
    what became of the structures, and the costs of the best schedules by Func and cause. It also
    shows the decisions that matter, what the best schedules share, and schedules by hand beside.

    Args:
        done: the result of the search.
        space: the space that was searched.
        model: the cost model of the search; by default :func:`default_model`.
        by_hand: schedules to show beside, by name. The page leaves out those that the space calls
            illegal, and says so.
        model_name: what the page calls the model; by default its own name.

    Raises:
        TypeError: something else is given than the result of a search and its space.
        ValueError: the cost model is unknown, or is not for the device of the space.

    >>> done = best(search(space, limits=Limits(top=5)))
    >>> search_report(done, space, by_hand={"mine": schedule}).write("search.html")
    """
    record = search_record(done, space, model, by_hand, model_name=model_name)
    return SearchReport(search_page(record), record)


def _as_json(one: PricedSchedule, record: SearchRecord) -> dict[str, Any]:
    return {
        "name": one.name,
        "by_hand": one.is_by_hand,
        "cost": one.cost,
        "parts": [attrs.asdict(part) for part in one.parts],
        "schedule": format_schedule(one.schedule, record.space.pipeline),
    }
