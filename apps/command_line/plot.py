"""``spaces plot``: pictures of a study."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from spaces.apps.command_line.console import complain, line
from spaces.apps.command_line.program import AsJson, command
from spaces.apps.command_line.study_choice import StudyChoice, read_study
from spaces.apps.errors import CommandError
from spaces.model.amounts import amount
from spaces.plots.figures import PlotsUnavailable
from spaces.plots.plot import NothingToPlotError
from spaces.tuning.plots.kinds import PlotKind
from spaces.tuning.plots.plot import study_plot

FOLDER = Path("plots")
"""The folder of those who name none."""

FORMATS = ("png", "svg")
"""The formats in which every picture is written."""

StoreName = Annotated[
    str,
    typer.Argument(
        metavar="[STORE]",
        help="The file of a store.",
        show_default="tuning.sqlite in your data folder",
    ),
]
Folder = Annotated[
    Path, typer.Option("--output", "-o", metavar="FOLDER", help="Write the pictures there.")
]
Kinds = Annotated[
    list[PlotKind] | None,
    typer.Option(
        "--kind",
        help="The fastest schedule against trials or time; the funnel of candidates; predictions "
        "beside measurements; decisions as parallel coordinates; the standing beside schedules by "
        "hand. May be given several times.",
        show_default="all",
    ),
]


@command(
    "plot",
    "Draw a study: progress, funnel, predictions, decisions.",
    "plot",
    "plot blur.sqlite --study 2 -o pictures",
    "plot --kind predictions --kind decisions",
)
def plot(
    store: StoreName = "",
    study: StudyChoice = None,
    output: Folder = FOLDER,
    kind: Kinds = None,
    as_json: AsJson = False,
) -> None:
    """Draw a study as PNG and SVG files, with matplotlib. `spaces report STORE` writes the same and
    more as a page, without matplotlib.
    """
    record = read_study(store, study)
    written: list[str] = []
    for one in dict.fromkeys(kind or PlotKind):
        try:
            picture = study_plot(record, one)
        except NothingToPlotError as error:
            if kind:
                raise CommandError(str(error)) from None
            complain(str(error))
            continue
        for format in FORMATS:
            path = output / f"study{record.about.id}_{one}.{format}"
            try:
                output.mkdir(parents=True, exist_ok=True)
                picture.write(path)
            except PlotsUnavailable as error:
                raise CommandError(str(error)) from None
            except OSError as error:
                raise CommandError(f"Cannot write {path}: {error.strerror}.") from None
            written.append(str(path))
    if as_json:
        line(json.dumps({"study": record.about.id, "files": written}, indent=2))
    else:
        line(
            f"Wrote {amount(len(written), 'picture')} of study {record.about.id} to {output}: "
            f"{', '.join(dict.fromkeys(Path(one).stem for one in written))}."
        )
