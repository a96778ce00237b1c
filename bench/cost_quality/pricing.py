"""Prices measured schedules with cost models, and says how well each ranks them.

A model that learns must not have seen the app that it is judged on. So a :class:`Judged` is a
function of the records that it may learn from: those of all other apps and of the random pipelines
(leave one app out). A model that needs no training ignores them.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

from attrs import frozen

from bench.contenders import pipeline_of
from bench.cost_quality.devices import OtherProcessorError, device_named
from bench.cost_quality.random_pipelines import by_name, is_random
from bench.cost_quality.records import Record
from bench.cost_quality.scores import regret, spearman
from spaces.constraints.devices.device import CpuDevice
from spaces.cost.batch import Batch
from spaces.cost.measurer import RunOutcome
from spaces.cost.model import CostModel
from spaces.cost.registry import cost_model
from spaces.features.extraction import FeatureMemo
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.schedules.schedule import Schedule
from spaces.model.writing.text import parse_schedule


@frozen
class Timed:
    """A measured schedule of a pipeline.

    Attributes:
        subject: the name of the app or of the random pipeline.
        pipeline: with the estimates that it ran at.
        schedule: is legal for the processor of the measurement.
        ratio: its time divided by the reference's, the median over the rounds; infinite if it did
            not end in time.
        device: the processor of the measurement.
    """

    subject: str
    pipeline: Pipeline
    schedule: Schedule
    ratio: float
    device: CpuDevice


Judged: TypeAlias = Callable[[Sequence[Timed], CpuDevice], CostModel]
"""Makes a model for a processor from the measured schedules that it may learn from: of no app that
it is judged on.
"""


def registered(name: str) -> Judged:
    """A model of the registry, which needs no training."""

    def made(known: Sequence[Timed], device: CpuDevice) -> CostModel:
        return cost_model(name, device)

    return made


JUDGED: Mapping[str, Judged] = {name: registered(name) for name in ("reuse", "weighted")}
"""The models of the table by name. A learned one is added as a function that trains it."""


def pipeline_named(subject: str) -> Pipeline:
    """The pipeline of an app, of the gallery or from dice."""
    return by_name(subject) if is_random(subject) else pipeline_of(subject)


def timed(found: Sequence[Record]) -> list[Timed]:
    """The schedules that ran correctly or did not end in time, with their pipelines.

    Raises:
        UnknownProcessorError: a schedule ran on a processor that is not described.
    """
    pipelines: dict[str, Pipeline] = {}
    devices = {cpu: device_named(cpu) for cpu in dict.fromkeys(one.cpu for one in found)}
    read = []
    for one in found:
        ratio = math.inf if one.outcome is RunOutcome.HUNG else one.ratio
        if ratio is None:
            continue
        if one.subject not in pipelines:
            pipelines[one.subject] = pipeline_named(one.subject)
        pipeline = pipelines[one.subject]
        schedule = parse_schedule(one.schedule, pipeline)
        read.append(Timed(one.subject, pipeline, schedule, ratio, devices[one.cpu]))
    return read


def common_device(found: Iterable[Timed]) -> CpuDevice:
    """The processor that all of some schedules ran on.

    Raises:
        OtherProcessorError: they ran on several.
        ValueError: there is no schedule.
    """
    devices = list(dict.fromkeys(one.device for one in found))
    if not devices:
        raise ValueError("There is no measured schedule that could say on which processor it ran.")
    if len(devices) > 1:
        raise OtherProcessorError(
            f"The schedules were measured on {' and '.join(map(str, devices))}, whose times do not "
            "compare. Take those of one processor."
        )
    return devices[0]


def costs(model: CostModel, found: Sequence[Timed]) -> list[float]:
    """The cost of each schedule; infinite where the model gives none."""
    memo = FeatureMemo()
    prices = []
    for one in found:
        price = float(model.cost(Batch.of(one.pipeline, one.schedule, memo=memo)))
        prices.append(math.inf if math.isnan(price) else price)
    return prices


@frozen
class Quality:
    """How well a model ranks the schedules of one app.

    Attributes:
        spearman: the correlation of cost and time.
        regret: of the five schedules of least cost: how much longer the fastest takes than the
            fastest of all.
    """

    spearman: float
    regret: float


def qualities(
    apps: Mapping[str, Sequence[Timed]],
    random: Sequence[Timed] = (),
    judged: Mapping[str, Judged] = JUDGED,
) -> dict[str, dict[str, Quality]]:
    """For each app the quality of each model, trained on what is measured of all others."""
    found: dict[str, dict[str, Quality]] = {}
    for app, mine in apps.items():
        others = [one for other, theirs in apps.items() if other != app for one in theirs]
        times = [one.ratio for one in mine]
        found[app] = {}
        for name, trained in judged.items():
            prices = costs(trained([*others, *random], common_device(mine)), mine)
            found[app][name] = Quality(spearman(prices, times), regret(prices, times))
    return found


def medians(found: Mapping[str, Mapping[str, Quality]]) -> dict[str, Quality]:
    """For each model the medians over apps."""
    names = dict.fromkeys(name for each in found.values() for name in each)
    return {
        name: Quality(
            statistics.median(each[name].spearman for each in found.values()),
            statistics.median(each[name].regret for each in found.values()),
        )
        for name in names
    }
