"""A plot of a study: it shows itself in notebooks, and is written as a picture by matplotlib."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from attrs import frozen

from spaces.markup.charts.chart import Chart
from spaces.markup.charts.svg import chart_svg
from spaces.markup.element import tag
from spaces.tuning.plots.figures import chart_figure, write_figure
from spaces.tuning.plots.kinds import PlotKind, study_chart
from spaces.tuning.plots.study_record import StudyRecord


class NothingToPlotError(ValueError):
    """A study has no numbers for a plot yet; ``str`` gives a sentence."""


@frozen(repr=False)
class Plot:
    """A plot.

    Attributes:
        chart: what it shows.
    """

    chart: Chart

    def _repr_html_(self) -> str:
        return tag("div", chart_svg(self.chart), style="overflow-x:auto")

    def __repr__(self) -> str:
        return f"<Plot: {self.chart.title}>"

    def figure(self) -> Any:
        """The plot as a ``matplotlib.figure.Figure``.

        Raises:
            PlotsUnavailable: matplotlib is not installed.
        """
        return chart_figure(self.chart)

    def write(self, path: str | Path) -> None:
        """Writes the plot as a picture; the end of the name says the format: ``.png``, ``.svg``,
        ``.pdf``.

        Raises:
            PlotsUnavailable: matplotlib is not installed.
            ValueError: matplotlib has no such format.
            OSError: the file cannot be written.
        """
        write_figure(self.chart, path)


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
