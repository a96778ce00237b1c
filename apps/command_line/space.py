"""The space of an app's schedules, as commands describe it."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated

import typer
from attrs import evolve, frozen

from spaces.apps.app import App
from spaces.apps.command_line.further_sizes import parse_sizes
from spaces.apps.command_line.options import MOST, DeviceName, find_device, read_partial
from spaces.apps.errors import CommandError, WrongUsage
from spaces.apps.halide_programs import check_sizes
from spaces.enumerate.space.empty_space import EmptySpaceError
from spaces.enumerate.space.options import Options
from spaces.enumerate.space.restrictions.text import parse_restriction
from spaces.enumerate.space.schedule_space import ScheduleSpace
from spaces.enumerate.space.space import NOTHING_FIXED
from spaces.model.schedules.schedule import Schedule

Limit = Annotated[
    int,
    typer.Option(
        "--limit", min=0, max=MOST, help="Print at most this many schedules; 0 prints all."
    ),
]


class Preset(StrEnum):
    """The presets of options, by name."""

    SMALL = "small"
    MEDIUM = "medium"
    EXPERT = "expert"
    EVERYTHING = "everything"


OptionsName = Annotated[
    Preset, typer.Option("--options", help="What the space contains: a preset of options.")
]
Inexact = Annotated[
    bool,
    typer.Option(
        "--inexact",
        help="Also schedules that combine floats in another order than the algorithm: rfactor, "
        "atomic, reordered minima. Their last bits, or more, may differ.",
    ),
]
Where = Annotated[
    list[str] | None,
    typer.Option(
        "--where",
        metavar="CONDITION",
        help="Only schedules with this condition on features, such as "
        "'bytes_stored(blur_x) <= 8 * KiB'. May be given several times.",
    ),
]
Leave = Annotated[
    list[str] | None,
    typer.Option(
        "--leave",
        metavar="FUNC",
        help="Leave this Func as it is in the default schedule. May be given several times.",
    ),
]
Keep = Annotated[
    str,
    typer.Option(
        "--keep",
        metavar="SCHEDULE",
        help="Keep the Funcs that this schedule names as they are there, and decide the others; "
        "own is the schedule that a pipeline has in Halide.",
        show_default=False,
    ),
]
Sizes = Annotated[
    list[str] | None,
    typer.Option(
        "--size",
        metavar="SIZE",
        help="Only schedules that are legal at this size of the output, too, such as 640x480. May "
        "be given several times.",
    ),
]
Most = Annotated[
    float, typer.Option("--seconds", min=0, help="Give up, or estimate, after this time.")
]


def kept_of(app: App, keep: str) -> Schedule:
    """The entries of the Funcs that the schedule called ``keep`` names; none if it is empty.

    Raises:
        WrongUsage: there is no such schedule, or it has mistakes.
    """
    return read_partial(app, app.pipeline(), keep) if keep else NOTHING_FIXED


@frozen
class SpaceArguments:
    """The arguments of a command that say which space of an app's schedules it is about."""

    device: DeviceName = "cpu"
    options: OptionsName = Preset.EXPERT
    inexact: Inexact = False
    where: Where = None
    leave: Leave = None
    keep: Keep = ""
    size: Sizes = None

    def make_space(self, app: App) -> ScheduleSpace:
        """The space.

        Raises:
            WrongUsage: as for :func:`space_of`, or ``keep`` is no schedule of the app.
            CommandError: no schedule can meet the estimates.
        """
        return space_of(
            app,
            self.device,
            self.options,
            self.inexact,
            kept_of(app, self.keep),
            self.where,
            self.leave,
            self.size,
        )


def space_of(
    app: App,
    device: str,
    preset: Preset = Preset.SMALL,
    inexact: bool = False,
    fixed: Schedule = NOTHING_FIXED,
    where: Iterable[str] | None = None,
    leave: Iterable[str] | None = None,
    sizes: Iterable[str] | None = None,
) -> ScheduleSpace:
    """The space of an app's schedules that keep the Funcs of ``fixed`` and the default entries of
    the Funcs in ``leave``, satisfy the conditions in ``where``, and are legal at further sizes. All
    are exact unless ``inexact``.

    Raises:
        WrongUsage: the pipeline has no estimates, no device has this name, ``fixed`` does not fit
            the pipeline, or a condition, a Func to leave or a size makes no sense.
        CommandError: no schedule can meet the estimates.
    """
    pipeline, target = app.pipeline(), find_device(device)
    program = app.halide()
    if program is not None:
        check_sizes(program, pipeline.outputs, "A space of schedules")
    chosen = evolve(getattr(Options, preset)(target), exact=not inexact)
    try:
        conditions = [parse_restriction(text) for text in where or ()]
        further = parse_sizes(sizes or (), pipeline)
        return ScheduleSpace(
            pipeline, target, chosen, fixed, tuple(leave or ()), conditions, further
        )
    except EmptySpaceError as error:
        raise CommandError(str(error)) from None
    except ValueError as error:
        raise WrongUsage(str(error)) from None
