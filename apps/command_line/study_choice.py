"""The study of a store that a command shows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from spaces.apps.command_line.options import MOST
from spaces.apps.command_line.tune import read_store
from spaces.apps.errors import CommandError, WrongUsage
from spaces.tuning.plots.study_record import StudyRecord, study_record
from spaces.tuning.schema import StoreError
from spaces.tuning.store import TuningStore

_MAGIC = b"SQLite format 3\0"
"""The first bytes of a file of SQLite."""

StudyChoice = Annotated[
    int | None,
    typer.Option(
        "--study",
        metavar="STUDY",
        min=1,
        max=MOST,
        help="The number of a study, as spaces studies lists it.",
        show_default="the newest one with results",
    ),
]


def is_store(name: str) -> bool:
    """Whether a text is the name of a file of SQLite."""
    path = Path(name).expanduser()
    try:
        with path.open("rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC
    except (OSError, ValueError):
        return False


def read_study(store: str, study: int | None) -> StudyRecord:
    """What a store knows about a study, or about its newest one with results.

    Args:
        store: the file; the one of the user if empty.
        study: the number; None for the newest.

    Raises:
        WrongUsage: the file is no store.
        CommandError: it has no such study, or the study is damaged.
    """
    with read_store(store) as opened:
        number = _newest(opened) if study is None else study
        try:
            opened.pipeline_of(number)
        except StoreError as error:
            raise CommandError(f"{error} spaces studies lists what there is.") from None
        return study_record(opened, number)


def _newest(store: TuningStore) -> int:
    studies = store.studies()
    if not studies:
        raise CommandError(f"{store.path} has no studies; spaces tune APP begins one.")
    with_results = [one.id for one in studies if one.told]
    return max(with_results or [one.id for one in studies])


def check_no_options(store: str, *given: str) -> None:
    """Raises:
    WrongUsage: options for schedules are given beside a store.
    """
    if given:
        raise WrongUsage(
            f"{store} is a store of studies, and {' and '.join(given)} is for a page about a "
            "schedule; --study chooses a study."
        )
