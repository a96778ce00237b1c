"""The plots of a study by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum

from spaces.markup.charts.chart import Chart
from spaces.plots.decisions_chart import decisions_chart
from spaces.plots.funnel import funnel_chart
from spaces.tuning.plots import charts
from spaces.tuning.plots.decisions import study_decisions
from spaces.tuning.plots.funnel import study_funnel
from spaces.tuning.plots.predictions import study_predictions
from spaces.tuning.plots.progress import study_progress
from spaces.tuning.plots.standing import study_standings
from spaces.tuning.plots.study_record import StudyRecord


class PlotKind(StrEnum):
    """The plots of a study."""

    TRIALS = "trials"
    """The fastest schedule against the number of results."""
    TIME = "time"
    """The fastest schedule against the time of tuning."""
    FUNNEL = "funnel"
    """How many candidates were made, proposed, measured and kept."""
    PREDICTIONS = "predictions"
    """What the cost model predicted against what was measured."""
    DECISIONS = "decisions"
    """The decisions of schedules as parallel coordinates."""
    STANDING = "standing"
    """The fastest schedules beside those by hand and the reference."""


FUNNEL = "How many candidates were made, proposed, measured and kept"

DECISIONS = "The decisions of the measured schedules"

_CHARTS: Mapping[PlotKind, Callable[[StudyRecord], Chart | None]] = {
    PlotKind.TRIALS: lambda record: charts.trials_chart(study_progress(record)),
    PlotKind.TIME: lambda record: charts.time_chart(study_progress(record)),
    PlotKind.FUNNEL: lambda record: funnel_chart(study_funnel(record).stages, FUNNEL),
    PlotKind.PREDICTIONS: lambda record: charts.predictions_chart(
        study_predictions(record), record.about.model
    ),
    PlotKind.DECISIONS: lambda record: decisions_chart(study_decisions(record), DECISIONS),
    PlotKind.STANDING: lambda record: charts.standing_chart(study_standings(record)),
}


def study_chart(record: StudyRecord, kind: PlotKind | str) -> Chart | None:
    """A chart of a study; None if the study has no numbers for it yet.

    Raises:
        ValueError: no plot has this name.
    """
    try:
        chosen = PlotKind(kind)
    except ValueError:
        raise ValueError(
            f"There is no plot {kind!r} of a study; there are {', '.join(PlotKind)}."
        ) from None
    return _CHARTS[chosen](record)
