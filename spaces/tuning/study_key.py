"""What tells studies apart, and a line about each."""

from __future__ import annotations

from typing import Any

from attrs import frozen

from spaces.backend.llvm.operators import FloatMode
from spaces.model.algorithm.pipeline import Pipeline
from spaces.model.digests import digest
from spaces.model.schedules.schedule import Schedule
from spaces.tuning.identity import (
    TuningMachine,
    pipeline_digest,
    schedule_digest,
    sizes_text,
)


@frozen
class StudyKey:
    """The inputs that decide what a study measures and proposes.

    Attributes:
        pipeline: the pipeline, at the sizes that are measured.
        machine: the machine that measures.
        device: the name of the device that schedules are for.
        space: a text that is equal for equal spaces.
        model: the name of the cost model.
        strategy: a text that is equal for equal strategies.
        seed: the seed of random choices.
        reference: the schedule that the user gives to run beside all others; None for one that the
            study finds.
        prices: a text that is equal for equal prices of the cost model, and for equal terms that it
            leaves out.
        threads: how many threads run parallel loops; 0 for one on each core.
        float_mode: the float mode of the code.
        conditions: the conditions of timed runs in words (:attr:`RunConditions.text`).
    """

    pipeline: Pipeline
    machine: TuningMachine
    device: str
    space: str
    model: str
    strategy: str
    seed: int
    reference: Schedule | None = None
    prices: str = ""
    threads: int = 0
    float_mode: str = FloatMode.STRICT
    conditions: str = ""

    @property
    def digest(self) -> str:
        """Equal for equal keys."""
        is_usual = self.threads == 0 and self.float_mode == FloatMode.STRICT
        return digest(
            pipeline_digest(self.pipeline),
            sizes_text(self.pipeline),
            self.machine.fingerprint,
            self.device,
            self.space,
            self.model,
            self.strategy,
            str(self.seed),
            "" if self.reference is None else schedule_digest(self.pipeline, self.reference),
            self.prices,
            *(() if is_usual else (str(self.threads), str(self.float_mode))),
            *((self.conditions,) if self.conditions else ()),
        )


@frozen
class StudySummary:
    """One line about a study.

    Attributes:
        id: its number in the store.
        pipeline: the name of the pipeline.
        device: the device.
        machine: the machine.
        sizes: for each buffer the (min, extent) of each dimension.
        model: the cost model.
        strategy: the strategy.
        seed: the seed.
        created: when it began, in UTC.
        trials: the number of its trials.
        told: how many of them have a result.
        correct: how many of them have times.
        best: the ratio to the reference of the fastest trial; None without times.
        threads: how many threads run parallel loops; 0 for one on each core.
        float_mode: the float mode of the code.
        conditions: the conditions of timed runs in words; empty for the usual ones.
    """

    id: int
    pipeline: str
    device: str
    machine: TuningMachine
    sizes: dict[str, Any]
    model: str
    strategy: str
    seed: int
    created: str
    trials: int
    told: int
    correct: int
    best: float | None
    threads: int
    float_mode: str
    conditions: str = ""
