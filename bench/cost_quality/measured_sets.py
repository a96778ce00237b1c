"""The measured schedules of each pipeline, in sets that say what they may be used for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path

from bench.cost_quality.pricing import Timed, timed
from bench.cost_quality.random_pipelines import is_random
from bench.cost_quality.records import FOLDER, records
from bench.cost_quality.split import USES, Use, pipelines_to
from bench.cost_quality.subjects import APPS, RANDOM, SINGLE
from spaces.apps.gallery.catalog import GALLERY


class MeasuredSet(StrEnum):
    """A set of pipelines."""

    APPS = "apps"
    """The apps: prices are fitted to them, and each is judged by a fit to all others."""
    RANDOM = "random"
    """Random pipelines of several stages: prices are fitted to them."""
    SINGLE = "single"
    """Random pipelines of one idea: prices are fitted to them."""
    LEARN = Use.LEARN.value
    """Pipelines of the gallery that prices are fitted to."""
    CHOOSE = Use.CHOOSE.value
    """Pipelines of the gallery that choose between fits."""
    JUDGE = Use.JUDGE.value
    """Pipelines of the gallery that only judge."""


def members(each: MeasuredSet) -> Sequence[str]:
    """The names of the pipelines of a set whose schedules are measured."""
    listed = {MeasuredSet.APPS: APPS, MeasuredSet.RANDOM: RANDOM, MeasuredSet.SINGLE: SINGLE}
    return listed.get(each) or pipelines_to(Use(each.value))


Measured = Mapping[tuple[MeasuredSet, str], Sequence[Timed]]
"""The measured schedules by set and name of their pipeline."""


def measured_files() -> list[Path]:
    """All files of measured schedules."""
    return sorted(FOLDER.rglob("*.jsonl"))


def by_pipeline(files: Iterable[Path]) -> Measured:
    """The measured schedules of some files."""
    found: dict[tuple[MeasuredSet, str], list[Timed]] = {}
    for path in files:
        for one in timed(records(path)):
            found.setdefault((_set_of(one.subject), one.subject), []).append(one)
    return found


def _set_of(subject: str) -> MeasuredSet:
    if is_random(subject):
        return MeasuredSet.SINGLE if subject in SINGLE else MeasuredSet.RANDOM
    return MeasuredSet(USES[GALLERY[subject].kind]) if subject in GALLERY else MeasuredSet.APPS
