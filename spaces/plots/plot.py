"""A plot: it shows itself in notebooks, and is written as a picture by matplotlib."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from attrs import frozen

from spaces.markup.charts.chart import Chart
from spaces.markup.charts.svg import chart_svg
from spaces.markup.element import tag
from spaces.plots.figures import chart_figure, write_figure


class NothingToPlotError(ValueError):
    """There are no numbers for a plot yet; ``str`` gives a sentence."""


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
