"""Measures the schedules of several subjects in turns, and writes each batch to its file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

from attrs import define, field, frozen

from backend.measuring.local import LocalMeasurer
from backend.measuring.task import MeasuringLimits
from bench.cost_quality.brief import ROUNDS, SharedTime, brief_program
from bench.cost_quality.drawing import Drawing
from bench.cost_quality.records import Record, append, records
from bench.cost_quality.subjects import Subject, good_schedules, space_of
from bench.machine import machine
from spaces.cost.measurer import Measurer
from spaces.enumerate.space import ScheduleSpace
from spaces.model.schedules.schedule import Schedule
from spaces.model.writing.text import format_schedule

BATCH = 8
"""How many schedules are timed in the same rounds."""

LIMITS = MeasuringLimits(compile_seconds=30.0, run_seconds=6.0, rounds=ROUNDS, seconds=6.0)
"""What a schedule may take: one that runs longer is hung."""

ATTEMPTS = 3
"""After so many times the wanted number, no further schedule is drawn: a small space may have too
few.
"""


def measurer_of(subject: Subject) -> LocalMeasurer:
    """What measures the schedules of a subject on this machine, in a process of its own."""
    return LocalMeasurer(
        reference=subject.reference,
        inputs=subject.inputs,
        limits=LIMITS,
        rungs=SharedTime(),
        make=brief_program,
    )


def starts(subject: Subject, space: ScheduleSpace) -> list[Schedule]:
    """Where walks start: at the best of the default search, and at the schedule by hand if the
    space has it.
    """
    found = good_schedules(space)
    if subject.hand is not None and subject.hand in space:
        found.append(subject.hand)
    return found


@frozen
class Collecting:
    """The schedules of one subject that are measured.

    Attributes:
        subject: the pipeline.
        drawing: draws its schedules.
        measurer: measures them.
        path: the file of its records.
        wanted: how many schedules are measured, counting those in the file.
        cpu: the name of the processor.
    """

    subject: Subject
    drawing: Drawing
    measurer: Measurer
    path: Path
    wanted: int
    cpu: str

    def batches(self) -> Iterator[int]:
        """Measures batch by batch, and yields the number of records after each. Schedules that are
        in the file already, under their own or another number, are not measured again.
        """
        earlier = [one for one in records(self.path) if one.subject == self.subject.name]
        numbers = {one.number for one in earlier}
        texts = {one.schedule for one in earlier}
        batch: dict[int, tuple[str, Schedule]] = {}
        for number in range(ATTEMPTS * self.wanted):
            if len(texts) >= self.wanted:
                break
            if number in numbers:
                continue
            schedule = self.drawing.schedule(number)
            text = format_schedule(schedule, self.subject.pipeline)
            if text not in texts:
                texts.add(text)
                batch[number] = text, schedule
            if len(batch) == BATCH:
                self._measure(batch)
                batch = {}
                yield len(texts)
        if batch:
            self._measure(batch)
            yield len(texts)

    def _measure(self, batch: dict[int, tuple[str, Schedule]]) -> None:
        schedules = [schedule for _, schedule in batch.values()]
        found = self.measurer.measure(self.subject.pipeline, schedules)
        made = [
            Record.of(self.subject.name, number, Drawing.origin(number), text, one, self.cpu)
            for (number, (text, _)), one in zip(batch.items(), found, strict=True)
        ]
        append(self.path, made)


def cpu_name() -> str:
    """The processor of this machine, as records name it."""
    found = machine()
    return f"{found['processor']} ({found['llvm_cpu']})"


@define
class InTurns:
    """Measures a batch of one subject after the other, so that all have about as many records when
    it is stopped.

    Attributes:
        subjects: makes each subject when its turn comes first.
        path: the file of each subject's records.
        wanted: the number of records of each.
    """

    subjects: dict[str, Callable[[], Subject]]
    path: Callable[[str], Path]
    wanted: int
    _open: dict[str, Iterator[int]] = field(init=False, factory=dict)

    def run(self) -> None:
        """Measures until all have their records."""
        cpu = cpu_name()
        with ExitStack() as stack:
            waiting = [name for name in self.subjects if self._count(name) < self.wanted]
            while waiting:
                for name in list(waiting):
                    if name not in self._open:
                        self._open[name] = self._begun(name, stack, cpu)
                    count = next(self._open[name], None)
                    if count is None:
                        waiting.remove(name)
                    else:
                        print(f"  {name}: {count} of {self.wanted}", flush=True)

    def _count(self, name: str) -> int:
        return len([one for one in records(self.path(name)) if one.subject == name])

    def _begun(self, name: str, stack: ExitStack, cpu: str) -> Iterator[int]:
        subject = self.subjects[name]()
        space = space_of(subject.pipeline)
        drawing = Drawing(space, starts(subject, space))
        measurer = stack.enter_context(measurer_of(subject))
        path = self.path(name)
        return Collecting(subject, drawing, measurer, path, self.wanted, cpu).batches()
