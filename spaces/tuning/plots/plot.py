"""A plot of a study, and what a study lacks that has none."""

from __future__ import annotations

from spaces.plots.plot import NothingToPlotError, Plot
from spaces.tuning.plots.kinds import PlotKind, study_chart
from spaces.tuning.plots.study_record import StudyRecord


def study_plot(record: StudyRecord, kind: PlotKind | str = PlotKind.TRIALS) -> Plot:
    """A plot of a study.

    Raises:
        ValueError: no plot has this name.
        NothingToPlotError: the study has no numbers for this plot yet.

    >>> study_plot(study_record(store, 1), "predictions").write("predictions.png")
    """
    chart = study_chart(record, kind)
    if chart is None:
        raise NothingToPlotError(
            f"Study {record.about.id} of {record.path} has no numbers for the plot {str(kind)!r}: "
            f"{_LACKS[PlotKind(kind)]}."
        )
    return Plot(chart)


_LACKS = {
    PlotKind.TRIALS: "none of its trials has a time",
    PlotKind.TIME: "none of its trials has a time, or an older version has measured them",
    PlotKind.FUNNEL: "it has no trials",
    PlotKind.PREDICTIONS: "fewer than two of its trials have a price and a time",
    PlotKind.DECISIONS: "its measured schedules do not differ, or are fewer than two",
    PlotKind.STANDING: "none of its trials has a time",
}
"""What a study lacks that has no numbers for a plot."""
