"""``spaces complete``: legal schedules that keep the Funcs that the user scheduled by hand."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from spaces.apps.catalog import find
from spaces.apps.command_line.collected import Collected
from spaces.apps.command_line.console import complain, line
from spaces.apps.command_line.options import AppName, DeviceName, read_partial
from spaces.apps.command_line.program import AsJson, command
from spaces.apps.command_line.space import Inexact, Limit, OptionsName, Preset, Sizes, space_of
from spaces.apps.errors import CommandError
from spaces.enumerate.space.completing.complete import Completions
from spaces.enumerate.space.completing.emptiness import explain_empty
from spaces.model.writing.text import format_schedule

Partial = Annotated[
    str,
    typer.Option(
        "--schedule", help="A .sched file; the command schedules the Funcs that it does not name."
    ),
]
Seconds = Annotated[float, typer.Option("--seconds", min=0, help="Stop after this time.")]

_ENDS = {
    "all": "These are all legal completions.",
    "limit": "There are more; see --limit.",
    "unknown": "The time ended, so there may be more; see --seconds.",
}


@command(
    "complete",
    "Print legal schedules that keep the Funcs you scheduled.",
    "complete blur --schedule my.sched --device sm_80 --limit 3",
)
def complete(
    app: AppName,
    schedule: Partial,
    device: DeviceName = "cpu",
    options: OptionsName = Preset.SMALL,
    inexact: Inexact = False,
    size: Sizes = None,
    limit: Limit = 10,
    seconds: Seconds = 60.0,
    as_json: AsJson = False,
) -> None:
    """Print legal schedules that keep the given directives of each Func that the file names."""
    found = find(app)
    partial = read_partial(found, found.pipeline(), schedule)
    space = space_of(found, device, options, inexact, partial, sizes=size)
    completions = Completions(space, limit or None, seconds)
    texts: list[str] = []
    stream = Collected(completions)
    for number, completion in enumerate(stream, start=1):
        texts.append(format_schedule(completion, space.pipeline))
        if not as_json:
            line(f"# {number}\n{texts[-1]}")
    end = "interrupted" if stream.interrupted else completions.end
    if as_json:
        report = {"app": app, "device": device, "end": end, "schedules": texts}
        line(json.dumps(report, indent=2))
    stream.stop()
    if as_json:
        return
    if not texts and completions.end == "all":
        raise CommandError(str(explain_empty(space)))
    complain(_ENDS[completions.end or "unknown"])
